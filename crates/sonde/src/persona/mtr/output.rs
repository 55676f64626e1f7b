//! The text of mtr's reports, from plain values.

use std::fmt::Write as _;

use crate::persona::mtr::hop::Hop;

/// A field of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field(char);

/// Letter, title, columns and decimals; without decimals a count.
const FIELDS: [(char, &str, usize, Option<usize>); 15] = [
    (' ', " ", 1, None),
    ('L', "Loss%", 6, Some(1)),
    ('D', "Drop", 5, None),
    ('R', "Rcv", 6, None),
    ('S', "Snt", 6, None),
    ('N', "Last", 6, Some(1)),
    ('B', "Best", 6, Some(1)),
    ('A', "Avg", 6, Some(1)),
    ('W', "Wrst", 6, Some(1)),
    ('V', "StDev", 6, Some(1)),
    ('G', "Gmean", 6, Some(1)),
    ('J', "Jttr", 5, Some(1)),
    ('M', "Javg", 5, Some(1)),
    ('X', "Jmax", 5, Some(1)),
    ('I', "Jint", 5, Some(1)),
];

impl Field {
    /// The field of a letter.
    pub fn of(letter: char) -> Option<Self> {
        FIELDS.iter().any(|(known, ..)| *known == letter).then_some(Self(letter))
    }

    /// The usual ones.
    pub fn usual() -> Vec<Self> {
        "LS NABWV".chars().map(Self).collect()
    }

    /// Those of jitter, to which a key changes.
    pub fn of_jitter() -> Vec<Self> {
        "DR AGJMXI".chars().map(Self).collect()
    }

    fn entry(self) -> (&'static str, usize, Option<usize>) {
        let entry = FIELDS.iter().find(|(letter, ..)| *letter == self.0);
        entry.map_or((" ", 1, None), |(_, title, columns, decimals)| (*title, *columns, *decimals))
    }

    fn is_blank(self) -> bool {
        self.0 == ' '
    }

    /// The number of what is counted, else per cent or milliseconds.
    fn value(self, hop: &Hop) -> f64 {
        let millis = |micros: f64| micros / 1e3;
        match self.0 {
            'L' => hop.loss(),
            'R' => hop.received as f64,
            'S' => hop.sent as f64,
            'N' => millis(hop.last as f64),
            'B' => millis(hop.best as f64),
            'A' => millis(hop.mean.trunc()),
            'W' => millis(hop.worst as f64),
            'V' => millis(hop.deviation().trunc()),
            'G' => millis(hop.geometric().trunc()),
            'J' => millis(hop.jitter as f64),
            'M' => millis(hop.mean_jitter() as f64),
            'X' => millis(hop.worst_jitter as f64),
            'I' => millis(hop.smoothed as f64),
            _ => (hop.sent - hop.received) as f64,
        }
    }

    /// As it stands in its columns of a report, a blank in front.
    fn padded(self, hop: &Hop) -> String {
        let (_, columns, decimals) = self.entry();
        match (decimals, self.0) {
            (_, ' ') => " ".to_owned(),
            (Some(decimals), 'L') => format!(" {:1$.2$}%", self.value(hop), columns - 2, decimals),
            (decimals, _) => format!(" {:1$.2$}", self.value(hop), columns - 1, decimals.unwrap_or(0)),
        }
    }
}

/// The head of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The name of this host.
    pub source: String,
    /// The host, as typed.
    pub target: String,
    /// Type of service.
    pub tos: u8,
    /// Rounds.
    pub rounds: u32,
    /// Length of a packet, octets.
    pub size: u32,
    /// The TTL of the first hop.
    pub first: u8,
    /// Seconds since 1970 at the start.
    pub start: u64,
}

/// A hop with the names of those who answered, the first one first; none: nobody.
pub type Named<'a> = (&'a Hop, Vec<String>);

/// Columns of names.
const NAMES: usize = 33;
/// The name of nobody.
const NOBODY: &str = "???";

fn name(names: &[String]) -> &str {
    names.first().map_or(NOBODY, String::as_str)
}

/// The report as lines.
pub fn text(head: &Head, hops: &[Named<'_>], fields: &[Field], wide: bool) -> String {
    let widest = hops.iter().map(|(_, names)| name(names).chars().count()).chain([head.source.chars().count()]).max();
    let columns = if wide { widest.unwrap_or(0) } else { NAMES };
    let cut = |line: String| if wide { line } else { fitted(&line, NAMES) };
    let mut text = cut(format!("HOST: {:columns$}", head.source));
    for field in fields {
        let (title, columns, _) = field.entry();
        let _ = write!(text, "{title:>columns$}");
    }
    text.push('\n');
    for (place, (hop, names)) in hops.iter().enumerate() {
        text.push_str(&cut(format!(" {:2}.|-- {:columns$}", place + usize::from(head.first), name(names))));
        for (place, field) in fields.iter().enumerate() {
            let value = field.padded(hop);
            // A value too long loses its end to the next field, as in the original.
            text.push_str(&if place + 1 < fields.len() { fitted(&value, field.entry().1) } else { value });
        }
        text.push('\n');
        for name in names.iter().skip(1) {
            let _ = writeln!(text, "        {name:columns$}");
        }
    }
    text
}

/// The text in exactly so many columns.
fn fitted(text: &str, columns: usize) -> String {
    format!("{:columns$}", text.chars().take(columns).collect::<String>())
}

/// The report as JSON.
pub fn json(head: &Head, hops: &[Named<'_>], fields: &[Field]) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let (source, target) = (quoted(&head.source), quoted(&head.target));
    let Head { tos, rounds, size, .. } = head;
    let mut text = format!(
        "{{\n    \"report\": {{\n        \"mtr\": {{\n            \"src\": {source},\n            \"dst\": {target},\n            \
         \"tos\": {tos},\n            \"tests\": {rounds},\n            \"psize\": \"{size}\",\n            \
         \"bitpattern\": \"0x00\"\n        }},\n        \"hubs\": ["
    );
    for (place, (hop, names)) in hops.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        let (count, host) = (place + usize::from(head.first), quoted(name(names)));
        let _ = write!(
            text,
            "{comma}\n            {{\n                \"count\": {count},\n                \"host\": {host}"
        );
        for field in fields.iter().filter(|field| !field.is_blank()) {
            let (title, _, decimals) = field.entry();
            let value = field.value(hop);
            let value = if decimals.is_some() { real(value) } else { format!("{value:.0}") };
            let _ = write!(text, ",\n                \"{title}\": {value}");
        }
        text.push_str("\n            }");
    }
    let end = if hops.is_empty() { "]" } else { "\n        ]" };
    text.push_str(end);
    text.push_str("\n    }\n}\n");
    text
}

/// A number with five significant digits and a point.
fn real(value: f64) -> String {
    let text = crate::persona::number::general(value, 5);
    if text.contains(['.', 'e']) { text } else { format!("{text}.0") }
}

/// The report as XML.
pub fn xml(head: &Head, hops: &[Named<'_>], fields: &[Field]) -> String {
    let (source, target) = (escaped(&head.source), escaped(&head.target));
    let Head { tos, rounds, size, first, .. } = head;
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n<MTR SRC=\"{source}\" DST=\"{target}\" TOS=\"0x{tos:X}\" PSIZE=\"{size}\" BITPATTERN=\"0x00\" TESTS=\"{rounds}\">\n"
    );
    for (place, (hop, names)) in hops.iter().enumerate() {
        let count = place + usize::from(*first);
        let _ = writeln!(text, "    <HUB COUNT=\"{count}\" HOST=\"{}\">", escaped(name(names)));
        for field in fields.iter().filter(|field| !field.is_blank()) {
            let title = field.entry().0.trim_end_matches('%');
            let _ = writeln!(text, "        <{title}>{}</{title}>", field.padded(hop));
        }
        text.push_str("    </HUB>\n");
    }
    text.push_str("</MTR>\n");
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The report as comma-separated values.
pub fn csv(head: &Head, hops: &[Named<'_>], fields: &[Field]) -> String {
    let mut text = String::new();
    for (place, (hop, names)) in hops.iter().enumerate() {
        if place == 0 {
            let titles: String = fields.iter().flat_map(|field| [field.entry().0, ","]).collect();
            let _ = writeln!(text, "Mtr_Version,Start_Time,Status,Host,Hop,Ip,{titles}");
        }
        let (count, start, target) = (place + usize::from(head.first), head.start, head.target.replace(',', "_"));
        let _ = write!(text, "MTR.0.95,{start},OK,{target},{count},{}", name(names).replace(',', "_"));
        for field in fields {
            let decimals = if field.entry().2.is_some() { 2 } else { 0 };
            let _ = write!(text, ",{:.decimals$}", field.value(hop));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use measure::hops::{Answer, Says};
    use measure::unit::Nanos;

    use super::*;

    fn hops() -> [Hop; 2] {
        let mut first = Hop { sent: 2, ..Hop::default() };
        for micros in [60, 1_234_567] {
            let from = [10, 22, 1, 2].into();
            first.take(&Answer { from, says: Says::Passed, time: Nanos::micros(micros), stamped: true, ttl: None });
        }
        [first, Hop { sent: 2, ..Hop::default() }]
    }

    fn head() -> Head {
        Head {
            source: "vm".into(),
            target: "10.22.8.1".into(),
            tos: 0,
            rounds: 2,
            size: 64,
            first: 1,
            start: 1_795_766_804,
        }
    }

    fn told(form: impl Fn(&Head, &[Named<'_>]) -> String) -> String {
        let [first, second] = &hops();
        form(&head(), &[(first, vec!["10.22.1.2".into()]), (second, Vec::new())])
    }

    #[test]
    fn lines_have_the_columns_of_the_original() {
        assert_eq!(
            told(|head, hops| text(head, hops, &Field::usual(), false)),
            "HOST: vm                          Loss%   Snt   Last   Avg  Best  Wrst StDev\n\
             \u{20} 1.|-- 10.22.1.2                  0.0%     2  1234. 617.3   0.1 1234. 872.9\n\
             \u{20} 2.|-- ???                       100.0     2    0.0   0.0   0.0   0.0   0.0\n"
        );
    }

    #[test]
    fn a_wide_report_is_as_wide_as_its_names() {
        let text = told(|head, hops| text(head, hops, &Field::usual(), true));
        assert!(text.starts_with("HOST: vm        Loss%   Snt"), "{text}");
        assert!(text.contains("\n  1.|-- 10.22.1.2  0.0%     2  1234. "), "{text}");
    }

    #[test]
    fn machines_read_the_other_forms() {
        let json = told(|head, hops| json(head, hops, &Field::usual()));
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["report"]["hubs"][0]["Best"], 0.06);
        assert_eq!(read["report"]["hubs"][1]["Loss%"], 100.0);
        assert!(json.contains("\"Loss%\": 0.0,\n                \"Snt\": 2,\n"), "{json}");
        let xml = told(|head, hops| xml(head, hops, &Field::usual()));
        assert!(
            xml.contains(
                "    <HUB COUNT=\"2\" HOST=\"???\">\n        <Loss> 100.0%</Loss>\n        <Snt>     2</Snt>\n"
            ),
            "{xml}"
        );
        let csv = told(|head, hops| csv(head, hops, &Field::usual()));
        assert!(csv.starts_with("Mtr_Version,Start_Time,Status,Host,Hop,Ip,Loss%,Snt, ,Last,Avg,Best,Wrst,StDev,\nMTR.0.95,1795766804,OK,10.22.8.1,1,10.22.1.2,0.00,2,0,"), "{csv}");
        assert!(csv.ends_with("2,???,100.00,2,2,0.00,0.00,0.00,0.00,0.00\n"), "{csv}");
    }
}
