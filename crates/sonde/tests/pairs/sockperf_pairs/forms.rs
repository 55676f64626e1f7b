//! Output of the original, as a model of form: the fixtures, less the parts that differ from run to run.

use std::path::Path;

use testbed::form::differences;

/// The standard output of a run of 3.10.
pub fn model(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sockperf").join(format!("{name}.txt"));
    let text = std::fs::read_to_string(path).expect("a fixture");
    let (_, rest) = text.split_once("--- stdout\n").expect("a run");
    let (stdout, _) = rest.rsplit_once("--- exit status ").expect("a run");
    stdout.replace("<ESC>", "\x1b")
}

/// Form of 3.7 for the same line: of the averages the deviation alone.
fn of_three_seven(line: &str) -> String {
    line.split_once(", mean-ad=").map_or_else(|| line.to_owned(), |(begin, _)| format!("{begin})"))
}

/// The text without colours, without whom it was printed by, and without what comes or not as it happens: the end of the
/// original's receiving thread, the remark on a rate that this machine could not reach, and what a server of ours tells.
pub fn told(text: &str) -> String {
    let happens = [
        "== version #",
        "(interrupted by signal 2)",
        "sockperf: Info: The requested message-per-second rate",
        "sockperf: Receiver: ",
    ];
    let plain = anstream::adapter::strip_str(text).to_string();
    let lines = plain.lines().filter(|line| !happens.iter().any(|what| line.contains(what)));
    lines.flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// Differences of an output from the form of the model. The socket's line has another in IPv6.
pub fn compared(model: &str, seen: &str, is_original: bool, ipv6: bool) -> Vec<String> {
    let socket = |line: &&str| !(ipv6 && line.starts_with("[ "));
    let prepared = |text: &str| -> String {
        let text = told(text);
        let lines = text.lines().filter(socket);
        let formed = lines.map(|line| if is_original { of_three_seven(line) } else { line.to_owned() });
        formed.flat_map(|line| [line, "\n".to_owned()]).collect()
    };
    differences(&prepared(model), &prepared(seen)).iter().map(ToString::to_string).collect()
}

#[test]
fn a_model_has_its_own_form_and_no_other() {
    let model = model("02-pingpong-udp");
    assert_eq!(compared(&model, &model, false, false), [""; 0]);
    assert_eq!(compared(&model, &self::model("02-pingpong-udp-3.7"), true, false), [""; 0]);
    for (from, to) in [("dropped", "lost"), ("percentile 50.000", "percentile 50.00"), ("Summary: ", "Summary:")] {
        assert_ne!(compared(&model, &model.replace(from, to), false, false), [""; 0], "{from}");
    }
    assert_ne!(compared(&model, &self::model("10-pingpong-burst"), false, false), [""; 0]);
}
