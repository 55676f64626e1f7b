//! Frames, by either end: both count the same ones, and lines have the form of the original.

use test_case::test_case;

use crate::iperf_pairs::ends::{End, Server};
use crate::iperf_pairs::pairs::{each, ended_well, shape};

/// `N/M` behind `mark` and blanks, in the first line of the first stream that has it.
fn counts(text: &str, mark: &str) -> Option<(u64, u64)> {
    let line = text.lines().find(|line| line.starts_with("[  1] 0.0000-") && line.contains(mark))?;
    let (_, rest) = line.rsplit_once(mark)?;
    let mut numbers = rest.split_whitespace().next()?.split('/').map_while(|word| word.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[test]
fn a_server_counts_the_frames_that_a_client_sent() {
    each(|client, server| {
        let running = Server::start(server, "-u -e");
        let words = format!("-u -c 127.0.0.1 -p {} -t 0.5 --isochronous=40:4m,1m --trip-times", running.port);
        // In the form of the installed original frames are told in its layout too, which a server of its version reads.
        let ended = client.client_in_form(&words);
        ended_well(&ended, (client, server));
        let theirs = running.end();
        let told = format!("{client} against {server}: {} {}", ended.told(), theirs.told());
        let (sent, left_out) = counts(&ended.stdout, " pps ").unwrap_or_else(|| panic!("{told}"));
        let (came, lost) = counts(&theirs.stdout, " pps ").unwrap_or_else(|| panic!("{told}"));
        // The original counts the first frame twice, and after one left out some more as lost.
        let counted = |end: End, count: u64| count - u64::from(end == End::Real);
        // Nor does it count what follows on one left out.
        assert!(counted(client, sent) >= counted(server, came), "{told}");
        assert!(left_out > 0 || counted(client, sent) == counted(server, came), "{told}");
        assert_eq!(counted(client, sent) + left_out, 20, "{told}");
        assert!(lost == 0 || server == End::Real && left_out > 0, "{told}");
    });
}

/// The last line of the first stream is of all: its bytes at both ends.
#[test_case("--burst-period 0.05 --burst-size 200K", Some(204_800); "bursts")]
#[test_case("--isochronous=50:4m,1m -l 4K", None; "frames of several writes")]
fn frames_come_whole(words: &str, size: Option<u64>) {
    each(|client, server| {
        let running = Server::start(server, "-f B");
        let words = format!("-c 127.0.0.1 -p {} -t 0.3 -f B {words}", running.port);
        let ended = client.client(&words);
        ended_well(&ended, (client, server));
        let theirs = running.end();
        let bytes = |text: &str| {
            let line = text.lines().rfind(|line| line.starts_with("[  1] 0.0000-"))?;
            line.split_once(" sec ")?.1.split_whitespace().next()?.parse::<u64>().ok()
        };
        let told = format!("{client} against {server}: {} {}", ended.told(), theirs.told());
        let sent = bytes(&ended.stdout);
        // The header of the test is in front of them.
        assert!(sent.is_some_and(|sent| sent > 10_000 && size.is_none_or(|size| sent % size <= 112)), "{told}");
        assert_eq!(sent, bytes(&theirs.stdout), "{told}");
        let mark = if size.is_some() { " (burst-period=0.05" } else { " (isoch)" };
        assert!(theirs.stdout.contains(mark), "{told}");
    });
}

#[test_case(""; "a stream")]
#[test_case("-u"; "datagrams")]
fn lines_of_frames_have_one_form(over: &str) {
    if !End::Real.is_here() {
        return;
    }
    let lines = |end: End| -> Vec<String> {
        let running = Server::start(End::Ours, over);
        let words = format!("{over} -c 127.0.0.1 -p {} -t 0.4 -i 0.2 --isochronous=50:4m,1m", running.port);
        let ended = end.client_in_form(&words);
        running.end();
        let mut lines: Vec<String> = ended.stdout.lines().map(shape).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    };
    assert_eq!(lines(End::Ours), lines(End::Real));
}
