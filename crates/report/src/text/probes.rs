//! The answers to probes of the bare wire, and who sent them as far as that can be said.

use measure::answer::Class;
use measure::origin::Verdict;
use measure::probes::{Kind, Probes};
use measure::unit::grouped;

use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;
use crate::text::column::DETAIL;
use crate::words;

/// The kinds of answers, and who sent them as far as that was compared.
pub(super) fn answers(page: &mut Page, probes: &Probes) {
    page.gap();
    let head = ["replies", "", "from", "TTL", "window", "options"];
    let mut rows = vec![head.map(|text| Piece::new(text, Tone::Faint)).to_vec()];
    rows.extend(probes.kinds.iter().map(|kind| row(kind).map(Piece::from).to_vec()));
    if rows.len() > 1 {
        page.table(&rows);
    }
    for (count, what) in [(probes.others, "of further types"), (probes.unseen, "not examined: they came too fast")] {
        if count > 0 {
            let text = format!("{} {what}", number::count(count, "reply", "replies"));
            page.paragraph(INDENT, &Piece::new("and", Tone::Faint), DETAIL, &text);
        }
    }
    if let Some(origin) = &probes.origin {
        page.gap();
        let tone = if origin.verdict == Verdict::AnotherHop { Tone::Alarm } else { Tone::Strong };
        page.paragraph(
            INDENT,
            &Piece::new(if origin.both_accept { "answered by" } else { "RST sender" }, tone),
            DETAIL,
            &words::origin::sentence(origin),
        );
    }
}

fn row(kind: &Kind) -> [String; 6] {
    let what = match (kind.class, &kind.flags, kind.icmp) {
        (Class::Icmp, _, Some((kind, code))) => format!("ICMP type {kind} code {code}: refused"),
        (Class::SynAck, ..) => "SYN+ACK: open".to_owned(),
        (Class::RstAck, ..) => "RST+ACK: closed".to_owned(),
        (Class::Rst, ..) => "RST: closed".to_owned(),
        (Class::Datagram, ..) => "a datagram: open".to_owned(),
        (_, Some(flags), _) => flags.clone(),
        (class, None, _) => class.to_string(),
    };
    let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    [
        grouped(kind.count),
        what,
        kind.from.to_string(),
        number(kind.ttl.map(u64::from)),
        number(kind.window.map(u64::from)),
        kind.options.clone().unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use measure::answer::{Answer, Content};
    use measure::origin::judge;
    use measure::probes::Counter;
    use measure::unit::Instant;

    use super::*;
    use crate::layout::Style;

    #[test]
    fn an_icmp_error_is_told_with_its_sender() {
        let mut counter = Counter::default();
        let content = Content::Icmp { kind: 3, code: 13, info: 0, port: None };
        counter.take(&Answer { seq: 0, at: Instant(0), from: [10, 0, 0, 9].into(), content });
        let mut page = Page::new(Style::default());
        answers(&mut page, &counter.finish(2, Some(judge(None, &[], &[]))));
        let text = page.finish();
        assert!(text.contains("ICMP type 3 code 13: refused") && text.contains("10.0.0.9"), "{text}");
        assert!(text.contains("2 replies not examined") && text.contains("who answered is not established"), "{text}");
    }
}
