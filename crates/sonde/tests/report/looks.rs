//! Looks of a page: everything is there and within the window, light, dark, narrow, on paper and without a script.

use serde_json::json;

use crate::browser::{Browser, TOO_FAINT};
use crate::runs;

/// All kinds of documents on one page.
const ALL: [&str; 7] = ["tcp.json", "udp.json", "stream.json", "study.json", "look.json", "why.json", "stamp.json"];

/// Words of charts that stick out of their picture.
const OUTSIDE: &str = "[...document.querySelectorAll('svg text')].filter((word) => {
    const [mine, whole] = [word.getBoundingClientRect(), word.ownerSVGElement.getBoundingClientRect()];
    return mine.left < whole.left - 3 || mine.right > whole.right + 3 || mine.top < whole.top - 3 || mine.bottom > whole.bottom + 3;
}).map((word) => word.textContent)";

/// Labels of axes that lie on one another.
const ON_ONE_ANOTHER: &str = "[...document.querySelectorAll('svg')].flatMap((svg) => {
    const boxes = [...svg.querySelectorAll('.tick, .legend, .title')].map((word) => [word.textContent, word.getBoundingClientRect()]);
    return boxes.flatMap(([one, a], number) => boxes.slice(number + 1)
        .filter(([, b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4)
        .map(([other]) => `${one} and ${other}`));
})";

#[test]
fn every_chart_is_seen_whole_at_any_width() {
    let Some(mut browser) = Browser::start() else { return };
    let page = runs().page("looks.html", &ALL);
    for width in [1_400, 1_100, 800, 400, 320] {
        browser.size(width, 900);
        browser.open(&page);
        assert_eq!(browser.value(OUTSIDE), json!([]), "at {width}");
        assert_eq!(browser.value(ON_ONE_ANOTHER), json!([]), "at {width}");
        let wide = browser.number("document.documentElement.scrollWidth");
        assert!(wide <= f64::from(width), "{wide} at {width}: the page itself is never scrolled sideways");
        let charts = browser.number("document.querySelectorAll('.plot').length");
        // As wide as the column, and with letters that can be read.
        let seen = "[...document.querySelectorAll('.plot')].filter((plot) => [...plot.querySelectorAll('svg')].some((svg) => {
            const box = svg.getBoundingClientRect();
            return box.height > 100 && box.width > plot.clientWidth - 2 && 12 * box.width / svg.viewBox.baseVal.width >= 8.5; })).length";
        assert_eq!(browser.number(seen), charts, "at {width}");
        let letter_by_letter = "[...document.querySelectorAll('td, th')].filter((cell) => cell.textContent.length > 8 && cell.checkVisibility()
            && cell.getBoundingClientRect().width < 40).length";
        assert_eq!(browser.number(letter_by_letter), 0.0, "at {width}");
        assert!(charts >= 11.0, "{charts} charts");
    }
    assert_eq!(browser.complaints(), [""; 0], "no fault of the script, and nothing asked of the network");
}

#[test]
fn without_a_script_all_of_it_is_there() {
    let Some(mut browser) = Browser::start() else { return };
    let page = runs().page("plain.html", &ALL);
    // Controls that the script offers, and nothing it tells: buttons, and the filter of many documents.
    let words = "document.querySelector('main').textContent.replace(/Copy|Linear axis|Only those with|PNG|SVG|CSV|Markdown/g, '').replace(/\\s+/g, ' ')";
    let charts = "document.querySelectorAll('figure svg path').length";
    browser.open(&page);
    let (scripted, drawn) = (browser.text(words), browser.number(charts));
    browser.ask("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    browser.open(&page);
    assert_eq!(browser.number("document.querySelectorAll('button').length"), 0.0);
    assert_eq!(browser.text(words), scripted);
    assert_eq!(browser.number(charts), drawn);
    let record = runs().record("tcp.json");
    let answered = record["outcome"]["counts"]["answered"].as_u64().unwrap();
    let close: String = scripted.chars().filter(|letter| !letter.is_whitespace()).collect();
    assert!(close.contains(&format!("{answered}of{answered}exchangesanswered")), "{answered} in {scripted:.600}");
}

/// Brightness of a colour of the page's, 0 to 255.
fn brightness(browser: &mut Browser, selector: &str, property: &str) -> f64 {
    browser.number(&format!(
        "getComputedStyle(document.querySelector('{selector}')).{property}.match(/\\d+/g).slice(0, 3)
            .reduce((sum, part) => sum + Number(part) / 3, 0)"
    ))
}

#[test]
fn it_is_dark_on_a_dark_screen_and_light_on_paper() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&runs().page("colours.html", &["tcp.json"]));
    let media = |media: &str, scheme: &str| json!({ "media": media, "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
    let mut seen = Vec::new();
    for (on, scheme, dark) in [("screen", "light", false), ("screen", "dark", true), ("print", "dark", false)] {
        browser.ask("Emulation.setEmulatedMedia", &media(on, scheme));
        let paper = brightness(&mut browser, "body", "backgroundColor");
        for (selector, property) in
            [("body", "color"), ("svg .tick", "fill"), ("svg .line", "stroke"), (".method", "color")]
        {
            let ink = brightness(&mut browser, selector, property);
            assert!((paper - ink).abs() > 70.0, "{on}, {scheme}: {selector} has {ink} on {paper}");
        }
        assert_eq!(paper < 64.0, dark, "{on}, {scheme}: {paper}");
        seen.push(
            browser
                .number("[...document.querySelectorAll('button:not(th button)')].filter((b) => b.offsetParent).length"),
        );
        let heads = "[...document.querySelectorAll('table.numbers th button')].every((head) => head.offsetParent)";
        assert!(browser.holds(heads), "{on}: every column keeps its head");
    }
    assert!(seen[0] > 0.0 && seen[2] == 0.0, "paper has no buttons: {seen:?}");
    let printed = browser.ask("Page.printToPDF", &json!({}));
    assert!(printed["data"].as_str().is_some_and(|data| data.len() > 10_000));
}

#[test]
fn the_answer_and_the_first_chart_are_on_the_first_screen() {
    let Some(mut browser) = Browser::start() else { return };
    browser.size(1_400, 900);
    browser.open(&runs().page("first.html", &["tcp.json"]));
    let chart = browser.number("document.querySelector('.plot').getBoundingClientRect().bottom");
    assert!(
        browser.holds("document.querySelector('h1').getBoundingClientRect().bottom < 300") && chart <= 900.0,
        "{chart}"
    );
    let columns =
        "new Set([...document.querySelectorAll('figure')].map((one) => one.getBoundingClientRect().left)).size";
    assert_eq!(browser.number(columns), 2.0);
    browser.size(1_000, 900);
    assert_eq!(browser.number(columns), 1.0);
}

#[test]
fn every_word_stands_out_from_what_is_behind_it() {
    let Some(mut browser) = Browser::start() else { return };
    let page = runs().page("contrast.html", &ALL);
    for scheme in ["light", "dark"] {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.ask("Emulation.setEmulatedMedia", &json!({ "media": "screen", "features": features }));
        browser.open(&page);
        assert_eq!(browser.value(TOO_FAINT), json!([]), "{scheme}");
    }
}

#[test]
fn warnings_are_one_line_until_they_are_opened_and_stand_open_on_paper() {
    let Some(mut browser) = Browser::start() else { return };
    let mut record = runs().record("tcp.json");
    let warnings = record["warnings"].as_array_mut().unwrap();
    warnings.push(json!({ "kind": "interrupted" }));
    let count = warnings.len();
    std::fs::write(runs().path("warned.json"), record.to_string()).unwrap();
    browser.open(&runs().page("warned.html", &["warned.json"]));
    assert!(
        browser
            .text("document.querySelector('.warnings summary').textContent")
            .starts_with(&format!("⚠ {count} warning"))
    );
    let height = "document.querySelector('.warnings').getBoundingClientRect().height";
    let list = "document.querySelector('.warnings ul').getBoundingClientRect().height";
    assert!(browser.number(height) < 40.0);
    browser.value("document.querySelector('.warnings summary').focus()");
    browser.press("Enter", 13);
    assert!(browser.holds("document.querySelector('.warnings').open") && browser.number(list) > 20.0);
    browser.click(".warnings summary");
    assert!(!browser.holds("document.querySelector('.warnings').open"));
    browser.ask("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    assert!(browser.number(list) > 20.0, "paper cannot be clicked");
}
