//! The page in a browser: at the sizes of a phone, a desk and a wall, in the light and in the dark, by keyboard, and with many hosts.

use jiff::Timestamp;
use rustix::process::Signal;
use serde_json::json;
use testbed::wait;

use super::agents::{Played, agents, beat, stage};
use super::browser::{Browser, TOO_FAINT};
use super::{LIMIT, Stage};

/// Opens the page and waits until it shows something.
fn open(browser: &mut Browser, stage: &Stage, at: &str) {
    // Another part of the same page alone would not be loaded.
    browser.visit("about:blank");
    browser.visit(&format!("http://127.0.0.1:{}/{at}", stage.port));
    wait::until("the page shows something", || browser.holds("performance.getEntriesByName('shown').length > 0"));
}

/// Elements wider than the window, and those without a name for people who do not see them.
const UNUSABLE: &str = "(() => {
    const wrong = [];
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) wrong.push(`${root.scrollWidth} px wide of ${root.clientWidth}`);
    for (const node of document.querySelectorAll('canvas')) {
        if (node.getAttribute('aria-hidden') !== 'true' && !(node.getAttribute('role') && node.getAttribute('aria-label'))) wrong.push('a canvas without a name');
    }
    for (const node of document.querySelectorAll('a, button, select, th')) {
        if (node.checkVisibility() && !(node.textContent.trim() || node.getAttribute('aria-label')) && node.tagName !== 'TH') wrong.push(`${node.tagName} without a name`);
    }
    for (const wanted of ['main', 'nav[aria-label]', 'html[lang]', '#clock[role=status]', 'h1']) {
        if (!document.querySelector(wanted)) wrong.push(`no ${wanted}`);
    }
    return wrong;
})()";

/// Beats of so many seconds that end now.
fn lived(played: &mut [Played], seconds: u64) -> u64 {
    let now = Timestamp::now().as_second().unsigned_abs();
    let mut random = fastrand::Rng::with_seed(3);
    for at in now - seconds..now {
        beat(played, at, &mut random);
    }
    now
}

#[test]
fn the_page_can_be_used_at_any_size_in_any_light_and_by_keyboard() {
    const HOSTS: usize = 12;
    let Some(mut browser) = Browser::start() else { return };
    let stage = stage(HOSTS);
    let mut played = agents(&stage, HOSTS);
    let monitor = stage.start();
    played.iter_mut().for_each(Played::assigned);
    let now = lived(&mut played, 150);
    wait::until("the last whole minute is known", || {
        stage.picture()["cells"].as_array().is_some_and(|cells| cells.iter().all(|cell| cell["sent"] == 60))
    });
    let asked = "since=0&from=h0000&to=h0001";
    wait::until("a minute is kept", || stage.get(&format!("/api/v1/cell?{asked}"), "").1.contains("\"sent\":60"));
    let kept: serde_json::Value = serde_json::from_str(&stage.get(&format!("/api/v1/cell?{asked}"), "").1).unwrap();
    let minute = kept[0]["at"].as_u64().unwrap();
    let views = [
        "#/",
        "#/incidents",
        "#/hosts",
        "#/wall",
        "#/cell/h0000/h0001/udp",
        &format!("#/cell/h0000/h0001/udp/{minute}"),
    ];
    let wall = ["#/wall"];
    for (width, height, scheme, views) in
        [(400, 800, "light", &views[..]), (3_840, 2_160, "light", &wall), (1_400, 900, "dark", &views)]
    {
        browser.size(width, height);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.ask("Emulation.setEmulatedMedia", &json!({ "media": "screen", "features": features }));
        for view in views {
            open(&mut browser, &stage, view);
            let at = format!("{view} {width} {scheme}");
            assert_eq!(browser.value(UNUSABLE), json!([]), "{at}");
            assert_eq!(browser.value(TOO_FAINT), json!([]), "{at}");
            let own = format!("http://127.0.0.1:{}/", stage.port);
            let complaints: Vec<_> = browser.complaints().into_iter().filter(|each| !each.starts_with(&own)).collect();
            assert!(complaints.is_empty(), "{at}: {complaints:?}");
        }
    }
    assert!(
        browser.text("document.querySelector('main').textContent").contains("The minute from"),
        "{minute} of {now}"
    );

    browser.size(1_400, 900);
    open(&mut browser, &stage, "#/");
    let focused = |browser: &mut Browser| browser.text("document.activeElement.tagName");
    for _ in 0..12 {
        if focused(&mut browser) == "CANVAS" {
            break;
        }
        browser.press("Tab", 9);
    }
    assert_eq!(focused(&mut browser), "CANVAS", "the grid is reached by Tab");
    let place = |browser: &mut Browser| browser.text("document.querySelector('.readout').textContent");
    let first = place(&mut browser);
    assert!(first.starts_with("h0000 and h0001. h0000 → h0001 by udp: "), "{first}");
    browser.press("ArrowRight", 39);
    assert!(place(&mut browser).starts_with("h0000 and h0002. "), "{}", place(&mut browser));
    assert!(
        browser.holds("document.querySelector('.frame').getBoundingClientRect().width > 5"),
        "where one is, is seen"
    );
    browser.press("Enter", 13);
    wait::until("Enter opens the cell", || browser.text("document.querySelector('h1').textContent").contains("→"));
    assert_eq!(browser.text("location.hash"), "#/cell/h0000/h0002/udp");
    browser.press("Escape", 27);
    wait::until("Escape leads back", || browser.holds("document.querySelector('.readout') !== null"));
    assert_eq!(browser.text("location.hash"), "#/");
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
}

/// Hosts, and how soon the page shows them. `make agents` says it.
#[test]
#[ignore = "an optimised build and a quiet machine: make agents"]
#[expect(clippy::disallowed_macros, reason = "it says what it measured")]
fn a_hundred_hosts_are_there_within_a_second_and_a_thousand_by_zones() {
    for hosts in [100, 1_000] {
        let Some(mut browser) = Browser::start() else { return };
        let stage = stage(hosts);
        let mut played = agents(&stage, hosts);
        let monitor = stage.start();
        played.iter_mut().for_each(Played::assigned);
        lived(&mut played, 125);
        let cells = hosts * super::agents::CELLS;
        wait::until("all is known", || {
            stage.picture()["cells"]
                .as_array()
                .is_some_and(|all| all.len() == cells && all.iter().all(|cell| cell["sent"] == 60))
        });
        browser.size(1_400, 900);
        open(&mut browser, &stage, "#/");
        let shown = browser.number("performance.getEntriesByName('shown')[0].startTime");
        eprintln!("{hosts} hosts with {cells} cells: the grid is there after {shown:.0} ms");
        assert_eq!(browser.value(UNUSABLE), json!([]), "{hosts}");
        let readout = browser.text("document.querySelector('.readout').textContent");
        assert_eq!(readout.contains("a pair of zones"), hosts > 64, "{readout}");
        monitor.signal(Signal::TERM);
        assert_eq!(monitor.end(LIMIT).code, Some(0));
        assert!(shown <= 1_000.0 || hosts > 100, "{hosts} hosts took {shown} ms");
    }
}
