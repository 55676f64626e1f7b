//! Chromium without a window, by its protocol through a pipe: messages of JSON, each ended by a NUL.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// The names by which distributions install it.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Longest wait for an answer: only a browser that hangs takes so long.
const LIMIT: Duration = Duration::from_mins(2);

/// Words that are too faint on what is behind them: less than 4.5 to 1 (WCAG 2.2, 1.4.3).
pub const TOO_FAINT: &str = "(() => {
    const context = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
    const parts = (colour) => {
        context.clearRect(0, 0, 1, 1); context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
    const over = ([r, g, b, a], under) => [r, g, b].map((part, k) => part * a + under[k] * (1 - a));
    const behind = (element) => {
        if (!element) return [255, 255, 255];
        const under = parts(getComputedStyle(element).backgroundColor);
        return under[3] === 1 ? under.slice(0, 3) : over(under, behind(element.parentElement)); };
    const light = (colour) => { const [r, g, b] = colour.map((part) => { const v = part / 255;
        return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    document.querySelectorAll('details').forEach((part) => { part.open = true; });
    const faint = [];
    for (const element of document.querySelectorAll('body *')) {
        if (!element.checkVisibility() || ![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
        if (/^(SCRIPT|STYLE|TITLE|DESC)$/i.test(element.tagName)) continue;
        const style = getComputedStyle(element);
        const ground = behind(element);
        const [a, b] = [light(over(parts(element.closest('svg') ? style.fill : style.color), ground)), light(ground)].sort((x, y) => y - x);
        const contrast = (a + 0.05) / (b + 0.05);
        if (contrast < 4.5) faint.push(`${element.tagName}.${element.className.baseVal ?? element.className}: ${contrast.toFixed(2)}`);
    }
    return [...new Set(faint)];
})()";

/// A browser with one page.
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    events: VecDeque<Value>,
    session: String,
    last: u64,
    _profile: TempDir,
}

impl Browser {
    /// Starts one; says aloud where there is none.
    pub fn start() -> Option<Self> {
        let Some(name) = NAMES.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok()) else {
            testbed::skip::aloud("pages in a browser: no Chromium (chromium)");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new("sh")
            // Its pipe is file descriptors 3 (to it) and 4 (from it).
            .args(["-c", "exec \"$@\" 3<&0 4>&1 1>&2", "sh", name, "--headless", "--remote-debugging-pipe"])
            .args([
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
            ])
            .args(["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let (events, session) = (VecDeque::new(), String::new());
        let mut browser = Self { child, commands, messages, events, session, last: 0, _profile: profile };
        let target = browser.ask("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        browser.session = text(&browser.ask("Target.attachToTarget", &attach)["sessionId"]);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.ask(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Asks for something; panics where the browser refuses.
    pub fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = Value::from(self.session.as_str());
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).unwrap();
        loop {
            let answer = self.next();
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push_back(answer);
        }
    }

    fn next(&mut self) -> Value {
        self.messages.recv_timeout(LIMIT).expect("the browser answers")
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) {
        self.visit(&format!("file://{}", file.display()));
    }

    /// Opens an address and waits until it is loaded.
    pub fn visit(&mut self, url: &str) {
        self.events.clear();
        self.ask("Page.navigate", &json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next();
            self.events.push_back(event);
        }
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.ask("Runtime.evaluate", &asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until the page has heard of what moved it: a scroll is told with the next frame, and hides what the pointer shows.
    pub fn settle(&mut self) {
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
    }

    pub fn number(&mut self, expression: &str) -> f64 {
        self.value(expression).as_f64().unwrap_or_else(|| panic!("no number: {expression}"))
    }

    pub fn text(&mut self, expression: &str) -> String {
        text(&self.value(expression))
    }

    /// Returns true where an expression holds.
    pub fn holds(&mut self, expression: &str) -> bool {
        self.value(expression) == true
    }

    /// Clicks into the middle of the first element that is so selected, where a person would see it.
    pub fn click(&mut self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{ const element = document.querySelector({}); element.scrollIntoView({{ block: 'center' }});
            const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()",
            Value::from(selector)
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.ask("Input.dispatchMouseEvent", &event);
        }
    }

    /// Moves the pointer there, in the window.
    pub fn point(&mut self, x: f64, y: f64) {
        self.ask("Input.dispatchMouseEvent", &json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// Presses a key by its name.
    pub fn press(&mut self, key: &str, code: u32) {
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = Value::from(text);
            }
            self.ask("Input.dispatchKeyEvent", &event);
        }
    }

    /// The width and height of the window.
    pub fn size(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Faults of the script, and whatever the page asked the network for.
    pub fn complaints(&mut self) -> Vec<String> {
        // Events that were sent before this answer have come by then.
        self.value("0");
        let complaint = |event: &Value| match event["method"].as_str()? {
            "Runtime.exceptionThrown" => Some(event["params"]["exceptionDetails"].to_string()),
            "Log.entryAdded" => Some(event["params"]["entry"]["text"].to_string()),
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str()?;
                let page = url
                    .strip_prefix("file://")
                    .is_some_and(|path| Path::new(path).extension().is_some_and(|it| it == "html"));
                // An image that the page itself made of a chart is no question to anybody.
                (!page && !url.starts_with("data:")).then(|| url.to_owned())
            }
            _ => None,
        };
        self.events.iter().filter_map(complaint).collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
