//! Going into the background. A separate program, for the test harness has threads, with which it is refused.

use std::io::{Read, Write};
use std::thread;

use endpoint::daemon::{self, Side, Streams};

fn main() {
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
    let parent = rustix::process::getpid();
    match daemon::detach(Streams::Null).expect("one thread") {
        Side::Background => writer.write_all(state().as_bytes()).expect("the parent reads"),
        Side::Foreground => {
            assert_eq!(rustix::process::getpid(), parent);
            drop(writer);
            let mut seen = String::new();
            reader.read_to_string(&mut seen).expect("what the child wrote");
            assert_eq!(seen, "leads its session: true, in /, streams: /dev/null /dev/null /dev/null");
            with_a_second_thread_it_is_refused();
        }
    }
}

fn with_a_second_thread_it_is_refused() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let waiting = thread::spawn(move || wait.recv());
    assert!(daemon::detach(Streams::Null).is_err());
    drop(go);
    assert!(waiting.join().expect("no panic").is_err());
}

fn state() -> String {
    let leads = rustix::process::getsid(None).is_ok_and(|session| session == rustix::process::getpid());
    let link = |path: String| std::fs::read_link(path).unwrap_or_default().display().to_string();
    let streams: Vec<String> = (0..3).map(|stream| link(format!("/proc/self/fd/{stream}"))).collect();
    format!("leads its session: {leads}, in {}, streams: {}", link("/proc/self/cwd".to_owned()), streams.join(" "))
}
