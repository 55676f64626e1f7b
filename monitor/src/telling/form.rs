//! Messages for each kind of receiver. Sources: Alertmanager's `docs/alerts_api.md` (its API, version 2) and
//! `docs/configuration.md` (its webhook, version 4); PagerDuty's Events API, version 2; Slack's incoming webhooks.

use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::outbox::{Letter, Status};
use crate::incident::{heading, kind, label, numbered, rfc3339, sentence};

/// Time for which Alertmanager holds an alert for true that is not told again, seconds: three times the interval at which it
/// is.
pub const HELD: u64 = 180;
/// The longest `summary` that PagerDuty takes, characters.
const SUMMARY: usize = 1_024;
/// The longest `dedup_key` that PagerDuty takes, characters.
const KEY: usize = 255;

/// Common parts of all letters of a monitor.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Name of the plan.
    pub name: String,
    /// URL of its page; absent: none.
    pub page: Option<String>,
}

impl Sender {
    /// URL of the incident on the page.
    fn page_of(&self, id: u64) -> Option<String> {
        Some(format!("{}#/incident/{id}", self.page.as_deref()?))
    }

    /// Labels say which alert it is, so they hold nothing that changes while it goes on.
    fn labels(&self, letter: &Letter) -> Value {
        let severity = match letter.incident.kind {
            measure::lookout::incident::Kind::Silent => "critical",
            measure::lookout::incident::Kind::Faster => "info",
            _ => "warning",
        };
        json!({
            "alertname": "Sonde",
            "monitor": self.name,
            "kind": kind(letter.incident.kind),
            "scope": label(&letter.incident.scope),
            "incident": letter.incident.id.to_string(),
            "severity": severity,
        })
    }

    fn alert(&self, letter: &Letter, now: u64) -> Map<String, Value> {
        let incident = &letter.incident;
        let mut alert = Map::new();
        alert.insert("labels".to_owned(), self.labels(letter));
        let annotations = json!({ "summary": heading(incident), "description": sentence(incident, &TimeZone::UTC) });
        alert.insert("annotations".to_owned(), annotations);
        alert.insert("startsAt".to_owned(), json!(rfc3339(incident.onset.likely)));
        let ends = letter.ended.unwrap_or(now + HELD);
        alert.insert("endsAt".to_owned(), json!(rfc3339(ends)));
        if let Some(page) = self.page_of(incident.id) {
            alert.insert("generatorURL".to_owned(), json!(page));
        }
        alert
    }

    /// For Alertmanager.
    pub fn alertmanager(&self, letter: &Letter, now: u64) -> Value {
        json!([self.alert(letter, now)])
    }

    /// As Alertmanager's webhook, version 4.
    pub fn webhook(&self, letter: &Letter, now: u64) -> Value {
        let mut alert = self.alert(letter, now);
        let status = status(letter.status);
        alert.insert("status".to_owned(), json!(status));
        if letter.status == Status::Firing {
            // The year 1 is how Alertmanager says that there is no end yet.
            alert.insert("endsAt".to_owned(), json!("0001-01-01T00:00:00Z"));
        }
        alert.insert("fingerprint".to_owned(), json!(format!("{:016x}", letter.incident.id)));
        json!({
            "version": "4",
            "groupKey": format!("{{}}:{{incident=\"{}\"}}", letter.incident.id),
            "truncatedAlerts": 0,
            "status": status,
            "receiver": "sonde",
            "groupLabels": { "incident": letter.incident.id.to_string() },
            "commonLabels": alert["labels"],
            "commonAnnotations": alert["annotations"],
            "externalURL": self.page.clone().unwrap_or_default(),
            "alerts": [alert],
        })
    }

    /// For a command: the facts as they are.
    pub fn facts(&self, letter: &Letter) -> Value {
        json!({
            "monitor": self.name,
            "status": status(letter.status),
            "ended": letter.ended.map(rfc3339),
            "text": sentence(&letter.incident, &TimeZone::UTC),
            "page": self.page_of(letter.incident.id),
            "incident": letter.incident,
        })
    }

    /// For Slack.
    pub fn slack(&self, letter: &Letter) -> Value {
        let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let over = if letter.status == Status::Resolved { "Over: " } else { "" };
        let mut text = format!("{over}{} ({})", numbered(&letter.incident, &TimeZone::UTC), self.name);
        text = escaped(&text);
        if let Some(page) = self.page_of(letter.incident.id) {
            text = format!("{text} <{page}|page>");
        }
        json!({ "text": text })
    }

    /// For PagerDuty.
    pub fn pagerduty(&self, letter: &Letter, key: &str) -> Value {
        let (severity, action) = match letter.status {
            Status::Firing => (self.labels(letter)["severity"].clone(), "trigger"),
            Status::Resolved => (json!("info"), "resolve"),
        };
        let cut = |text: String, most: usize| text.chars().take(most).collect::<String>();
        json!({
            "routing_key": key,
            "event_action": action,
            "dedup_key": cut(format!("sonde/{}/{}", self.name, letter.incident.id), KEY),
            "client": "sonde",
            "client_url": self.page.clone().unwrap_or_default(),
            "payload": {
                "summary": cut(sentence(&letter.incident, &TimeZone::UTC), SUMMARY),
                "source": label(&letter.incident.scope),
                "severity": severity,
                "timestamp": rfc3339(letter.incident.onset.likely),
                "component": label(&letter.incident.scope),
                "group": self.name,
                "class": kind(letter.incident.kind),
                "custom_details": letter.incident,
            },
        })
    }

    /// A letter for `sendmail -t`: its head and its text. Whatever names bring, a line of the head stays one.
    pub fn mail(&self, letter: &Letter, to: &str) -> String {
        let plain =
            |text: &str| text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect::<String>();
        let over = if letter.status == Status::Resolved { "over: " } else { "" };
        let subject = plain(&format!("[{}] {over}{}", self.name, heading(&letter.incident)));
        let text = plain(&numbered(&letter.incident, &TimeZone::UTC));
        let page = self.page_of(letter.incident.id).map(|page| format!("\n\n{page}")).unwrap_or_default();
        format!(
            "To: {}\nSubject: {}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nAuto-Submitted: auto-generated\n\n{over}{text}.{page}\n",
            plain(to),
            encoded(&subject),
        )
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Firing => "firing",
        Status::Resolved => "resolved",
    }
}

/// A line of a head as RFC 2047 wants what is not ASCII: in words of at most 75 characters.
fn encoded(text: &str) -> String {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    /// Octets of a word: 45 of them are 60 characters of base64.
    const WORD: usize = 45;
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut words = vec![String::new()];
    for letter in text.chars() {
        if words.last().is_some_and(|word| word.len() + letter.len_utf8() > WORD) {
            words.push(String::new());
        }
        words.last_mut().expect("it begins with one").push(letter);
    }
    words.iter().map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word))).collect::<Vec<_>>().join("\n ")
}

#[cfg(test)]
mod tests {
    use measure::lookout::incident::{Kind, Scope};

    use super::*;
    use crate::incident::example;

    fn sender() -> Sender {
        Sender { name: "zones".to_owned(), page: Some("https://monitor.example/".to_owned()) }
    }

    fn letter(status: Status) -> Letter {
        Letter { incident: example(7), status, ended: (status == Status::Resolved).then_some(1_764_116_000) }
    }

    #[test]
    fn labels_are_the_same_from_beginning_to_end_and_hold_no_number_that_moves() {
        let mut later = letter(Status::Resolved);
        later.incident.affected = 3;
        later.incident.size = None;
        assert_eq!(sender().labels(&letter(Status::Firing)), sender().labels(&later));
    }

    #[test]
    fn alertmanager_is_told_until_when_it_holds() {
        let told = sender().alertmanager(&letter(Status::Firing), 1_764_115_500);
        assert_eq!(told[0]["startsAt"], "2025-11-26T00:02:10Z");
        assert_eq!(told[0]["endsAt"], "2025-11-26T00:08:00Z");
        assert_eq!(told[0]["generatorURL"], "https://monitor.example/#/incident/7");
    }

    #[test]
    fn the_webhook_has_what_alertmanagers_has() {
        let told = sender().webhook(&letter(Status::Resolved), 0);
        let keys: Vec<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
        for key in [
            "alerts",
            "commonAnnotations",
            "commonLabels",
            "externalURL",
            "groupKey",
            "groupLabels",
            "receiver",
            "status",
            "truncatedAlerts",
            "version",
        ] {
            assert!(keys.contains(&key), "{key}");
        }
        assert_eq!(
            (told["status"].as_str(), told["alerts"][0]["status"].as_str()),
            (Some("resolved"), Some("resolved"))
        );
    }

    #[test]
    fn what_a_name_brings_does_not_reach_the_head_of_a_letter() {
        let mut letter = letter(Status::Firing);
        letter.incident.scope =
            Scope::Host { host: "a\nBcc: x@y".to_owned(), role: measure::lookout::incident::Role::Both };
        letter.incident.kind = Kind::Silent;
        let mail = sender().mail(&letter, "ops@example.org");
        let head = mail.split("\n\n").next().unwrap();
        assert!(head.lines().all(|line| !line.starts_with("Bcc")), "{head}");
        assert!(head.contains("To: ops@example.org\n"));
    }

    #[test]
    fn slack_reads_names_and_not_marks() {
        let mut letter = letter(Status::Firing);
        letter.incident.scope = Scope::Zone { zone: "<!channel>".to_owned() };
        assert!(sender().slack(&letter)["text"].as_str().unwrap().contains("&lt;!channel&gt;"));
    }

    #[test]
    fn a_subject_that_is_not_ascii_is_put_into_words_of_a_head() {
        let subject = encoded("[zonen] a → b: requests are lost: 1.02 % lost, on the way back, and so on and on");
        assert!(subject.lines().all(|line| line.trim_start().len() <= 75), "{subject}");
        assert_eq!(encoded("plain"), "plain");
    }
}
