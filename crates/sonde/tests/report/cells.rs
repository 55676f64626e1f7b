//! A matrix: a cell opens its record beside it, by click, by link and by key.

use crate::browser::Browser;
use crate::{runs, sonde};

#[test]
fn a_cell_opens_its_record_and_back_closes_it() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = runs().path("mesh");
    std::fs::create_dir_all(&folder).unwrap();
    let host = |number: usize| {
        format!("[[hosts]]\nname = \"h{number}\"\nreach = \"local\"\ninternal = \"127.0.0.{number}\"\n")
    };
    let methods = "[[methods]]\nname = \"rr\"\ncommand = \"rtt --warm-up 0 -c 500\"\n";
    let plan = format!("port = {}\n{methods}{}{}{}", testbed::port::free(), host(1), host(2), host(3));
    std::fs::write(folder.join("plan.toml"), plan).unwrap();
    sonde(&folder, &["run", "plan.toml", "-q", "--store", "mesh.db"]);
    sonde(&folder, &["matrix", "last", "-q", "--store", "mesh.db", "-o", "mesh.html"]);
    let page = folder.join("mesh.html");
    browser.size(1_400, 900);
    browser.open(&page);
    let shown = "[...document.querySelectorAll('article.cell')].filter((one) => one.checkVisibility()).map((one) => one.id).join()";
    assert_eq!(browser.text(shown), "");
    assert!(browser.number("document.documentElement.scrollHeight") <= 2_700.0, "three screens");
    browser.click("a[href='#cell=h1,h2,rr,internal']");
    assert_eq!(browser.text(shown), "cell=h1,h2,rr,internal");
    assert!(browser.text("document.querySelector('article.cell:target').innerText").contains("p50"));
    browser.press("Escape", 27);
    let closed = format!(
        "new Promise((done) => {{ const look = () => ({shown}) ? requestAnimationFrame(look) : done(true); look(); }})"
    );
    assert!(browser.holds(&closed));
    browser.click("a[href='#cell=h1,h3,rr,internal']");
    browser.value("history.back()");
    assert!(browser.holds(&closed), "back closes it");
    browser.value("location.hash = 'cell=h2,h3,rr,internal'");
    assert_eq!(browser.text(shown), "cell=h2,h3,rr,internal", "a link opens it");
    for width in [320, 400, 800, 1_400] {
        browser.size(width, 900);
        let wide = browser.number("document.documentElement.scrollWidth");
        assert!(wide <= f64::from(width), "{wide} at {width}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
    browser.ask("Emulation.setScriptExecutionDisabled", &serde_json::json!({ "value": true }));
    browser.open(&page);
    browser.click("a[href='#cell=h1,h2,rr,internal']");
    assert_eq!(browser.text(shown), "cell=h1,h2,rr,internal", "without a script too");
}
