//! Effects of clicks and keys.

use crate::browser::Browser;
use crate::runs;

#[test]
fn a_series_goes_and_comes_by_click_and_by_key() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&runs().page("series.html", &["tcp.json", "udp.json"]));
    let shown = "[...document.querySelectorAll('[data-chart=all-p] .broad .series')].map((part) => getComputedStyle(part).display !== 'none').join()";
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
    let shown = "[...document.querySelectorAll('[data-chart=r1-r] .broad .series')].filter((part) => getComputedStyle(part).display !== 'none').length";
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
    let hidden = "document.querySelectorAll('[data-chart=all-p] .broad .series.hidden').length";
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
    let readout = "document.querySelector('.tip span')?.textContent || ''";
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
        if text.starts_with(&wanted) {
            break;
        }
        seen.push(text);
        browser.press("ArrowRight", 39);
    }
    let text = browser.text(readout);
    assert!(text.starts_with(&wanted), "{text} after {seen:?}");
    // The interval of a median that is worth too few independent values is open, and so not drawn.
    let interval = !runs().record("tcp.json")["outcome"]["response"]["quantiles"][0]["low_ns"].is_null();
    assert_eq!(text.contains(" ["), interval, "{text}");
    let about = browser.text("document.querySelector('.tip .faint').textContent");
    assert!(about.contains(" values · tcp exchange"), "how many values, and the settings: {about}");
    assert!(browser.holds("document.querySelectorAll('[data-chart=r1-p] .cursor').length === 1"));
    assert_eq!(browser.complaints(), [""; 0]);
}

/// Distance of the tip from that place in the window, and `true` where it is whole within the window.
const TIP: &str = "((x, y) => { const box = document.querySelector('.tip').getBoundingClientRect();
    const away = (at, low, high) => Math.max(low - at, at - high, 0);
    return { away: Math.max(away(x, box.left, box.right), away(y, box.top, box.bottom)),
        whole: box.width > 0 && box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight }; })";

#[test]
fn the_pointer_reads_out_what_is_under_it_beside_itself() {
    let Some(mut browser) = Browser::start() else { return };
    browser.size(400, 500);
    browser.open(&runs().page("pointer.html", &["tcp.json"]));
    browser.value("document.querySelector('[data-chart=r1-p] .plot').scrollIntoView({ block: 'end' })");
    browser.settle();
    let place = browser.value(
        "(() => { const box = document.querySelector('[data-chart=r1-p] .plot').getBoundingClientRect();
        return [box.x, box.y, box.width, box.height]; })()",
    );
    let [x, y, width, height] = [0, 1, 2, 3].map(|part| place[part].as_f64().unwrap());
    for (across, up) in [(0.2, 0.3), (0.6, 0.5), (0.97, 0.97), (0.97, 0.3)] {
        let (left, top) = (x + width * across, y + height * up);
        browser.point(left, top);
        let text = browser.text("document.querySelector('.tip').textContent");
        assert!(text.starts_with('p') && text.contains('s'), "{text}");
        let tip = browser.value(&format!("{TIP}({left}, {top})"));
        assert!(tip["whole"] == true && tip["away"].as_f64().unwrap() <= 8.0, "{tip} at {across}, {up}");
    }
    browser.point(2.0, 2.0);
    assert!(browser.holds("document.querySelector('.tip').hidden"));
    let touch =
        serde_json::json!({ "type": "touchStart", "touchPoints": [{ "x": x + width / 2.0, "y": y + height / 2.0 }] });
    browser.ask("Input.dispatchTouchEvent", &touch);
    assert!(!browser.holds("document.querySelector('.tip').hidden"), "a finger does the same");
}

#[test]
fn a_map_tells_the_cell_under_the_pointer() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&runs().page("map.html", &["udp.json"]));
    let place = browser.value(
        "(() => { const part = document.querySelector('[data-chart=r1-w] .broad .cell[fill-opacity=\"1.00\"]');
        part.scrollIntoView({ block: 'center' }); const box = part.getBoundingClientRect();
        const first = part.getAttribute('d').match(/M([\\d.]+),([\\d.]+)h([\\d.]+)v([\\d.]+)/).slice(1).map(Number);
        const svg = part.ownerSVGElement, scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        const at = svg.getBoundingClientRect();
        return [at.x + (first[0] + first[2] / 2) * scale, at.y + (first[1] + first[3] / 2) * scale]; })()",
    );
    browser.settle();
    browser.point(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    let text = browser.text("document.querySelector('.tip span').textContent");
    let told: f64 = text.rsplit(": ").next().and_then(|count| count.parse().ok()).expect("a count");
    let fullest = browser.number(
        "Math.max(...JSON.parse(document.getElementById('data').textContent).charts['r1-w'].cells.counts.flat())",
    );
    // Shades are steps of the count's logarithm: a cell of the darkest one is among the fullest.
    assert!(told.ln_1p() >= 0.9 * fullest.ln_1p() && told <= fullest, "{text}, the fullest has {fullest}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn every_table_is_sorted_by_what_its_numbers_are_and_what_is_rough_or_absent_comes_last() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&runs().page("sorted.html", &["tcp.json"]));
    let head = "table.numbers thead th:nth-child(2)";
    let order = "[...document.querySelector('table.numbers').tBodies[0].rows].map((row) => {
        const text = row.cells[1].textContent; const rank = /^[–-]?$/.test(text) ? 2 : text.startsWith('~') ? 1 : 0;
        return [rank, Number(row.cells[1].dataset.v)]; })";
    let sorted = |by: &str| {
        format!("{order}.every((one, k, all) => !k || all[k - 1][0] < one[0] || (all[k - 1][0] === one[0] && {by}))")
    };
    browser.click(&format!("{head} button"));
    assert_eq!(browser.text(&format!("document.querySelector('{head}').getAttribute('aria-sort')")), "ascending");
    assert!(browser.holds(&sorted("all[k - 1][1] <= one[1]")), "{}", browser.value(order));
    browser.press("Enter", 13);
    assert_eq!(browser.text(&format!("document.querySelector('{head}').getAttribute('aria-sort')")), "descending");
    assert!(browser.holds(&sorted("all[k - 1][1] >= one[1]")), "{}", browser.value(order));
    let without =
        "[...document.querySelectorAll('table:not(.matrix)')].filter((table) => table.tBodies[0].rows.length > 1
        && !table.querySelector('thead button')).length";
    assert_eq!(browser.number(without), 0.0);
}

/// Presses the button of that name and gives the file that comes: its name, its length, its first bytes as text.
fn saved(browser: &mut Browser, within: &str, kind: &str) -> (String, f64, String) {
    let done = browser.value(&format!(
        "new Promise((done) => {{
            let blob = null;
            URL.createObjectURL = (made) => {{ blob = made; return 'blob:none'; }};
            HTMLAnchorElement.prototype.click = async function () {{ done([this.download, blob.size, await blob.text()]); }};
            [...document.querySelector(\"{within}\").querySelectorAll('.saving button')]
                .find((button) => button.textContent === '{kind}').click();
        }})"
    ));
    let text = |part: usize| done[part].as_str().unwrap().to_owned();
    (text(0), done[1].as_f64().unwrap(), text(2))
}

#[test]
fn charts_tables_and_the_summary_can_be_taken_along() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&runs().page("saved.html", &["tcp.json"]));
    let (name, _, svg) = saved(&mut browser, "[data-chart=r1-p]", "SVG");
    assert!(
        name == "Percentiles.svg" && svg.starts_with("<svg") && svg.contains("--c0: #0b6e99"),
        "{name}: {svg:.300}"
    );
    let (name, size, png) = saved(&mut browser, "[data-chart=r1-p]", "PNG");
    assert!(name == "Percentiles.png" && size > 10_000.0 && png.contains("PNG"), "{name}: {size}");
    let (_, _, csv) = saved(&mut browser, "[data-chart=r1-p]", "CSV");
    assert!(csv.starts_with("series,percentile (share),round trip (ns),low,high,values\r\n"), "{csv:.300}");
    let p50 = runs().record("tcp.json")["outcome"]["response"]["quantiles"][0]["value_ns"].as_u64().unwrap();
    let (_, _, csv) = saved(&mut browser, "table.numbers", "CSV");
    assert!(csv.starts_with(",value (ns),95 % interval,values beyond\r\n"), "{csv:.300}");
    assert!(csv.contains(&format!("p50,{p50},")), "{csv}");
    let (_, _, table) = saved(&mut browser, "table.numbers", "Markdown");
    assert!(table.contains("| --- | --- | --- | --- |\n") && table.contains("| p50 | "), "{table}");
    let (_, _, summary) = saved(&mut browser, "header", "Markdown");
    assert!(summary.contains("TCP to 127.0.0.1:") && summary.contains("sonde 0."), "{summary}");
    assert_eq!(browser.complaints(), [""; 0]);
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
