//! A thousand records on one page: it opens, and its table finds, sorts and draws.

use std::fs;

use serde_json::Value;

use crate::browser::Browser;
use crate::runs;

/// Copies of one record, each of another host and with another p50.
fn thousand() -> std::path::PathBuf {
    let folder = runs().path("thousand");
    if folder.is_dir() {
        return folder;
    }
    let mut record = runs().record("tcp.json");
    fs::create_dir(&folder).unwrap();
    for number in 0..1_000 {
        record["target"]["host"] = Value::from(format!("host-{number:04}"));
        record["target"]["own_reflector"] = Value::from(false);
        let quantiles = record["outcome"]["response"]["quantiles"].as_array_mut().unwrap();
        quantiles[0]["value_ns"] = Value::from(10_000 + (number * 7_919) % 1_000);
        fs::write(folder.join(format!("{number:04}.json")), record.to_string()).unwrap();
    }
    fs::write(folder.join("1000.json"), "{\"format\": ").unwrap();
    folder
}

#[test]
fn a_thousand_records_can_be_sorted_searched_and_drawn() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = thousand();
    let page = runs().page("thousand.html", &[&folder.display().to_string()]);
    let size = fs::metadata(&page).unwrap().len();
    assert!(size < 12_000_000, "{size} bytes");
    browser.size(1_200, 900);
    browser.open(&page);
    assert_eq!(browser.number("document.querySelectorAll('article').length"), 1_000.0);
    assert!(browser.text("document.querySelector('.unread').innerText").contains("1000.json: not JSON"));
    let first = "document.querySelector('table.index tbody tr').cells[0].textContent";
    let column =
        "[...document.querySelectorAll('table.index thead th')].findIndex((head) => head.textContent === 'p50')";
    let column = browser.number(column) as usize + 1;
    browser.click(&format!("table.index thead th:nth-child({column}) button"));
    // 7,919 and 1,000 have no common divisor, so that every p50 is another: the least is that of the first record.
    assert!(browser.text(first).contains("host-0000"), "{}", browser.text(first));
    browser.click(&format!("table.index thead th:nth-child({column}) button"));
    let slowest = (0..1_000).find(|number| (number * 7_919) % 1_000 == 999).unwrap();
    assert!(browser.text(first).contains(&format!("host-{slowest:04}")));
    assert_eq!(browser.text("document.querySelector('th[aria-sort]').getAttribute('aria-sort')"), "descending");
    browser.value("document.querySelector('.tools input[type=search]').focus()");
    browser.ask("Input.insertText", &serde_json::json!({ "text": "host-0815" }));
    assert_eq!(browser.text("document.querySelector('.tools output').textContent"), "1 of 1000");
    browser.click("table.index tr:not(.left-out) input[type=checkbox]");
    assert!(browser.holds("document.querySelector('[data-curve=\"815\"]').getBBox().width > 100"));
    assert_eq!(browser.complaints(), [""; 0]);
}
