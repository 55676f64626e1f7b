//! Every command line of the transcripts, on ours, with the form of what the original printed.
//!
//! The commands are those of the transcripts, but for the server's port and a `-l` that changes nothing but time. Where
//! ours differs on purpose, the plan says so, and what is expected instead; `docs/netperf.md` tells why.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use test_case::test_case;
use testbed::console::Console;
use testbed::port;
use testbed::process::{self, Ended, LIMIT};

use crate::netperf_pairs::ends::{End, Server};
use crate::netperf_pairs::forms::{self, Layout, compared};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/netperf"))
}

/// The transcript of this name.
pub fn fixture(name: &str) -> Console {
    let path = folder().join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Console::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Way in which a command is run, and the expected output.
#[derive(Clone, Copy, Debug)]
enum Plan {
    /// As it stands, with the form that stands there.
    Same,
    /// The model is of a build that lacks features of ours: its banner, and what it says of them, are left out.
    OtherBuild,
    /// The model is as the distribution's package has it: 2.7.0, with demo mode alone.
    Package,
    /// Interrupted after a second; the status is the program's own, and not that of whoever interrupted it.
    Interrupted,
    /// Ours succeeds where the original fails.
    Succeeds,
    /// Ours says on standard error what the original passes over, and prints the same.
    Noted,
}

use Plan::{Interrupted, Noted, OtherBuild, Package, Same, Succeeds};

/// Words of the command as it is run: `-l` is added where the original's ten seconds would pass, and shortened.
fn shortened(console: &Console) -> Vec<String> {
    let mut words: Vec<String> = console.arguments().to_vec();
    let own = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let asked = words[..own].iter().position(|word| word == "-l");
    match asked.and_then(|at| words.get(at + 1)).and_then(|length| length.parse::<i64>().ok()) {
        Some(2 | 4..) => words[asked.unwrap_or_default() + 1] = "1".into(),
        None if asked.is_none() && words.first().is_none_or(|word| word != "-V" && word != "-h") => {
            words.splice(own..own, ["-l".into(), "1".into()]);
        }
        _ => {}
    }
    // The server is one of this test, and ports are of its own.
    if let Some(at) = words.iter().position(|word| word == "12865") {
        words.drain(at - 1..=at);
    }
    for word in &mut words {
        match word.as_str() {
            ",20001" => *word = format!(",{}", port::free()),
            "24001,24002" => *word = format!("{},{}", port::free(), port::free()),
            "4444" => *word = port::free().to_string(),
            _ => {}
        }
    }
    words
}

fn layout(words: &[String]) -> Layout {
    let own = words.iter().position(|word| word == "--").map_or(&[][..], |at| &words[at + 1..]);
    // The last of them decides; an omni test prints columns unless told otherwise.
    let chosen = own.iter().rev().find_map(|word| match word.as_str() {
        "-O" => Some(Layout::Columns),
        "-o" | "-k" => Some(Layout::Lines),
        _ => None,
    });
    let omni = words.iter().any(|word| word == "omni");
    let silent = words.windows(2).any(|pair| pair == ["-P", "0"]);
    if silent { Layout::Lines } else { chosen.unwrap_or(if omni { Layout::Columns } else { Layout::Lines }) }
}

/// The features that a build adds to the banner, and what one that lacks them says when they are asked for.
const FEATURES: [&str; 4] = [" : histogram", " : spin interval", " : interval", " : demo"];
const LACKING: [&str; 5] =
    ["Packet rate control", "Packet burst size", "Sorry, Demo Mode", "Please consider", "--enable-demo"];

/// An output of a build with these features, without what they add to it.
pub fn without_features(text: &str) -> String {
    let text = forms::without_histogram(text);
    let lines = text.split_inclusive('\n').filter(|line| !LACKING.iter().any(|said| line.starts_with(said)));
    let banner = |line: &str| {
        let features: &[&str] = if line.contains(" TEST from ") { &FEATURES } else { &[] };
        features.iter().fold(line.to_owned(), |line, feature| line.replace(feature, ""))
    };
    lines.map(banner).collect()
}

fn run(client: End, server: &Server, words: &[String], plan: Plan) -> Ended {
    let folder = tempfile::tempdir().expect("a folder");
    // One transcript reads its selectors from this file.
    std::fs::write(folder.path().join("selection.txt"), "MIN_LATENCY,MEAN_LATENCY,MAX_LATENCY\nTHROUGHPUT\n").unwrap();
    let mut command = client.program("netperf").expect("asked for what is here");
    command.current_dir(folder.path());
    if !words.iter().any(|word| word == "-p") {
        command.args(["-p", &server.port.to_string()]);
    }
    command.args(words);
    let running = process::started(&mut command);
    if matches!(plan, Interrupted) {
        // The interrupt is the stimulus; when it comes within the ten seconds does not matter.
        let (_keep, never) = std::sync::mpsc::channel::<()>();
        let _ = never.recv_timeout(Duration::from_secs(1));
        running.signal(Signal::INT);
    }
    running.end(LIMIT)
}

fn judged(console: &Console, ended: &Ended, plan: Plan, layout: Layout, client: End) -> Vec<String> {
    let mut wrong = Vec::new();
    let ours = client == End::Ours;
    let status = match plan {
        Interrupted | Succeeds => 0,
        _ => console.status,
    };
    if ended.overdue || ended.code != Some(status) {
        wrong.push(format!("ended otherwise than with {status}"));
    }
    match plan {
        Succeeds => {}
        OtherBuild | Package => {
            let model = if ours { corrected(&console.stdout) } else { console.stdout.clone() };
            let [model, mut seen] = [&model, &ended.stdout].map(|text| without_features(text));
            if !forms::has_interims(&model) {
                seen = forms::without_interims(&seen);
            }
            // A histogram has empty lines before it, which go with it.
            let [model, seen] = [&model, &seen].map(|text| format!("{}\n", text.trim_end_matches('\n')));
            wrong.extend(compared(&model, &seen, layout));
        }
        _ if ours => wrong.extend(compared(&corrected(&console.stdout), &ended.stdout, layout)),
        _ => wrong.extend(compared(&console.stdout, &ended.stdout, layout)),
    }
    if matches!(plan, Succeeds) {
        return wrong;
    }
    let stderr = console.stderr.clone();
    let noted = matches!(plan, Noted) && ours;
    let said = if noted { without_notes(&ended.stderr, &stderr) } else { Ok(ended.stderr.clone()) };
    match said {
        Ok(said) => {
            wrong.extend(compared(&stderr, &said, Layout::Lines).iter().map(|what| format!("standard error, {what}")));
        }
        Err(what) => wrong.push(what),
    }
    wrong
}

/// Form of the original where its value is a mistake: a width of 99 % because none was said, a stream over UDP.
fn corrected(model: &str) -> String {
    let model = model.replace("+/-49.500%", "+/-2.500%");
    model.replace("SOCKET_TYPE=Stream\nPROTOCOL=UDP\n", "SOCKET_TYPE=Datagram\nPROTOCOL=UDP\n")
}

/// Words beside notes, of which there must be one: sentences behind the program's name that the model has not.
fn without_notes(said: &str, model: &str) -> Result<String, String> {
    let is_note = |line: &&str| {
        let begins = line.starts_with("netperf: ") || line.starts_with("hint:  ");
        begins && !model.contains(*line)
    };
    if !said.split_inclusive('\n').any(|line| is_note(&line)) {
        return Err("nothing was noted on standard error".to_owned());
    }
    Ok(said.split_inclusive('\n').filter(|line| !is_note(line)).collect())
}

/// Returns true where every command line is to be run, which takes ten minutes: each is in the tests of the output too,
/// where the text alone is made and compared.
fn is_asked_for() -> bool {
    let asked = std::env::var_os("SONDE_TRANSCRIPTS").is_some();
    if !asked {
        testbed::skip::aloud("netperf's transcripts as whole runs: `make transcripts` runs each command line of them");
    }
    asked
}

/// The pairs of ends a transcript is run by; the original against itself shows that it is judged rightly.
const ENDS: [(End, End); 3] = [(End::Ours, End::Ours), (End::Ours, End::Real), (End::Built("spin"), End::Real)];

#[test_case("01_default", Same)]
#[test_case("02_tcp_rr", Same)]
#[test_case("03_udp_rr", Same)]
#[test_case("04_tcp_stream", Same)]
#[test_case("05_tcp_maerts", Same)]
#[test_case("06_udp_stream", Same)]
#[test_case("07_tcp_crr", Same)]
#[test_case("08_tcp_cc", Same)]
#[test_case("09_tcp_sendfile", Same)]
#[test_case("10_tcp_rr_v0", Same)]
#[test_case("11_tcp_rr_P0_brand", Same)]
#[test_case("12_tcp_rr_v2", Same)]
#[test_case("13_tcp_stream_v2", Same)]
#[test_case("14_tcp_maerts_v2", Same)]
#[test_case("15_udp_rr_v2", Same)]
#[test_case("16_udp_stream_v2", Same)]
#[test_case("17_tcp_crr_v2", Same)]
#[test_case("18_tcp_rr_cpu", Same)]
#[test_case("19_tcp_stream_cpu", Same)]
#[test_case("20_udp_stream_cpu", Same)]
#[test_case("21_tcp_stream_P0_v0_cpu", Same)]
#[test_case("22_tcp_rr_burst", Same)]
#[test_case("23_tcp_rr_burst_v2", Same)]
#[test_case("24_tcp_rr_confidence", Same)]
#[test_case("25_tcp_rr_confidence_missed", Same)]
#[test_case("26_confidence_keyval", Same)]
#[test_case("27_demo_rr", Same)]
#[test_case("28_demo_stream", Same)]
#[test_case("29_demo_stream_neg_keyval", Same)]
#[test_case("30_demo_csv", Same)]
#[test_case("31_demo_maerts", Same)]
#[test_case("32_demo_udp_stream", Same)]
#[test_case("33_csv_default", Same)]
#[test_case("34_human_default", Same)]
#[test_case("35_keyval_default", Same)]
#[test_case("36_csv_default_cpu", Same)]
#[test_case("37_human_blocks", Same)]
#[test_case("38_human_all", Same)]
#[test_case("39_csv_all", Same)]
#[test_case("40_keyval_all_tcp_stream_brand_cpu", Same)]
#[test_case("41_csv_P0", Same)]
#[test_case("42_human_P0", Same)]
#[test_case("43_keyval_P0_v0", Same)]
#[test_case("46_single_unknown_selector", Noted)]
#[test_case("48_format_g", Same)]
#[test_case("49_format_M", Same)]
#[test_case("50_format_B", Same)]
#[test_case("51_format_rr_m", Same)]
#[test_case("52_format_rr_u", Same)]
#[test_case("53_format_bad", Noted)]
#[test_case("54_omni_default", Same)]
#[test_case("55_omni_recv", Same)]
#[test_case("56_omni_udp_send", Same)]
#[test_case("57_omni_cc", Same)]
#[test_case("58_omni_crr_keyval", Same)]
#[test_case("59_omni_udp_recv", Same)]
#[test_case("60_err_no_server", Noted)]
#[test_case("61_err_unknown_test", Noted)]
#[test_case("64_err_unknown_test_option", Same)]
#[test_case("68_uuid", Same)]
#[test_case("69_rem_cpu_v2", Same)]
#[test_case("70_loc_cpu_v2", Same)]
#[test_case("71_plain_w_b", OtherBuild)]
#[test_case("72_plain_D", OtherBuild)]
#[test_case("73_plain_v2", OtherBuild)]
#[test_case("74_plain_latency_selectors", OtherBuild)]
#[test_case("75_intervals_w_b", OtherBuild)]
#[test_case("76_intervals_w_1ms", OtherBuild)]
#[test_case("77_spin_w_100us", Same)]
#[test_case("78_spin_w_only", Noted)]
#[test_case("79_spin_b_only", Same)]
#[test_case("80_spin_stream_paced", Same)]
#[test_case("81_spin_fraction", Noted)]
#[test_case("82_spin_10ms_rt_latency", Same)]
#[test_case("83_intervals_early_end", OtherBuild)]
#[test_case("84_tcp_rr_v3", Same)]
#[test_case("85_selection_file", Same)]
#[test_case("86_selection_file_j", Same)]
#[test_case("87_neg_l_bytes", Same)]
#[test_case("88_neg_l_trans", Same)]
#[test_case("89_neg_l_trans_burst", Succeeds)]
#[test_case("90_neg_l_udp_stream", Same)]
#[test_case("91_ipv6", Same)]
#[test_case("92_host_family", Same)]
#[test_case("93_tos_prio", Same)]
#[test_case("94_cong", Same)]
#[test_case("95_cpu_bind", Same)]
#[test_case("96_j_csv", Same)]
#[test_case("97_percentile_of_zero_us", Same)]
#[test_case("98_percentile_few_samples", Same)]
#[test_case("99_percentile_ten_samples", Same)]
#[test_case("A0_wait_s5", Succeeds)]
#[test_case("A1_l_suffix_s", Same)]
#[test_case("A2_r_colon", Noted)]
#[test_case("A3_grpc_style", Same)]
#[test_case("A4_flent_style", Same)]
#[test_case("A5_pkb_style", Same)]
#[test_case("A6_cilium_style", Same)]
#[test_case("A7_k8s_netperf_style", Same)]
#[test_case("A8_sigint_timed", Interrupted)]
#[test_case("A9_l0_sigint", Interrupted)]
#[test_case("B0_tcp_cc_k", Noted)]
#[test_case("B1_tcp_mss", Same)]
#[test_case("B2_order_b_then_w", Noted)]
#[test_case("B3_brand_keyval", Same)]
#[test_case("B4_h_after", Noted)]
#[test_case("B5_lower_test_name", Same)]
#[test_case("B6_repeat_o_k", Same)]
#[test_case("B7_spaces_in_list", Same)]
#[test_case("B8_udp_rr_e_lossless", Same)]
#[test_case("C0_format_b", Same)]
#[test_case("C1_I_single_value", Noted)]
#[test_case("C3_omni_send_small", Same)]
#[test_case("C4_omni_maerts_or", Same)]
#[test_case("seed000_1", Same)]
#[test_case("seed000_2", Same)]
#[test_case("seed000_3", Same)]
#[test_case("seed000_4", Same)]
#[test_case("seed001_1", Same)]
#[test_case("seed001_2", Same)]
#[test_case("seed001_3", Same)]
#[test_case("seed002_1", Same)]
#[test_case("d01_tcp_rr_v0_cpu", Package)]
#[test_case("d02_udp_rr_cpu", Package)]
#[test_case("d03_udp_rr_v0_cpu", Package)]
#[test_case("d04_tcp_crr_cpu", Package)]
#[test_case("d05_tcp_crr_v0_cpu", Package)]
#[test_case("d06_tcp_crr_v0", Package)]
#[test_case("d07_tcp_crr_P0_brand", Package)]
#[test_case("d08_udp_stream_v0", Package)]
#[test_case("d09_udp_stream_v0_cpu", Package)]
#[test_case("d10_udp_stream_remote_cpu", Package)]
#[test_case("d11_tcp_stream_local_cpu", Package)]
#[test_case("d12_tcp_stream_remote_cpu_brand", Package)]
#[test_case("d13_tcp_maerts_cpu", Package)]
#[test_case("d14_tcp_stream_v0_remote_cpu", Package)]
#[test_case("d15_tcp_stream_v3", Package)]
#[test_case("d16_tcp_rr_v2_m", Package)]
#[test_case("d17_tcp_rr_cpu_m", Package)]
#[test_case("d18_udp_rr_m", Package)]
#[test_case("d19_udp_rr_cpu_K", Package)]
#[test_case("d20_tcp_crr_m_cpu", Package)]
#[test_case("d21_udp_stream_v3", Package)]
#[test_case("d22_udp_stream_K_cpu", Package)]
#[test_case("d23_tcp_cc_v2", Package)]
#[test_case("d24_tcp_cc_cpu", Package)]
#[test_case("d26_tcp_mss_P0", Package)]
#[test_case("d27_tcp_stream_small_v2", Package)]
#[test_case("d28_tcp_maerts_places_v2", Package)]
#[test_case("d29_tcp_stream_K_cpu", Package)]
#[test_case("d30_tcp_rr_v0_u_brand_cpu", Package)]
#[test_case("d31_confidence_v0", Package)]
#[test_case("d32_confidence_result_only", Package)]
#[test_case("d34_human_no_brand", Package)]
#[test_case("d35_csv_no_brand", Package)]
#[test_case("d36_demo_human", Package)]
#[test_case("d39_omni_sized", Package)]
#[test_case("d40_omni_second_size", Package)]
#[test_case("d41_rem_cpu_v1", Package)]
#[test_case("d42_bad_level", Package)]
#[test_case("d43_tcp_rr_v2_K", Package)]
#[test_case("d44_units_of_directions", Package)]
fn in_form(name: &str, plan: Plan) {
    if !is_asked_for() {
        return;
    }
    let console = fixture(name);
    let of = |client: End, with: End| {
        let client = if matches!((client, plan), (End::Built(_), Package)) { End::Real } else { client };
        let what = format!("the transcript {name}, {client} against {with}");
        let impossible = matches!(plan, Succeeds) && (client, with) != (End::Ours, End::Ours);
        if impossible || !client.is_here(&what) || !with.is_here(&what) {
            return None;
        }
        let server = Server::start(with, &[]);
        let words = shortened(&console);
        let ended = run(client, &server, &words, plan);
        let wrong = judged(&console, &ended, plan, layout(&words), client);
        let told = || format!("{client} against {with}: {}\n{}", wrong.join("\n"), ended.told());
        (!wrong.is_empty()).then(told)
    };
    let complaints: Vec<String> = thread::scope(|scope| {
        let running = ENDS.map(|(client, with)| scope.spawn(move || of(client, with)));
        running.into_iter().filter_map(|thread| thread.join().expect("a thread of this test")).collect()
    });
    assert!(complaints.is_empty(), "{name}, `{}`:\n{}", console.command.join(" "), complaints.join("\n\n"));
}
