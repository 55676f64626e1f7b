//! What clicks and keys do.

use crate::browser::Browser;
use crate::runs;

#[test]
fn a_series_goes_and_comes_by_click_and_by_key() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&runs().page("series.html", &["tcp.json", "udp.json"]));
    let shown = "[...document.querySelectorAll('[data-chart=all-p] .series')].map((part) => getComputedStyle(part).display !== 'none').join()";
    assert_eq!(browser.text(shown), "true,true");
    browser.click("[data-chart=all-p] .key[data-series='0'] text");
    assert_eq!(browser.text(shown), "false,true");
    let pressed = "document.querySelector('[data-chart=all-p] .key').getAttribute('aria-pressed')";
    assert_eq!(browser.text(pressed), "false");
    browser.value("document.querySelector('[data-chart=all-p] .key').focus()");
    browser.press("Enter", 13);
    assert_eq!((browser.text(shown), browser.text(pressed)), ("true,true".to_owned(), "true".to_owned()));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_runs_of_a_side_go_together() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&runs().page("sides.html", &["study.json"]));
    let shown = "[...document.querySelectorAll('[data-chart=r1-r] .series')].filter((part) => getComputedStyle(part).display !== 'none').length";
    assert_eq!(browser.number(shown), 14.0, "seven runs of each side");
    browser.click("[data-chart=r1-r] .key text");
    assert_eq!(browser.number(shown), 7.0);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn another_axis_shows_the_same_values() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&runs().page("axis.html", &["tcp.json", "udp.json"]));
    let axis = "document.querySelector('[data-chart=all-p] svg').dataset.y.split(' ')[0]";
    assert_eq!(browser.text(axis), "log");
    browser.click("[data-chart=all-p] .key text");
    browser.click("[data-chart=all-p] .tools button");
    assert_eq!(browser.text(axis), "linear");
    let hidden = "document.querySelectorAll('[data-chart=all-p] svg .series.hidden').length";
    assert_eq!(browser.number(hidden), 1.0, "what was hidden stays so");
    browser.click("[data-chart=all-p] .tools button");
    assert_eq!(browser.text(axis), "log");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_readout_says_what_the_record_says() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&runs().page("readout.html", &["tcp.json"]));
    browser.value("document.querySelector('[data-chart=r1-p] .plot').focus()");
    let readout = "document.querySelector('[data-chart=r1-p] .readout').textContent";
    let told = browser.text("document.querySelectorAll('.numbers tbody tr')[1].innerText.replace(/\\s+/g, ' ')");
    assert!(told.starts_with("p50 "), "{told}");
    let (name, rest) = told.split_once(' ').unwrap();
    let wanted: Vec<&str> = rest.split(' ').take(2).collect();
    let wanted = format!("{name} {}", wanted.join(" "));
    browser.press("Home", 36);
    let mut seen = Vec::new();
    // p50 is among the first of some 170 points.
    for _ in 0..100 {
        let text = browser.text(readout);
        if text == wanted {
            break;
        }
        seen.push(text);
        browser.press("ArrowRight", 39);
    }
    assert_eq!(browser.text(readout), wanted, "after {seen:?}");
    assert!(browser.holds("document.querySelectorAll('[data-chart=r1-p] .cursor').length === 1"));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_pointer_reads_out_what_is_under_it() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&runs().page("pointer.html", &["tcp.json"]));
    browser.click("[data-chart=r1-p] svg");
    let place = browser.value(
        "(() => { const box = document.querySelector('[data-chart=r1-p] svg').getBoundingClientRect();
        return [box.x + box.width * 0.6, box.y + box.height / 2]; })()",
    );
    let event = serde_json::json!({ "type": "mouseMoved", "x": place[0], "y": place[1] });
    browser.ask("Input.dispatchMouseEvent", &event);
    let text = browser.text("document.querySelector('[data-chart=r1-p] .readout').textContent");
    assert!(text.starts_with('p') && text.contains('s'), "{text}");
}

#[test]
fn the_first_key_leads_to_the_results_and_every_part_has_a_name() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&runs().page("keys.html", &["tcp.json", "udp.json"]));
    browser.press("Tab", 9);
    assert_eq!(browser.text("document.activeElement.className"), "skip");
    browser.press("Enter", 13);
    assert_eq!(browser.text("location.hash"), "#main");
    let unnamed =
        "[...document.querySelectorAll('a, button, input, [tabindex=\"0\"], [role=button]')].filter((element) =>
        !(element.textContent.trim() || element.getAttribute('aria-label') || element.labels?.length)).length";
    assert_eq!(browser.number(unnamed), 0.0);
}

#[test]
fn a_command_can_be_taken_along() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&runs().page("command.html", &["tcp.json"]));
    browser.click(".copy");
    // Where a page may not write to the clipboard, the command is marked.
    let done = "new Promise((done) => { const look = () => {
        const text = document.querySelector('.copy').textContent;
        text === 'Copy' ? requestAnimationFrame(look) : done(text); }; look(); })";
    let done = browser.text(done);
    assert!(done == "Copied" || done == "Marked", "{done}");
    if done == "Marked" {
        let marked = browser.text("getSelection().toString()");
        assert!(marked.contains("rtt -q -t 2.2"), "{marked}");
    }
}
