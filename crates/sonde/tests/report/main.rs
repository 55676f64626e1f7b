//! Pages as a browser shows them: looked at, clicked, read by keys, without a script, in the dark, on paper.
//!
//! Chromium is driven by its own protocol through a pipe, so that no port is opened and nothing is waited for by time. The
//! records are measured here, over loopback.

mod browser;
mod cells;
mod clicks;
mod looks;
mod many;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// Records and their samples, measured once, in a folder of the build that the next run clears.
struct Runs {
    folder: PathBuf,
}

impl Runs {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn record(&self, name: &str) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.path(name)).unwrap()).unwrap()
    }

    /// The page of these records, by its file.
    fn page(&self, name: &str, words: &[&str]) -> PathBuf {
        let file = self.path(name);
        let file_name = file.display().to_string();
        sonde(&self.folder, &[&["report", "-q", "-o", &file_name], words].concat());
        file
    }
}

/// Two round trips' worth of records, an open loop among them, and a search.
fn runs() -> &'static Runs {
    static RUNS: OnceLock<Runs> = OnceLock::new();
    RUNS.get_or_init(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages");
        // There is none at the first run.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let at = folder.as_path();
        let tcp = ["rtt", "-q", "-t", "2.2", "--warm-up", "0", "-o", "tcp.json", "--samples", "tcp.csv"];
        sonde(at, &tcp);
        sonde(at, &["rtt", "-q", "-t", "2.2", "--udp", "--every", "1ms", "--warm-up", "0", "-o", "udp.json"]);
        sonde(at, &["throughput", "-q", "-t", "2.2", "--no-test", "-o", "stream.json"]);
        let sides = ["compare", "-q", "rtt -c 200", "rtt --udp -c 200", "--no-moves", "-o", "study.json"];
        sonde(at, &sides);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        sonde(at, &["look", "-q", &listener.local_addr().unwrap().to_string(), "-t", "2", "-o", "look.json"]);
        let causes = ["why", "-q", "--udp", "--intervals", "0", "--blocks", "2", "-t", "60ms", "--every", "2ms"];
        sonde(at, &[&causes[..], &["-o", "why.json"]].concat());
        both_directions(at);
        Runs { folder }
    })
}

/// A record of exchanges with a session-reflector of STAMP, on a port that the system chose.
fn both_directions(folder: &Path) {
    let mut serve = Command::new(env!("CARGO_BIN_EXE_sonde"));
    serve.args(["serve", "--listen", "127.0.0.1", "--port", "0", "--stamp", "--stamp-port", "0"]);
    let mut serve = serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(serve.stderr.take().unwrap()).lines();
    let line = lines.map_while(Result::ok).find(|line| line.contains("session-reflector of STAMP on ")).unwrap();
    let port = line.rsplit(':').next().unwrap();
    sonde(folder, &["rtt", "127.0.0.1", "--port", port, "--peer", "stamp", "-q", "-c", "500", "-o", "stamp.json"]);
    serve.kill().unwrap();
    serve.wait().unwrap();
}

fn sonde(folder: &Path, words: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sonde"));
    let ended = command.current_dir(folder).args(words).output().unwrap();
    assert!(ended.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
}
