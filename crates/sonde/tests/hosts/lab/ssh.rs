//! The way by ssh, to real sshds of a lab: what is put there, and all that can be wrong with a host.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use endpoint::clock::Monotonic;
use endpoint::stop::Stop;
use lab::transport::Transport;
use logbook::failure::{Failure, Side};
use logbook::host::{Host, Reach};
use measure::unit::Nanos;
use rustix::process::{Pid, Signal, kill_process};
use test_case::test_case;

use crate::lab::scene::{Lab, PATIENCE, User, apart, program, put, sonde};

const SCRIPT: &str = "#!/bin/sh\necho \"$HOME\"\n";

fn printed(way: &dyn Transport, words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let output = way.command(&words).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Another sshd on a host, with further settings; ended when it goes out of scope.
struct Another {
    child: Child,
}

impl Another {
    /// It listens at `port`, and before it does a shell prepares what only it sees.
    fn start(lab: &Lab<'_>, host: &str, port: u16, settings: &str, prepare: &str) -> Self {
        let own = lab.files().join(host);
        let config = fs::read_to_string(own.join("sshd_config")).unwrap();
        let kept = config.lines().filter(|line| {
            let name = line.split(' ').next().unwrap();
            name != "Port" && name != "PidFile" && !settings.lines().any(|other| other.starts_with(name))
        });
        let pid = own.join(format!("another-{port}.pid"));
        let text = kept.collect::<Vec<_>>().join("\n");
        let file = own.join(format!("another-{port}"));
        fs::write(&file, format!("Port {port}\nPidFile {}\n{settings}\n{text}\n", pid.display())).unwrap();
        let script = format!(
            "mount -t tmpfs tmpfs /run && mkdir /run/sshd && {prepare} && exec /usr/sbin/sshd -D -e -f {}",
            file.display()
        );
        let mut child = apart(&mut lab.on(host, &["sh", "-c", &script]));
        while !pid.exists() {
            assert!(child.try_wait().unwrap().is_none(), "it has ended");
        }
        Self { child }
    }
}

impl Drop for Another {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// A failure, with all that has to be in one.
fn refused(lab: &Lab<'_>, host: &Host, words: &str, side: Option<Side>) -> Failure {
    let folder = tempfile::tempdir().unwrap();
    let failure = put(lab.way(host).as_ref(), &program(folder.path(), SCRIPT)).unwrap_err();
    assert!(failure.what.contains(words), "{failure:?}");
    assert_eq!(failure.side, side, "{failure:?}");
    let Reach::Ssh(told) = &host.reach else { panic!() };
    assert_eq!(failure.to_whom.as_ref(), Some(&told.to));
    assert!(failure.hint.is_some(), "{failure:?}");
    failure
}

#[test]
fn the_program_is_put_onto_every_host_and_runs_there() {
    let Some(user) = User::with_sshd("the way by ssh") else { return };
    let lab = user.up(&["--hosts", "3", "--ssh"]);
    let program = sonde();
    for host in &lab.hosts {
        let way = lab.way(host);
        let file = put(way.as_ref(), &program).unwrap();
        let home = lab.files().join(&host.name).join("home");
        assert!(Path::new(&file).starts_with(home), "each host has a cache of its own: {file}");
        let version = printed(way.as_ref(), &[&file, "--version"]);
        assert_eq!(version, format!("sonde {}\n", env!("CARGO_PKG_VERSION")));
        let addresses = printed(way.as_ref(), &["ip", "-o", "address"]);
        assert!(addresses.contains(&format!("{}/24", host.internal.as_ref().unwrap())), "{addresses}");
        way.clean(PATIENCE, &Stop::default()).unwrap();
        assert!(!Path::new(&file).exists());
    }
    lab.down();
}

#[test]
fn what_lies_there_damaged_is_put_anew_and_what_is_sound_stays() {
    let Some(user) = User::with_sshd("a damaged program on a host") else { return };
    let lab = user.up(&["--hosts", "1", "--ssh"]);
    let way = lab.way(&lab.hosts[0]);
    let program = program(user.home(), SCRIPT);
    let file = put(way.as_ref(), &program).unwrap();
    let facts = |file: &str| std::os::unix::fs::MetadataExt::ino(&fs::metadata(file).unwrap());
    let sound = facts(&file);
    put(way.as_ref(), &program).unwrap();
    assert_eq!(facts(&file), sound, "it was not touched");
    fs::write(&file, "#!/bin/sh\necho an older one\n").unwrap();
    assert_eq!(put(way.as_ref(), &program).unwrap(), file);
    assert_eq!(fs::read_to_string(&file).unwrap(), SCRIPT);
}

#[test]
fn others_may_copy_files_to_a_host_by_scp() {
    let Some(user) = User::with_sshd("scp to a host") else { return };
    let lab = user.up(&["--hosts", "1", "--ssh"]);
    let Reach::Ssh(told) = &lab.hosts[0].reach else { panic!() };
    let (file, there) = (lab.files().join("key.pub"), lab.files().join("h1/home/copied"));
    let mut copy = lab.on("switch", &["scp", "-q", "-i", told.key_file.as_ref().unwrap()]);
    copy.args(told.options.iter().flat_map(|option| ["-o", option]));
    copy.arg(&file).arg(format!("{}:{}", told.to, there.display()));
    assert!(copy.status().unwrap().success());
    assert_eq!(fs::read(there).unwrap(), fs::read(file).unwrap());
}

#[test]
fn input_output_and_status_are_passed_on_over_one_connection() {
    let Some(user) = User::with_sshd("streams by ssh") else { return };
    let lab = user.up(&["--hosts", "1", "--ssh"]);
    let way = lab.way(&lab.hosts[0]);
    put(way.as_ref(), &program(user.home(), SCRIPT)).unwrap();
    let words = ["sh", "-c", "cat; echo \"it's done\" >&2; exit 7"].map(str::to_owned);
    let mut command = way.command(&words);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"line\n\x00\xff").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"line\n\x00\xff"[..], &b"it's done\n"[..]));
    assert_eq!(output.status.code(), Some(7));
    let sockets = || {
        let entries = fs::read_dir(user.home()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        entries.filter(|name| name.starts_with("sonde-ssh-")).collect::<Vec<_>>()
    };
    let [folder] = sockets().try_into().unwrap();
    assert_eq!(fs::read_dir(user.home().join(folder)).unwrap().count(), 1);
    way.clean(PATIENCE, &Stop::default()).unwrap();
    drop(way);
    assert_eq!(sockets(), [""; 0]);
}

#[test]
fn a_host_key_that_changed_is_said_and_an_unknown_one_too() {
    let Some(user) = User::with_sshd("host keys") else { return };
    let lab = user.up(&["--hosts", "2", "--ssh"]);
    let known = fs::read_to_string(lab.files().join("known_hosts")).unwrap();
    let [one, two] = [0, 1].map(|line| known.lines().nth(line).unwrap().split_once(' ').unwrap());
    let swapped = user.home().join("swapped");
    fs::write(&swapped, format!("{} {}\n", one.0, two.1)).unwrap();
    let knowing = |file: &Path| {
        let option = format!("UserKnownHostsFile={}", file.display());
        lab.told(0, |told| told.options[0] = option)
    };
    let failure = refused(&lab, &knowing(&swapped), "its host key is another than the known one", Some(Side::Theirs));
    assert!(failure.hint.unwrap().contains("ssh-keygen -R"));
    refused(&lab, &knowing(Path::new("/dev/null")), "its host key is not known here", Some(Side::Ours));
}

#[test]
fn a_host_that_wants_a_password_is_not_waited_for() {
    let Some(user) = User::with_sshd("a host that wants a password") else { return };
    let lab = user.up(&["--hosts", "1", "--ssh"]);
    let settings = "PasswordAuthentication yes\nPermitRootLogin yes\nAuthorizedKeysFile none";
    let _another = Another::start(&lab, "h1", 2222, settings, "true");
    let told = |told: &mut logbook::host::Ssh| {
        told.port = Some(2222);
        told.options.push("StrictHostKeyChecking=no".into());
        told.options[0] = "UserKnownHostsFile=/dev/null".into();
        told.options.retain(|option| option != "StrictHostKeyChecking=yes");
    };
    let failure = refused(&lab, &lab.told(0, told), "it wants a password", Some(Side::Ours));
    assert!(failure.hint.unwrap().contains("ssh-copy-id"));
    // One that takes keys alone, and not ours.
    let other = lab.files().join("h1/host_key").display().to_string();
    refused(&lab, &lab.told(0, |told| told.key_file = Some(other)), "it takes none of the keys", Some(Side::Ours));
}

#[test_case("size=64k", "the disk of its cache folder is full"; "a full disk")]
#[test_case("noexec", "it may not be run from its cache folder"; "a folder without programs")]
#[test_case("ro", "its cache folder cannot be made"; "a folder that is only read")]
fn a_home_that_will_not_do_is_said(option: &str, words: &str) {
    let Some(user) = User::with_sshd("a home that will not do") else { return };
    let lab = user.up(&["--hosts", "1", "--ssh"]);
    let home = lab.files().join("h1/small");
    fs::create_dir(&home).unwrap();
    let home = home.display();
    let prepare = format!("mount -t tmpfs -o {option} tmpfs {home}");
    let _another = Another::start(&lab, "h1", 2222, &format!("SetEnv HOME={home}"), &prepare);
    let host = lab.told(0, |told| {
        told.port = Some(2222);
        told.options.retain(|option| option != "StrictHostKeyChecking=yes");
        told.options.extend(["StrictHostKeyChecking=no".to_owned()]);
        told.options[0] = "UserKnownHostsFile=/dev/null".into();
    });
    let large = program(user.home(), &format!("{SCRIPT}# {}\n", "x".repeat(200_000)));
    let way = lab.way(&host);
    let failure = put(way.as_ref(), &large).unwrap_err();
    assert!(failure.what.contains(words), "{failure:?}");
    assert_eq!(failure.side, Some(Side::Theirs));
    let left = printed(way.as_ref(), &["sh", "-c", "find ~ -name 'part*'"]);
    assert_eq!(left, "", "no part of it stays");
}

#[test]
fn a_host_that_is_not_there_is_said_by_how_it_is_not() {
    let Some(user) = User::with_sshd("hosts that are not there") else { return };
    let lab = user.up(&["--hosts", "1", "--ssh"]);
    let to = |to: &str| {
        let to = to.to_owned();
        lab.told(0, |told| told.to = to)
    };
    refused(&lab, &lab.told(0, |told| told.port = Some(2)), "nobody listens at its port of ssh", Some(Side::Theirs));
    refused(&lab, &to("root@nowhere.invalid"), "its name is not known", Some(Side::Ours));
    refused(&lab, &to("root@192.0.2.1"), "there is no way to it", Some(Side::Path));
    let gone = lab.told(0, |told| *told.through.last_mut().unwrap() = "sondelab-nowhere-switch".into());
    refused(&lab, &gone, "the network namespace that leads there is not there", Some(Side::Ours));
    let nonsense = lab.told(0, |told| told.options.push("Nonsense=yes".into()));
    refused(&lab, &nonsense, "ssh does not understand its settings", Some(Side::Ours));
}

#[test]
fn a_host_that_hangs_is_given_up_in_time() {
    let Some(user) = User::with_sshd("a host that hangs") else { return };
    let lab = user.up(&["--hosts", "1", "--ssh"]);
    let program = program(user.home(), SCRIPT);
    let within = |host: &Host, patience: Nanos| {
        let begun = Monotonic::now();
        let failure = lab.way(host).put(&program, patience, &Stop::default()).unwrap_err();
        // Half a minute more than it may take: other tests run beside this one.
        assert!(Monotonic::now().since(begun).unwrap() < Nanos::secs(32), "{failure:?}");
        failure
    };
    let asleep = lab.told(0, |told| told.through = ["sh", "-c", "exec sleep 600"].map(str::to_owned).to_vec());
    assert!(within(&asleep, Nanos::secs(1)).what.contains("nothing came of it for 1 s"));
    // One that takes the connection and then says nothing.
    let pid = fs::read_to_string(lab.files().join("h1/sshd.pid")).unwrap().trim().parse().unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let failure = within(&lab.hosts[0], Nanos::secs(2));
    kill_process(pid, Signal::CONT).unwrap();
    assert!(failure.what.contains("does not answer") || failure.what.contains("nothing came of it"), "{failure:?}");
    put(lab.way(&lab.hosts[0]).as_ref(), &program).unwrap();
}

#[test]
fn what_runs_on_a_host_ends_when_its_input_does() {
    let Some(user) = User::with_sshd("a program by ssh whose input ends") else { return };
    let lab = user.up(&["--hosts", "1", "--ssh"]);
    let way = lab.way(&lab.hosts[0]);
    let words = ["sh", "-c", "echo begun; cat"].map(str::to_owned);
    let mut child = way.command(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut begun = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"begun\n");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
