//! Matrices of runs whose numbers are known: order, marks, words, widths, and a page whose links lead somewhere.

use std::collections::BTreeSet;

use logbook::failure::{Failure, Side};
use logbook::plan::Plan;
use logbook::run::{Answer, Figures, PairCheck};
use measure::unit::Nanos;
use test_case::test_case;
use unicode_width::UnicodeWidthStr;
use uuid::Uuid;

use super::*;
use crate::fixture;
use crate::layout::Style;

/// A run over hosts `h0`, `h1` … of two zones, with what each cell has of times.
fn run(hosts: usize, repeats: u32, p50: impl Fn(usize, usize, u32) -> Option<u64>) -> RunDocument {
    let listed: Vec<String> = (0..hosts)
        .map(|n| {
            format!(
                "{{ name = \"h{n}\", reach = \"local\", internal = \"10.0.0.1\", labels = {{ zone = \"z{}\" }} }}",
                n % 2
            )
        })
        .collect();
    let plan = format!(
        "repeats = {repeats}\nhosts = [{}]\nmethods = [{{ name = \"rr\", command = \"rtt\" }}]\n",
        listed.join(", ")
    );
    let plan = Plan::read(&plan, "plan.toml").unwrap();
    let base = fixture::run();
    let mut cells = Vec::new();
    for repeat in 0..repeats {
        for (from, to) in
            (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))).filter(|(from, to)| from != to)
        {
            let place = Place {
                from: format!("h{from}"),
                to: format!("h{to}"),
                over: Address::Internal,
                method: "rr".to_owned(),
                repeat,
            };
            let found = p50(from, to, repeat);
            let figures =
                found.map(|ns| Figures { p50_ns: Some(Nanos(ns)), lost_ratio: Some(0.0), ..Figures::default() });
            let failure = found.is_none().then(|| failure("nobody listens"));
            let record = found.map(|_| Uuid::from_u128(cells.len() as u128 + 1));
            cells.push(Cell { place, figures, failure, record, beside: 0, host_lost: false, ..base.cells[0].clone() });
        }
    }
    RunDocument { plan, cells, hosts: Vec::new(), checks: Vec::new(), ..base }
}

fn failure(what: &str) -> Failure {
    Failure { what: what.to_owned(), to_whom: None, side: Some(Side::Theirs), hint: None, partial: None }
}

fn worse(run: &RunDocument) -> BTreeSet<(usize, usize)> {
    let matrix = all(run, None).remove(0);
    matrix.squares.iter().filter(|(_, square)| square.worse).map(|(place, _)| *place).collect()
}

fn wide(text: &str, width: usize) -> Option<&str> {
    text.lines().find(|line| line.width() > width || line.ends_with(' '))
}

#[test]
fn hosts_of_a_zone_stand_together() {
    let matrix = all(&run(4, 1, |_, _, _| Some(20_000)), None).remove(0);
    let names: Vec<&str> = matrix.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["h0", "h2", "h1", "h3"]);
    assert_eq!(matrix.zones(), [(Some("z0"), 0..2), (Some("z1"), 2..4)]);
    assert_eq!(matrix.title(), "rr · internal · p50");
}

#[test]
fn a_square_is_the_median_over_repeats_and_names_its_records() {
    let matrix = all(&run(2, 3, |_, _, repeat| Some([30_000, 10_000, 20_000][repeat as usize])), None).remove(0);
    let square = &matrix.squares[&(0, 1)];
    assert_eq!(
        square.spread.map(|spread| (spread.median, spread.low, spread.high)),
        Some((20_000.0, 10_000.0, 30_000.0))
    );
    assert_eq!((square.records.len(), &square.state), (3, &State::Whole));
}

#[test]
fn a_direction_is_worse_only_where_that_is_shown() {
    // Five repeats have no interval, however far apart they are; and that is said.
    let five = run(2, 5, |from, _, repeat| Some(20_000 + u64::from(repeat) + if from == 0 { 90_000 } else { 0 }));
    assert_eq!(worse(&five), [].into());
    assert!(text(&five, None, &Style::default()).contains("comparing directions takes 6 repeats"));
    // Seven repeats: little, but surely.
    let seven = |by: u64| {
        worse(&run(2, 7, |from, _, repeat| Some(20_000 + u64::from(repeat) * 10 + if from == 0 { by } else { 0 })))
    };
    assert_eq!(seven(100), [(0, 1)].into());
    assert_eq!(seven(30), [].into(), "their intervals overlap");
}

#[test]
fn of_throughput_less_is_worse() {
    let mut run = run(2, 7, |_, _, _| Some(1));
    for cell in &mut run.cells {
        let bits_per_second = Some(if cell.place.from == "h0" { 9e9 } else { 5e9 } + f64::from(cell.place.repeat));
        cell.figures = Some(Figures { bits_per_second, ..Figures::default() });
    }
    assert_eq!(all(&run, None)[0].figure, Figure::Throughput, "of a stream what it has");
    assert_eq!(worse(&run), [(1, 0)].into());
}

#[test_case(true, Answer::Silent, "lost")]
#[test_case(false, Answer::Silent, "silent")]
#[test_case(false, Answer::Closed, "closed")]
#[test_case(false, Answer::Rejected, "rejected")]
#[test_case(false, Answer::Open, "failed")]
fn what_failed_says_why_in_a_word(host_lost: bool, tcp: Answer, word: &str) {
    let mut run = run(2, 1, |from, _, _| (from == 1).then_some(20_000));
    run.cells[0].host_lost = host_lost;
    run.checks = vec![PairCheck {
        from: "h0".to_owned(),
        to: "h1".to_owned(),
        over: Address::Internal,
        address: Some([10, 0, 0, 1].into()),
        name: None,
        icmp: Answer::Open,
        tcp,
        udp: Answer::Open,
        mtu_bytes: None,
        mtu_hole: false,
        failure: None,
    }];
    let matrix = all(&run, None).remove(0);
    assert_eq!(matrix.squares[&(0, 1)].failed(), Some((word, "nobody listens")));
    assert_eq!(matrix.reasons(), [((word, "nobody listens".to_owned()), 1)].into());
    let text = text(&run, None, &Style::default());
    assert!(text.contains(&format!("  {word:9}nobody listens (1 cell)")), "{text}");
}

#[test]
fn a_mesh_is_a_screen() {
    let screen = text(&fixture::run(), None, &Style::default());
    assert_eq!(wide(&screen, 80), None, "{screen}");
    insta::assert_snapshot!(screen);
}

#[test]
fn a_percentile_of_few_round_trips_is_marked_and_one_of_too_few_is_not_printed() {
    let mut run = run(2, 1, |_, _, _| Some(20_000));
    for (cell, count) in run.cells.iter_mut().zip([19, 20]) {
        cell.figures = cell.figures.map(|figures| Figures { round_trips: Some(count), ..figures });
    }
    let screen = text(&run, None, &Style::default());
    // Once in the table, and once in the answer.
    assert_eq!((screen.matches("20.0~").count(), screen.matches("~20.0").count()), (1, 1), "{screen}");
    assert_eq!(screen.matches("20.0").count(), 2, "{screen}");
    assert!(screen.contains("few      too few round trips for a p50"), "{screen}");
    let page = page(&run, None, None, &|_| None);
    assert!(page.contains(">20.0~<") && page.contains(">few<"), "{page}");
}

#[test]
fn columns_go_into_further_blocks_where_the_line_ends() {
    for (hosts, ascii) in [(12, false), (40, true)] {
        let mut run =
            run(hosts, 1, |from, to, _| (from + to != 7).then_some(20_000 + 1_000 * from as u64 + 17 * to as u64));
        run.plan.hosts[3].name = "a-host-of-a-very-long-name.example.com".to_owned();
        let screen = text(&run, None, &Style { ascii, ..Style::default() });
        assert_eq!(wide(&screen, 80), None, "{screen}");
        assert_eq!(screen.is_ascii(), ascii);
    }
}

#[test]
fn of_very_many_hosts_zones_and_the_worst_are_told() {
    let run = run(60, 1, |from, to, _| {
        Some(if (from, to) == (8, 9) { 9_000_000 } else { 20_000 + 60_000 * ((from + to) % 2) as u64 })
    });
    let screen = text(&run, None, &Style::default());
    assert_eq!(wide(&screen, 80), None, "{screen}");
    assert!(screen.lines().count() < 40, "{screen}");
    assert!(screen.contains("the worst of 3540 cells between 60 hosts"), "{screen}");
    assert!(screen.contains("h8 → h9"), "{screen}");
}

#[test]
fn another_figure_can_be_asked_for() {
    let matrices = all(&fixture::run(), Some(Figure::Loss));
    assert_eq!(
        matrices.iter().map(Matrix::title).collect::<Vec<_>>(),
        ["tcp_rr · internal · loss", "stream · internal · throughput"]
    );
}

#[test]
fn nothing_is_said_of_an_empty_run() {
    let run = RunDocument { cells: Vec::new(), ..fixture::run() };
    assert_eq!(text(&run, None, &Style::default()), "0 of 24 cells measured\n");
    assert!(page(&run, None, None, &|_| None).ends_with("</html>\n"));
    assert!(picture(&run, None, None, None).is_err());
}

/// Elements that are opened and closed, as often.
fn balanced(page: &str) -> bool {
    ["table", "thead", "tbody", "tr", "td", "th", "div", "section", "a", "article", "details", "dl", "figure", "style"]
        .iter()
        .all(|tag| {
            let opened = page.matches(&format!("<{tag} ")).count() + page.matches(&format!("<{tag}>")).count();
            opened == page.matches(&format!("</{tag}>")).count()
        })
}

#[test]
fn the_page_leads_from_each_square_to_its_record() {
    let run = fixture::run();
    let kept = |id: Uuid| Some(fixture::named(id, fixture::icmp()));
    let page = page(&run, None, Some(Beside { comparison: &fixture::run_comparison() }), &kept);
    assert!(balanced(&page));
    let links: BTreeSet<&str> = page
        .split("<a href=\"#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|id| id.starts_with("cell="))
        .collect();
    assert!(links.len() >= 8, "{links:?}");
    assert!(links.iter().all(|id| page.contains(&format!("<article class=\"cell\" id=\"{id}\""))));
    assert!(page.contains("Before beside after") && page.contains("worse +25 %"), "the verdict of each square");
    assert!(page.contains("<strong>c</strong> was given up: c: the agent is gone"));
}

#[test]
fn a_hundred_cells_weigh_300_kilobytes_and_failed_ones_say_what_to_try() {
    let mut run = run(11, 1, |from, to, _| ((from, to) != (1, 2)).then_some(20_000));
    for cell in &mut run.cells {
        cell.failure = cell.failure.take().map(|failure| Failure { hint: Some("open the port".to_owned()), ..failure });
    }
    let page = page(&run, None, None, &|id| Some(fixture::named(id, fixture::closed())));
    assert!(page.len() < 110 * 3_000, "{} bytes", page.len());
    assert_eq!(page.matches("<article class=\"cell\"").count(), 110);
    assert!(page.contains("<a href=\"#cell=h0,h2,rr,internal\">") && page.contains("id=\"cell=h0,h2,rr,internal\""));
    assert!(page.contains("Failed: nobody listens") && page.contains("→ open the port"));
    assert!(!page.contains("square"), "they are called cells");
    assert!(balanced(&page));
}

#[test]
fn names_of_whoever_stay_words_in_the_page() {
    let mut run = run(2, 1, |_, _, _| Some(20_000));
    let evil = "<script>alert(1)</script>";
    run.plan.hosts[0].name = evil.to_owned();
    run.plan.hosts[0].labels.insert("zone".to_owned(), "\"><img src=x>".to_owned());
    run.plan.name = Some(evil.to_owned());
    run.plan.methods[0].command = evil.to_owned();
    for cell in &mut run.cells {
        for name in [&mut cell.place.from, &mut cell.place.to].into_iter().filter(|name| *name == "h0") {
            *name = evil.to_owned();
        }
        cell.failure = Some(failure(evil));
    }
    let page = page(&run, None, None, &|_| None);
    assert!(!page.contains("<script>alert") && !page.contains("<img"), "{page}");
    assert!(balanced(&page));
}

#[test]
fn the_page_of_very_many_hosts_stays_small() {
    let run = run(130, 1, |from, to, _| Some(20_000 + (from * to) as u64));
    let page = page(&run, None, None, &|_| None);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.contains("medians over the hosts of each zone") && balanced(&page));
}

#[test]
fn the_picture_is_darker_where_it_is_worse() {
    let chart = picture(&run(3, 1, |from, to, _| Some(20_000 << (from * 2 + to))), Some("rr"), None, None).unwrap();
    let cells = chart.cells.as_ref().unwrap();
    let even = chart::badness(Figure::Quantile(0.5), 25_600.0, 25_200.0, 25_600.0);
    assert!(even < 0.03, "what differs by so little is not dark: {even}");
    // Rows from the bottom up, hosts zone by zone: h0, h2, h1. The worst is from h2 to h1, the best from h0 to h1.
    assert_eq!(cells.counts[2], [0, 4_096, 2]);
    assert!(chart.png(crate::plot::Frame::alone()).unwrap().starts_with(b"\x89PNG"));
    assert!(picture(&fixture::run(), Some("none"), None, None).is_err());
}

#[test]
fn throughput_stands_against_processors_and_prices() {
    let mut run = fixture::run();
    assert!(chart::by_host(&run).is_empty(), "all hosts have as many");
    for (at, price) in ["0.19", "$0.38", "cheap"].into_iter().enumerate() {
        run.hosts[at].cpus = Some(4 << at);
        run.plan.hosts[at].labels.insert("price_per_hour".to_owned(), price.to_owned());
    }
    let charts = chart::by_host(&run);
    let points: Vec<usize> = charts.iter().map(|chart| chart.series[0].points.len()).collect();
    assert_eq!(points, [3, 2], "what is no price has no place");
    assert!(page(&run, None, None, &|_| None).contains("Throughput by processors of the sender"));
}
