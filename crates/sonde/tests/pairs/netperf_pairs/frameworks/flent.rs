//! Flent: demo mode with `-k`, many interim results a second, and keys behind them.

use test_case::test_case;

use crate::netperf_pairs::fields::{Fields, Interim, interims};
use crate::netperf_pairs::transcripts::fixture;

use super::{at_all_ends, words};

/// Its nineteen selectors.
const SELECTORS: &str = "THROUGHPUT,LOCAL_CONG_CONTROL,REMOTE_CONG_CONTROL,TRANSPORT_MSS,LOCAL_TRANSPORT_RETRANS,\
    REMOTE_TRANSPORT_RETRANS,LOCAL_SOCKET_TOS,REMOTE_SOCKET_TOS,DIRECTION,ELAPSED_TIME,PROTOCOL,LOCAL_SEND_SIZE,\
    LOCAL_RECV_SIZE,REMOTE_SEND_SIZE,REMOTE_RECV_SIZE,LOCAL_BYTES_SENT,LOCAL_BYTES_RECVD,REMOTE_BYTES_SENT,\
    REMOTE_BYTES_RECVD";

/// The points of its series: intervals more than ten times off the mean so far are dropped.
fn series(interims: &[Interim]) -> Vec<(f64, f64)> {
    let mut mean: Option<f64> = None;
    let mut points = Vec::new();
    for interim in interims {
        let usual = mean.get_or_insert(interim.seconds);
        if (*usual / 10.0..=*usual * 10.0).contains(&interim.seconds) {
            *usual = 0.9 * *usual + 0.1 * interim.seconds;
            points.push((interim.ending, interim.rate));
        }
    }
    points
}

/// Values that it takes from an output, as it does; fails where it would find nothing.
fn read(stdout: &str) -> Result<(Vec<(f64, f64)>, Fields), String> {
    if stdout.contains("Demo Mode not configured") {
        return Err("no demo mode".into());
    }
    let fields = Fields::of(stdout);
    for name in SELECTORS.split(',') {
        fields.text(name)?;
    }
    fields.number("THROUGHPUT")?;
    fields.number("ELAPSED_TIME")?;
    let points = series(&interims(stdout)?);
    if points.windows(2).any(|pair| pair[1].0 <= pair[0].0) {
        return Err(format!("points that do not follow each other: {points:?}"));
    }
    Ok((points, fields))
}

#[test]
fn the_reader_reads_the_original() {
    let model = fixture("A4_flent_style").stdout;
    let (points, fields) = read(&model).unwrap();
    assert_eq!((points.len(), points[1]), (5, (1_795_224_703.672, 139_590.0)));
    assert_eq!(fields.text("DIRECTION"), Ok("Send|Recv"));
    assert!(read(&model.replace("ELAPSED_TIME", "ELAPSED")).is_err());
    assert!(read(&model.replace("NETPERF_INTERVAL[1]", "NETPERF_INTERVAL")).is_err());
}

#[test_case("-Y 0x0,0x0", "TCP_STREAM", "-f m", "", "0x00"; "upload")]
#[test_case("-Y 0xb8,0xb8", "TCP_MAERTS", "-f m", "", "0xb8"; "download")]
#[test_case("-Y CS0,CS0", "UDP_RR", "", "-e 2", "0x00"; "round trips")]
#[test_case("-Y 0x20,0x20", "TCP_RR", "", "", "0x20"; "round trips over TCP")]
fn its_series_are_read(tos: &str, test: &str, unit: &str, own: &str, seen: &str) {
    let line = |port| {
        let global =
            format!("-P 0 -v 0 -D -0.20 -4 {tos} -H 127.0.0.1 -p {port} -t {test} -l 2 -F /dev/urandom {unit}");
        words(&format!("{global} -- {own} -H 127.0.0.1 -k {SELECTORS}"), port)
    };
    at_all_ends("a command line of flent", line, |ended| {
        let (points, fields) = read(&ended.stdout)?;
        // Two seconds by fifths; a machine under load may lump some together.
        if !(2..=12).contains(&points.len()) {
            return Err(format!("{} points", points.len()));
        }
        if points.iter().filter(|point| point.1 > 0.0).count() < 2 || fields.number("THROUGHPUT")? <= 0.0 {
            return Err(format!("nothing was moved: {points:?}"));
        }
        let tos = [fields.text("LOCAL_SOCKET_TOS")?, fields.text("REMOTE_SOCKET_TOS")?];
        if tos == [seen; 2] { Ok(()) } else { Err(format!("type of service {tos:?}")) }
    });
}
