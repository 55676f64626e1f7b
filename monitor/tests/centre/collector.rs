//! Metrics that are sent to a collector of OpenTelemetry: one that is played, which decodes what comes, and a real one.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use prost::Message;
use rustix::process::Signal;
use testbed::port;
use testbed::process::started;
use testbed::wait;

use super::proto::{Answer, Metric, Partial, Point, Request};
use super::{LIMIT, Stage, answer, earlier};

/// Collector that is played: the requests that came to it, and its answer.
#[derive(Default)]
struct Played {
    answer: Vec<u8>,
    heads: Vec<String>,
    taken: Vec<Vec<Metric>>,
    refused: usize,
}

/// A post: its head and its body.
fn posted(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let (mut head, mut octet) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut octet).ok()?;
        head.push(octet[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap()];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn play(listener: TcpListener, played: Arc<Mutex<Played>>) {
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some((head, body)) = posted(&mut stream) else { continue };
            let mut played = played.lock().unwrap();
            let read = Request::decode(body.as_slice()).unwrap();
            let metrics = read.resource_metrics[0].scope_metrics[0].metrics.clone();
            if played.answer.starts_with(b"HTTP/1.1 200") {
                played.taken.push(metrics);
            } else {
                played.refused += 1;
            }
            played.heads.push(head);
            let answer = played.answer.clone();
            drop(played);
            // The client may have gone.
            let _gone = stream.write_all(&answer);
        }
    });
}

fn said(status: &str, body: &[u8]) -> Vec<u8> {
    let mut answer =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend(body);
    answer
}

/// The histogram of what `a` asked.
fn times(metrics: &[Metric]) -> Option<Point> {
    let metric = metrics.iter().find(|metric| metric.name == "sonde.host.round_trip")?;
    metric.exponential_histogram.as_ref()?.data_points.first().cloned()
}

fn stage(port: u16) -> Stage {
    Stage::new(&format!("[otlp]\nendpoint = \"http://127.0.0.1:{port}\"\nevery = \"1s\"\n"))
}

#[test]
fn a_collector_has_every_answer_once_however_often_it_failed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stage = stage(listener.local_addr().unwrap().port());
    let from = earlier(3);
    let beats: Vec<_> = (0..10).map(|at| (from + at, answer(100_000 + at))).collect();
    stage.tells(&beats);
    let played = Arc::new(Mutex::new(Played { answer: said("503 Service Unavailable", b""), ..Played::default() }));
    play(listener, Arc::clone(&played));
    let mut command = stage.command();
    let monitor = started(command.env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"));
    monitor.until("its loss is said", |told| told.contains("OpenTelemetry: metrics are not taken: it answered 503"));
    wait::until("the page has it", || {
        stage.tried("GET /api/v1/now HTTP/1.0\r\n\r\n").is_ok_and(|(_, body)| body.contains("it answered 503"))
    });
    assert!(stage.get("/metrics", "").1.contains("sonde_monitor_collector_up 0"));
    wait::until("it is tried again", || played.lock().unwrap().refused >= 2);
    played.lock().unwrap().answer = said("200 OK", b"");
    monitor.until("that it is over is said", |told| told.contains("OpenTelemetry: metrics are taken again"));
    let last = || played.lock().unwrap().taken.last().and_then(|metrics| times(metrics));
    wait::until("it has all", || last().is_some_and(|point| point.count == 10));
    let point = last().unwrap();
    let positive = point.positive.unwrap();
    assert_eq!((point.scale, positive.bucket_counts.iter().sum::<u64>()), (3, 10));
    let base = 2_f64.powf(0.125);
    assert!(base.powi(positive.offset) < 100e-6 && 100e-6 <= base.powi(positive.offset + 1), "{}", positive.offset);
    {
        let played = played.lock().unwrap();
        let head = played.heads.last().unwrap().to_ascii_lowercase();
        assert!(head.starts_with("post /v1/metrics http/1.1\r\n"), "{head}");
        assert!(head.contains("content-type: application/x-protobuf\r\n") && head.contains("x-key: a b\r\n"), "{head}");
    }
    let partial = Partial { rejected_data_points: 2, error_message: "too many".to_owned() };
    played.lock().unwrap().answer = said("200 OK", &Answer { partial_success: Some(partial) }.encode_to_vec());
    monitor.until("what is refused is said", |told| told.contains("2 data points were refused: too many"));
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
}

#[test]
fn a_real_collector_takes_what_is_sent() {
    let names = ["otelcol", "otelcol-contrib", "otelcorecol"];
    let Some(name) = names.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok()) else {
        testbed::skip::aloud("metrics into a real OpenTelemetry collector: none is installed (otelcol)");
        return;
    };
    let port = port::free();
    let stage = stage(port);
    let config = format!(
        "receivers:\n  otlp:\n    protocols:\n      http:\n        endpoint: 127.0.0.1:{port}\nexporters:\n  debug:\n    verbosity: detailed\nservice:\n  telemetry:\n    metrics:\n      level: none\n  pipelines:\n    metrics:\n      receivers: [otlp]\n      exporters: [debug]\n"
    );
    fs::write(stage.at("collector.yaml"), config).unwrap();
    let collector = started(Command::new(name).arg("--config").arg(stage.at("collector.yaml")));
    wait::until("the collector listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let from = earlier(3);
    stage.tells(&(0..10).map(|at| (from + at, answer(100_000))).collect::<Vec<_>>());
    let monitor = stage.start();
    let told = || collector.stderr() + &collector.stdout();
    wait::until("it has the histogram", || {
        told()
            .split("Metric #")
            .any(|metric| metric.contains("Name: sonde.host.round_trip") && metric.contains("Count: 10"))
    });
    let told = told();
    let metric = told.split("Metric #").filter(|metric| metric.contains("Name: sonde.host.round_trip")).last().unwrap();
    for part in ["DataType: ExponentialHistogram", "AggregationTemporality: Cumulative", "Unit: s", "sonde.record"] {
        assert!(metric.contains(part), "{part}: {metric}");
    }
    // Its own words for the bucket: (LOW, HIGH], Count: 10.
    let bucket = metric.lines().find(|line| line.starts_with("Bucket") && line.ends_with("Count: 10")).unwrap();
    let bounds: Vec<f64> = bucket[bucket.find('(').unwrap() + 1..bucket.find(']').unwrap()]
        .split(", ")
        .map(|bound| bound.parse().unwrap())
        .collect();
    assert!(bounds[0] < 100e-6 && 100e-6 <= bounds[1], "{bucket}");
    assert!(!monitor.stdout().contains("metrics are not taken"), "{}", monitor.told());
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
}
