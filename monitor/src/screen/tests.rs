//! Screens of a past that is made up, as text, in several sizes.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use measure::event::Counts;
use measure::unit::Nanos;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use test_case::test_case;

use super::*;
use crate::breakdown::tests as breakdown;
use crate::options::Protocol;
use crate::view::{Mark, Order};
use crate::way::Way;
use measure::span::Distribution;

/// Ten requests a second, of about `level` ns, of which `lost` were not answered.
fn second(rng: &mut fastrand::Rng, level: f64, lost: u64) -> Span {
    let mut times = Distribution::default();
    (0..10 - lost).for_each(|_| times.put((level * (0.9 + 0.3 * rng.f64().powi(3))) as u64, 1));
    let counts = Counts { scheduled: 10, answered: 10 - lost, lost, ..Counts::default() };
    Span { counts, max: times.quantile(1.0).map(Nanos), times, ..Span::default() }
}

/// Three ways over 200 s: one that gets slower at a mark, one that loses something, one that failed.
fn view() -> View {
    let mut view = View::new(&[], Timestamp::from_second(1_000_000_000).unwrap(), TimeZone::UTC);
    let mut rng = fastrand::Rng::with_seed(7);
    for (host, protocol) in
        [("db1", Protocol::Tcp), ("db1", Protocol::Icmp), ("a-host-of-a-long-name.example:7800", Protocol::TcpConnect)]
    {
        view.add(Way { host: host.to_owned(), protocol });
    }
    for at in 0..200 {
        let level = if at < 120 { 50_000.0 } else { 80_000.0 };
        view.rows[0].history.push(at, &second(&mut rng, level, 0));
        let wake_up = if at < 120 { 20_000 } else { 50_000 };
        view.rows[0].breakdown.push(at, &breakdown::second(8_000 + rng.u64(0..500), wake_up + rng.u64(0..900), 9_000));
        view.rows[1].history.push(at, &second(&mut rng, 30_000.0, u64::from(at % 10 == 3)));
    }
    view.rows[0].standing = Standing::Measuring;
    view.rows[1].standing = Standing::Measuring;
    view.rows[2].standing = Standing::Failed("db\u{202e}2 refused the connection".to_owned());
    view.marks.push(Mark { at: 120, text: "changed qdisc".to_owned() });
    view
}

fn buffer(view: &View, look: Look, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, view, look)).unwrap();
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let Rect { width, height, .. } = buffer.area;
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect::<Vec<_>>().join("\n")
}

const PLAIN: Look = Look { colour: false, ascii: false };

#[test_case("80x24", 80, 24)]
#[test_case("200x50", 200, 50)]
#[test_case("59x14", 59, 14; "too small for a map")]
fn a_screen_reads(name: &str, width: u16, height: u16) {
    insta::assert_snapshot!(format!("screen_{name}"), text(&buffer(&view(), PLAIN, width, height)));
}

#[test]
fn ascii_is_ascii() {
    let look = Look { colour: false, ascii: true };
    let mut view = view();
    for shows_histogram in [false, true] {
        view.shows_histogram = shows_histogram;
        let text = text(&buffer(&view, look, 80, 24));
        assert!(text.is_ascii(), "{text}");
    }
    insta::assert_snapshot!("screen_ascii_histogram", text(&buffer(&view, look, 80, 24)));
}

/// No size is too small, and nothing is written beyond it.
#[test]
fn every_size_is_drawn() {
    let view = view();
    for width in (0..=80).step_by(3) {
        for height in 0..=24 {
            buffer(&view, Look { colour: true, ascii: false }, width, height);
        }
    }
}

#[test]
fn nothing_is_drawn_of_nothing() {
    let empty = View::new(&[], Timestamp::UNIX_EPOCH, TimeZone::UTC);
    assert!(text(&buffer(&empty, PLAIN, 80, 24)).contains("asking which ways answer"));
}

/// A wish for no colour leaves none; otherwise more requests are never darker than fewer.
#[test]
fn colours_are_a_choice() {
    let has = |look| {
        let buffer = buffer(&view(), look, 80, 24);
        buffer.content.iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert!(has(Look { colour: true, ascii: false }));
    assert!(!has(PLAIN));
    assert!(map::brightness().windows(2).all(|pair| pair[0] < pair[1]), "{:?}", map::brightness());
}

#[test]
fn the_chosen_row_is_seen_and_an_order_holds() {
    let mut view = view();
    view.move_by(1);
    assert_eq!(view.chosen().unwrap().way.protocol, Protocol::Icmp);
    view.move_by(9);
    assert_eq!(view.chosen().unwrap().way.protocol, Protocol::TcpConnect);
    view.chosen = 0;
    view.order = Order::Lossiest;
    assert_eq!(view.chosen().unwrap().way.protocol, Protocol::Icmp);
    view.order = Order::Slowest;
    assert_eq!(view.chosen().unwrap().way.protocol, Protocol::Tcp);
    view.chosen = 2;
    let small = text(&buffer(&view, PLAIN, 80, 6));
    assert!(small.contains("a-host-of"), "{small}");
}

#[test]
fn what_is_frozen_stands_still_while_more_comes() {
    let mut view = view();
    view.freeze();
    let before = text(&buffer(&view, PLAIN, 80, 24));
    view.rows[0].history.push(200, &second(&mut fastrand::Rng::with_seed(1), 1e9, 0));
    assert_eq!(text(&buffer(&view, PLAIN, 80, 24)), before);
    view.freeze();
    assert_ne!(text(&buffer(&view, PLAIN, 80, 24)), before);
}

#[test]
fn what_comes_from_outside_moves_no_cursor_and_turns_no_text() {
    let mut view = view();
    view.rows[0].way.host = "\u{1b}[31mdb\u{202e}1\u{9b}".to_owned();
    view.rows[1].standing = Standing::Failed("\u{1b}c".to_owned());
    view.marks[0].text = "\u{1b}]0;x\u{7}".to_owned();
    let text = text(&buffer(&view, PLAIN, 120, 30));
    assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control() && letter != '\u{202e}'), "{text:?}");
}

#[test]
fn what_is_too_long_for_a_line_goes_on_in_the_next() {
    assert_eq!(wrapped("a b", 9), ["a b"]);
    assert_eq!(wrapped("one two three four", 9), ["one two", "  three", "  four"]);
    assert_eq!(wrapped("averylongword b", 5), ["averylongword", "  b"], "a word stays whole and is cut");
    assert!(wrapped("", 5).is_empty());
}

/// Nobody marked it: the time, the size, where it lies; seen on the map, in the table and in the summary.
#[test]
fn a_change_that_nobody_marked_is_shown_with_the_part_that_moved() {
    let mut view = View::new(&[], Timestamp::from_second(1_000_000_000).unwrap(), TimeZone::UTC);
    view.add(Way { host: "db1:7800".to_owned(), protocol: Protocol::Tcp });
    let mut rng = fastrand::Rng::with_seed(3);
    let row = &mut view.rows[0];
    for at in 0..1_260 {
        let (level, wake_up) = if at < 900 { (1e5, 20_000) } else { (1.4e5, 60_000) };
        let span = second(&mut rng, level, 0);
        row.history.push(at, &span);
        let told = breakdown::second(8_000 + rng.u64(0..500), wake_up + rng.u64(0..900), 9_000);
        let disturbed = row.breakdown.push(at, &told);
        row.notices.take(1_000_000_000 + at, disturbed, &span);
    }
    view.zoom(1);
    let text = text(&buffer(&view, PLAIN, 160, 30));
    let told = text.lines().find(|line| line.contains(": p50 +")).unwrap_or_else(|| panic!("{text}"));
    let (onset, size) = told.split_once(": p50 +").unwrap();
    let size: f64 = size.split(' ').next().unwrap().parse().unwrap();
    assert!((36.0..44.0).contains(&size), "{told}");
    assert!(told.contains("], wake-up at db1 +") && told.ends_with("; path: no difference shown"), "{told}");
    assert!(text.contains("▾p50 +") && text.contains("time went: wake-up at peer 60"), "{text}");
    assert!(text.lines().nth(2).unwrap().contains('!'), "{text}");
    let summary = crate::summary::text(&view);
    assert!(summary.contains(onset), "{summary}");
}
