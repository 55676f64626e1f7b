//! A stream that fills a CPU.

use crate::referee::kinds;
use crate::scene::{Scene, document, sonde_in};

#[test]
fn one_stream_that_fills_a_cpu_is_told_and_two_are_not() {
    let what = "one stream on several CPUs";
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let Some(scene) = Scene::undisturbed(what) else { return };
    let _reflector = scene.reflector(&[]);
    let stream = |streams: &str| {
        // A call for each 64 bytes: no sender can be faster than its CPU.
        let words = [&*scene.target(false), "-t", "1.5", "--interval", "200ms", "--size", "64", "--streams", streams];
        let mut command = sonde_in(scene.near());
        let record =
            document(&command.args(["throughput", "--json", "-q", "--no-test"]).args(words).output().expect("started"));
        (kinds(&record).contains(&"one-stream-one-cpu"), record["stream"]["detail"].clone())
    };
    assert!(!stream("2").0);
    let (told, detail) = stream("1");
    let end = match detail["limit"]["limiter"].as_str().expect("a limiter") {
        "sender-cpu" => &detail["sender"],
        "receiver-cpu" => &detail["receiver"],
        // Something else was slower in this run, and then no CPU is accused.
        _ => return assert!(!told, "{detail}"),
    };
    // Where other programs had the CPU too, soft interrupts took it, or a control group gave less of it, how much the stream filled is not
    // known.
    let shares = ["busiest_thread_share", "waiting_thread_share", "throttled_share"].map(|name| end[name].as_f64());
    let [Some(busy), Some(waiting), throttled] = shares else {
        return testbed::skip::aloud(&format!("{what}: the kernel does not tell how its threads ran"));
    };
    if busy < 0.95 || waiting > 0.05 || throttled > Some(0.0) {
        return testbed::skip::aloud(&format!(
            "{what}: the busiest thread had a CPU for {busy:.2} of the time and waited for it for {waiting:.2}"
        ));
    }
    assert_eq!(told, cpus > 1, "{detail}");
}
