//! The screens that the pages show have the form that this program prints. Screens of seconds are made again, over loopback;
//! those of minutes are held by the snapshots of `report`.

use std::fs;

use testbed::page;

use crate::serve::Reflector;
use crate::{printed, sonde};

/// The output below the first command of a page's block that is marked `<!-- screen: NAME -->`, or the block itself where it has none.
fn screen(page: &str, name: &str) -> String {
    let text = page::read(page);
    let blocks = page::blocks(&text);
    let block = blocks.iter().find(|block| block.screen == Some(name));
    let block = block.unwrap_or_else(|| panic!("{page} has no screen {name}"));
    let output = block.commands().first().map_or_else(|| block.text.clone(), |(_, output)| output.clone());
    assert!(!output.trim().is_empty(), "{page}: {name} has no output");
    output
}

/// The headings of a screen's tables of percentiles, without what aligns them.
fn headings(screen: &str) -> Vec<String> {
    let is_heading = |words: &Vec<&str>| {
        let is_name = |word: &&str| word.starts_with('p') || !word.contains(|c: char| c.is_ascii_digit());
        words.contains(&"p50") && words.len() > 2 && words.iter().all(is_name)
    };
    let lines = screen.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.filter(is_heading).map(|words| words.join(" ")).collect()
}

fn assert_headings(page: &str, name: &str, seen: &str) {
    let expected = headings(&screen(page, name));
    assert!(!expected.is_empty(), "{page}: {name} shows no percentiles");
    let seen_headings = headings(seen);
    for heading in expected {
        assert!(seen_headings.contains(&heading), "{page}: {name} shows `{heading}`, which is not printed:\n{seen}");
    }
}

/// Runs of blanks as one.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The snapshots in a folder of the project, as one text.
fn snapshots(folder: &str) -> String {
    let entries = fs::read_dir(page::root().join(folder).join("snapshots")).unwrap();
    entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

/// Screens that take minutes, a privilege or a broken path: page, name, the folder of the snapshots that have the same, and what both have.
const OF_SNAPSHOTS: &[(&str, &str, &str, &[&str])] = &[
    (
        "docs/howto/sweep.md",
        "sweep-decades",
        "crates/report/src/study/sweep",
        &["interval icmp p50 min … max tcp p50 min … max icmp p99", "min … max of the blocks"],
    ),
    (
        "docs/explain/causes.md",
        "why-udp",
        "crates/report/src/study/why",
        &["possible cause effect 95 % interval share verdict", "effect: time that the switch saves"],
    ),
    (
        "docs/howto/capture.md",
        "verify",
        "crates/report/src",
        &["on the wire verified on", "round trip p50", "as measured", "captured", "dropped none"],
    ),
    (
        "docs/howto/ports.md",
        "check",
        "crates/report/src",
        &["route", "ICMP echo answered in", "path MTU", "closed RST ·", "open or filtered no answer in"],
    ),
    (
        "docs/howto/one-way.md",
        "one-way",
        "crates/report/src",
        &["one-way delay", "to the peer", "both ways", "held by peer", "each direction ±", "clock drift"],
    ),
    ("docs/store.md", "compare-runs", "crates/report/src/run", &["change 95 % interval verdict", "not significant"]),
    (
        "docs/howto/history.md",
        "history-by-hour",
        "monitor/src/past",
        &[
            "over udp: p50",
            "requests not answered:",
            "lost on the way out",
            "begins p50 p99 max lost out/back answered busy",
        ],
    ),
    (
        "docs/howto/history.md",
        "history-against",
        "monitor/src/past",
        &["loss: no difference shown", "against a to b over udp", "blocks of 30 minutes each"],
    ),
    (
        "docs/howto/watch.md",
        "watch",
        "monitor/src/screen",
        &["host p50 max lost 5m p50 5m lost p50 over time", "time went: wake-up at peer"],
    ),
    (
        "docs/howto/watch.md",
        "mark",
        "monitor/src/screen",
        &[
            "changed qdisc: p50 +57.5 % [+56.4, +59.5], wake-up at db1 +30.1 µs; path: no difference shown, loss: no difference shown",
        ],
    ),
    (
        "docs/howto/paths.md",
        "hops",
        "crates/report/src/text",
        &[
            "8 connections traced by TCP SYNs from their ports, 5 rounds",
            "way 1 p50 way 2 p50 answered",
            "ways way 1:",
            "part way 1 and way 2 part",
        ],
    ),
    (
        "docs/howto/paths.md",
        "live",
        "crates/report/src/text",
        &["hop address sent last p50 best worst unanswered", "limited?", "silent"],
    ),
    ("docs/howto/paths.md", "mtu", "crates/report/src/text", &["1500 B, 1400 B from hop"]),
    (
        "docs/howto/ports.md",
        "black-hole",
        "crates/report/src",
        &[
            "path MTU 1372 B, MTU black hole: larger packets vanish",
            "! Packets of 1373 B and more vanish without an ICMP error → let ICMP errors pass the filter that drops them",
        ],
    ),
    (
        "docs/howto/survey.md",
        "look-icmp",
        "crates/report/src/look",
        &[
            "protocol answered by p50 lost shift reason",
            "slow ICMP path: ICMP takes a slower path, or a middlebox nearer than the host answers TCP. Use the TCP value.",
        ],
    ),
    (
        "docs/howto/survey.md",
        "look-paths",
        "crates/report/src/look",
        &[
            "protocol answered by p50 lost shift reason",
            "It depends on the connection: some take",
            "some connections take",
            "longer than others: by path, queue or thread of the peer. One connection sees one of them.",
        ],
    ),
    (
        "docs/howto/compare.md",
        "compare-ping-netperf",
        "crates/report/src/study/comparison",
        &[
            "A B B − A 95 % interval",
            "effect on p50 of changing one setting",
            "The effects interact; each is the average over all orders of change.",
        ],
    ),
    (
        "docs/howto/compare.md",
        "compare-early",
        "crates/report/src/study/comparison",
        &[
            "A B B − A 95 % interval",
            "B − A is the estimate over pairs of runs, not the difference of the two medians.",
        ],
    ),
];

/// Output on the how-to pages that other tests hold.
const HELD_ELSEWHERE: &[(&str, &str, &str)] = &[
    ("docs/howto/applications.md", "look", "network pages"),
    ("docs/howto/applications.md", "phases", "network pages"),
    ("docs/howto/applications.md", "mix", "network pages"),
    ("docs/howto/applications.md", "replies", "network pages"),
    ("docs/howto/keys.md", "list", "network pages"),
    ("docs/howto/keys.md", "audit", "audit"),
    ("docs/howto/keys.md", "audit-of-others", "audit"),
    ("docs/howto/keys.md", "counters", "audit"),
    ("docs/howto/history.md", "estimate", "sonde-monitor estimate"),
    ("docs/howto/monitor.md", "check", "sonde-monitor start"),
    ("docs/howto/monitor.md", "started", "centre"),
    ("docs/howto/paths.md", "groups", "network paths"),
    ("docs/howto/paths.md", "rtt", "network paths"),
    ("docs/howto/watch.md", "refused", "centre"),
    ("docs/howto/watch.md", "change", "sonde-monitor screen"),
];

#[test]
fn long_screens_have_the_lines_of_the_snapshots() {
    let mut wrong = Vec::new();
    for (page, name, folder, lines) in OF_SNAPSHOTS {
        let (shown, printed) = (plain(&screen(page, name)), plain(&snapshots(folder)));
        for line in *lines {
            let places = [(&shown, *page), (&printed, *folder)];
            let places = places.iter().filter(|(text, _)| !text.contains(line));
            wrong.extend(places.map(|(_, place)| format!("{page}: {name}: `{line}` is not in {place}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every output that a how-to page shows has a name, and a test that holds it.
#[test]
fn no_output_of_a_how_to_page_is_held_by_nothing() {
    let held = OF_SNAPSHOTS.iter().map(|(page, name, ..)| (*page, *name));
    let held: Vec<_> = held.chain(HELD_ELSEWHERE.iter().map(|(page, name, _)| (*page, *name))).collect();
    let (mut seen, mut loose) = (Vec::new(), Vec::new());
    for name in [page::pages_in("docs/howto"), page::pages_in("docs/howto/programs")].concat() {
        let text = page::read(&name);
        for block in page::blocks(&text) {
            let prints = block.commands().iter().any(|(_, output)| !output.trim().is_empty());
            if !prints && (!matches!(block.mark, "" | "text") || block.text.starts_with("$ ")) {
                continue;
            }
            let screen = block.screen.unwrap_or("without a name");
            if held.contains(&(&name, screen)) {
                seen.push((name.clone(), screen.to_owned()));
            } else {
                loose.push(format!("{name}: {screen}: {}", block.text.lines().next().unwrap_or_default()));
            }
        }
    }
    assert!(loose.is_empty(), "{}", loose.join("\n"));
    let of_howto = held.iter().filter(|(page, _)| page.starts_with("docs/howto"));
    let gone: Vec<_> =
        of_howto.filter(|(page, name)| !seen.iter().any(|(of, seen)| of == page && seen == name)).collect();
    assert!(gone.is_empty(), "no page shows {gone:?} any more");
}

const TUTORIALS: [&str; 2] = ["docs/tutorial.md", "docs/ja/tutorial.md"];

#[test]
fn ping_prints_what_the_tutorial_shows() {
    let seen = printed(&mut sonde(&["ping", "-c", "10", "-i", "0.01", "127.0.0.1"]));
    for page in TUTORIALS {
        // A host that is slow now and then has several requests out at once, which ping says in a word of its own.
        assert_eq!(page::form(&seen).replace(", pipe 0", ""), page::form(&screen(page, "ping")), "{page}");
    }
}

#[test]
fn netperf_prints_what_the_tutorial_shows() {
    let folder = tempfile::tempdir().unwrap();
    let mut reflector = Reflector::start(folder.path(), &["--listen", "127.0.0.1", "--netperf", "0"]);
    let address = reflector.netserver();
    let port = address.rsplit(':').next().unwrap();
    let keys = "P50_LATENCY,MEAN_LATENCY,P99_LATENCY,TRANSACTION_RATE";
    let words = ["netperf", "-H", "127.0.0.1", "-p", port, "-t", "TCP_RR", "-l", "1", "--", "-o", keys];
    let seen = printed(&mut sonde(&words));
    for page in TUTORIALS {
        assert_eq!(page::form(&seen), page::form(&screen(page, "netperf")), "{page}");
    }
}

#[test]
fn rtt_prints_the_table_that_the_tutorial_shows() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &["--listen", "127.0.0.1"]);
    let words = ["rtt", &reflector.address(), "--every", "5ms", "--window", "1", "-c", "200"];
    let seen = printed(sonde(&words).env("COLUMNS", "80"));
    for page in TUTORIALS {
        assert_headings(page, "rtt", &seen);
    }
}

/// Screens of the tutorial on Redis, of a Redis on loopback.
#[test]
fn redis_is_told_as_its_tutorial_shows() {
    const PAGES: [&str; 2] = ["docs/tutorial-redis.md", "docs/ja/tutorial-redis.md"];
    let shown = |name: &str, seen: &str| PAGES.iter().for_each(|page| assert_headings(page, name, seen));
    let Some(redis) = testbed::servers::Place::here().redis(&["--enable-debug-command", "yes"]) else { return };
    let url = format!("redis://127.0.0.1:{}", redis.port);
    let seen = |words: &[&str]| printed(sonde(words).env("COLUMNS", "80"));
    let often = ["-c", "400", "--every", "2ms", "--window", "1", "--force"];
    shown("near", &seen(&[&["rtt", &url][..], &often].concat()));
    shown("phases", &seen(&[&["rtt", &url, "--crr"][..], &often].concat()));
    let port = redis.port.to_string();
    let named = format!("{port}=redis");
    shown("look", &seen(&["127.0.0.1", "-t", "1", "--port", &named]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mix.toml");
    // The list as the page has it.
    let text = page::read(PAGES[0]);
    let list = &page::blocks(&text).into_iter().find(|block| block.mark == "toml").unwrap().text;
    fs::write(&path, list.replace("DEBUG SLEEP 0.05", "DEBUG SLEEP 0.001")).unwrap();
    let mix = path.to_str().unwrap();
    let words = ["load", &url, "--mix", mix, "--poisson", "1k/s", "--connections", "4", "-c", "2000", "--force"];
    let seen = seen(&words);
    shown("mix", &seen);
    assert!(plain(&seen).contains("redis mix of 2 requests (reply nil, OK)"), "{seen}");
}

#[test]
fn a_survey_prints_the_table_that_the_pages_show() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &["--listen", "127.0.0.1"]);
    let address = reflector.address();
    let port = format!("{}=sonde", address.rsplit(':').next().unwrap());
    let seen = printed(sonde(&["127.0.0.1", "-t", "1", "--port", &port]).env("COLUMNS", "80"));
    for page in ["README.md", "README.ja.md", "docs/tutorial.md", "docs/ja/tutorial.md"] {
        assert_headings(page, "look", &seen);
    }
}
