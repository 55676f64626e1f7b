//! An `sshd` in each host of a lab: with keys, a home and settings of its own, and no trace on the machine.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use logbook::failure::Failure;
use logbook::host;

use crate::network::layout::{Layout, Seat};
use crate::network::make::{Maker, program_in};
use crate::network::ours;

/// Folders where distributions have the daemon.
const FOLDERS: [&str; 5] = ["/usr/sbin", "/usr/local/sbin", "/sbin", "/usr/bin", "/usr/lib/ssh"];
/// The daemon wants a folder below /run: it gets a /run of its own, which the machine does not see.
const SCRIPT: &str = r#"mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/sshd && exec "$0" -D -e -f "$1""#;

/// The daemon's program.
pub(super) fn program(id: &str) -> Result<PathBuf, Failure> {
    program_in(&FOLDERS, "sshd").ok_or_else(|| {
        ours(
            id,
            "no sshd is installed",
            "install openssh-server: `apt-get install --no-install-recommends openssh-server`",
        )
    })
}

/// Transport to a host: from the lab's switch, with the lab's keys, and nothing else of the user's.
pub(super) fn reach(layout: &Layout, seat: &Seat, files: &Path) -> host::Ssh {
    let known = format!("UserKnownHostsFile={}", files.join("known_hosts").display());
    let options = [&*known, "GlobalKnownHostsFile=/dev/null", "StrictHostKeyChecking=yes", "ProxyJump=none"];
    host::Ssh {
        to: format!("root@{}", seat.v4()),
        port: None,
        key_file: Some(files.join("key").display().to_string()),
        options: options.map(str::to_owned).to_vec(),
        through: ["ip", "netns", "exec", &layout.switch()].map(str::to_owned).to_vec(),
    }
}

/// Makes the keys and starts one in each host.
pub(super) fn start(maker: &mut Maker<'_>, daemon: &Path) -> Result<(), Failure> {
    let files = maker.held.files();
    let id = maker.layout.id.clone();
    let path = files.display().to_string();
    if !path.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'#%,".contains(&byte)) {
        let hint = "let XDG_STATE_HOME name a folder of plain letters";
        return Err(ours(&id, format!("{path}: sshd's settings cannot name such a path"), hint));
    }
    let cannot = |error: io::Error| {
        ours(
            &id,
            format!("{path}: cannot write there: {error}"),
            "make room there, or let XDG_STATE_HOME name another folder",
        )
    };
    key(maker, &files.join("key"))?;
    fs::copy(files.join("key.pub"), files.join("authorized_keys")).map_err(cannot)?;
    let mut known = String::new();
    let mut started = Vec::new();
    for seat in &maker.layout.seats.clone() {
        let own = files.join(&seat.name);
        DirBuilder::new().mode(0o700).recursive(true).create(own.join("home")).map_err(cannot)?;
        key(maker, &own.join("host_key"))?;
        let public = fs::read_to_string(own.join("host_key.pub")).map_err(cannot)?;
        let public: Vec<&str> = public.split_whitespace().take(2).collect();
        let _ = writeln!(known, "{},{} {}", seat.v4(), seat.v6(), public.join(" "));
        fs::write(own.join("sshd_config"), settings(seat, &files, &own)).map_err(cannot)?;
        let namespace = maker.layout.namespace(&seat.name);
        let mut words = ["ip", "netns", "exec", &namespace, "sh", "-c", SCRIPT].map(str::to_owned).to_vec();
        words.extend([daemon, &own.join("sshd_config")].map(|path| path.display().to_string()));
        let log = own.join("sshd.log");
        started.push((maker.start(&words, &log, &format!("sshd of {}", seat.name))?, log, own.join("sshd.pid")));
    }
    fs::write(files.join("known_hosts"), known).map_err(cannot)?;
    // It writes its number when it listens.
    started.iter().try_for_each(|(process, log, file)| maker.until(process, log, || file.exists()))
}

fn key(maker: &Maker<'_>, file: &Path) -> Result<(), Failure> {
    let (file, comment) = (file.display().to_string(), format!("sonde lab {}", maker.layout.id));
    maker.run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-C", &comment, "-f", &file], None)
}

/// The settings of one. By key alone, for the lab's user; nothing is asked of names or of what else is configured. `scp` speaks SFTP.
fn settings(seat: &Seat, files: &Path, own: &Path) -> String {
    let (files, own, pam) = (files.display(), own.display(), if root_is_locked() { "yes" } else { "no" });
    format!(
        "Port 22\nListenAddress {}\nListenAddress {}\nHostKey {own}/host_key\nPidFile {own}/sshd.pid\n\
         AuthorizedKeysFile {files}/authorized_keys\nStrictModes no\nPermitRootLogin prohibit-password\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM {pam}\nUseDNS no\nPrintMotd no\n\
         PrintLastLog no\nMaxSessions 64\nMaxStartups 100:30:200\nSubsystem sftp internal-sftp\nSetEnv HOME={own}/home\n",
        seat.v4(),
        seat.v6(),
    )
}

/// A locked account is let in by PAM alone.
fn root_is_locked() -> bool {
    fs::read_to_string("/etc/shadow").is_ok_and(|text| text.lines().any(|line| line.starts_with("root:!")))
}
