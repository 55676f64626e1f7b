//! The scripts as real shells run them, and what is made of their answers.

use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;

use test_case::test_case;

use super::*;

/// A host whose shell is one of this machine, with this environment and nothing else.
struct Here<'a> {
    shell: &'a str,
    environment: Vec<(&'a str, String)>,
}

impl Remote for Here<'_> {
    fn whom(&self) -> &'static str {
        "here"
    }

    fn shell(&self, script: &str, arguments: &[&str], _patience: Nanos) -> Command {
        let mut words = self.shell.split(' ');
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(["-c", script, "sonde"]).args(arguments).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn fault(&self, _finished: &Finished) -> Option<Fault> {
        None
    }

    fn program(&self) -> (&'static str, &'static str) {
        ("sh", "dash")
    }
}

const SCRIPT: &str = "#!/bin/sh\necho program 1.0\n";
/// SHA-256 of [`SCRIPT`], as `sha256sum` tells it.
fn sum_of(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, text).unwrap();
    let output = Command::new("sha256sum").arg(file).output().expect("coreutils");
    first_word(&String::from_utf8(output.stdout).unwrap()).unwrap()
}

fn program(folder: &Path, text: &str) -> Program {
    let path = folder.join("program");
    std::fs::write(&path, text).unwrap();
    Program::new(path, text.as_bytes(), sum_of(text))
}

fn put_here(way: &Here, program: &Program) -> Result<String, Failure> {
    put(way, program, Nanos::secs(60), &Stop::default()).map(|put| put.file)
}

fn home(folder: &Path) -> Vec<(&'static str, String)> {
    vec![("HOME", folder.join("own").display().to_string()), ("PATH", "/usr/bin:/bin:/usr/sbin:/sbin".into())]
}

/// Names of what lies in a folder.
fn listed(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test_case("sh"; "the shell")]
#[test_case("dash"; "dash")]
#[test_case("bash --posix"; "bash")]
#[test_case("busybox sh"; "busybox")]
fn what_is_put_is_found_again_and_taken_away(shell: &str) {
    let folder = tempfile::tempdir().unwrap();
    let name = shell.split(' ').next().unwrap();
    if Command::new(name).args(["-c", "true"]).output().is_err() {
        return testbed::skip::aloud(&format!("putting the program by {name}, which is not installed"));
    }
    let way = Here { shell, environment: home(folder.path()) };
    let program = program(folder.path(), SCRIPT);
    let file = put_here(&way, &program).unwrap();
    assert!(file.ends_with(&format!("/own/.cache/sonde/{}/sonde", &program.sha256[..16])), "{file}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), SCRIPT);
    // The second time there is nothing to read from: it lies there already.
    let gone = Program::new("/nowhere", b"what is not looked at", program.sha256.clone());
    assert_eq!(put_here(&way, &gone).unwrap(), file);
    assert_eq!(listed(Path::new(&file).parent().unwrap()), ["sonde"]);
    clean(&way, &program.sha256[..DIGITS], Nanos::secs(60), &Stop::default()).unwrap();
    assert!(!folder.path().join("own/.cache/sonde").exists());
}

#[test]
fn what_lies_there_and_is_something_else_is_put_anew() {
    let folder = tempfile::tempdir().unwrap();
    let way = Here { shell: "sh", environment: home(folder.path()) };
    let program = program(folder.path(), SCRIPT);
    let file = put_here(&way, &program).unwrap();
    for damage in ["", "#!/bin/sh\necho program 0.9\n"] {
        std::fs::write(&file, damage).unwrap();
        assert_eq!(put_here(&way, &program).unwrap(), file);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), SCRIPT);
    }
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert_eq!(put_here(&way, &program).unwrap(), file);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), SCRIPT);
}

#[test]
fn a_cache_of_the_users_own_is_heeded() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("it's a cache");
    let mut environment = home(folder.path());
    environment.push(("XDG_CACHE_HOME", cache.display().to_string()));
    let way = Here { shell: "sh", environment };
    let file = put_here(&way, &program(folder.path(), SCRIPT)).unwrap();
    assert!(Path::new(&file).starts_with(cache), "{file}");
}

#[test]
fn what_changed_on_the_way_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let way = Here { shell: "sh", environment: home(folder.path()) };
    let mut program = program(folder.path(), SCRIPT);
    program.sha256 = sum_of("something else");
    let failure = put_here(&way, &program).unwrap_err();
    assert_eq!(failure.what, "here: cannot put the program there: what arrived is not what was sent");
    assert_eq!(failure.side, Some(Side::Path));
    let cache = folder.path().join("own/.cache/sonde").join(&program.sha256[..16]);
    assert_eq!(listed(&cache), [""; 0]);
}

#[test]
fn a_host_without_a_checksum_program_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let uname = ["/usr/bin/uname", "/bin/uname"].into_iter().find(|path| Path::new(path).exists()).unwrap();
    std::os::unix::fs::symlink(uname, tools.join("uname")).unwrap();
    let mut environment = home(folder.path());
    environment[1].1 = tools.display().to_string();
    let way = Here { shell: "/bin/sh", environment };
    let failure = put_here(&way, &program(folder.path(), SCRIPT)).unwrap_err();
    assert!(failure.what.contains("nothing there tells a SHA-256"), "{failure:?}");
    assert_eq!(failure.side, Some(Side::Theirs));
}

/// A host that says of itself that it is of RISC-V.
fn of_another_kind(folder: &Path) -> Here<'static> {
    let tools = folder.join("tools");
    std::fs::create_dir(&tools).unwrap();
    let uname = program(&tools, "#!/bin/sh\necho Linux riscv64\n").path;
    Command::new("chmod").arg("755").arg(&uname).status().unwrap();
    std::fs::rename(uname, tools.join("uname")).unwrap();
    let mut environment = home(folder);
    environment[1].1 = format!("{}:{}", tools.display(), environment[1].1);
    Here { shell: "sh", environment }
}

#[test]
fn each_host_is_given_the_program_for_its_machine() {
    let folder = tempfile::tempdir().unwrap();
    let far = of_another_kind(folder.path());
    let other = program(folder.path(), "#!/bin/sh\necho the program of the other machine\n").on("Linux riscv64");
    let both = program(folder.path(), SCRIPT).beside(vec![other.clone()]);
    // The second time it lies there, and is found by its own checksum.
    for _ in 0..2 {
        let put = put(&far, &both, Nanos::secs(60), &Stop::default()).unwrap();
        assert!(std::fs::read_to_string(&put.file).unwrap().contains("the other machine"), "{put:?}");
        assert_eq!(put.short, other.sha256[..DIGITS]);
        assert_eq!(listed(&folder.path().join("own/.cache/sonde")), [&*put.short], "and no other one");
    }
    let near = Here { shell: "sh", environment: home(folder.path()) };
    let file = put_here(&near, &both).unwrap();
    assert_eq!(std::fs::read_to_string(file).unwrap(), SCRIPT);
}

#[test]
fn a_host_of_another_kind_is_said_before_anything_is_put() {
    let folder = tempfile::tempdir().unwrap();
    let way = of_another_kind(folder.path());
    let failure = put_here(&way, &program(folder.path(), SCRIPT)).unwrap_err();
    assert!(failure.what.contains("and the host is Linux riscv64"), "{failure:?}");
    assert!(!folder.path().join("own").exists());
}

#[test]
fn a_home_that_cannot_be_written_to_is_said() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("own"), "a file").unwrap();
    let way = Here { shell: "sh", environment: home(folder.path()) };
    let failure = put_here(&way, &program(folder.path(), SCRIPT)).unwrap_err();
    assert!(failure.what.contains("its cache folder cannot be made"), "{failure:?}");
}

#[test]
fn a_program_that_does_not_run_there_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let way = Here { shell: "sh", environment: home(folder.path()) };
    for (text, part) in [
        ("#!/nowhere/at/all\n", "what it needs is not there"),
        ("#!/bin/sh\necho broken >&2; exit 5\n", "it ended with status 5: broken"),
    ] {
        let failure = put_here(&way, &program(folder.path(), text)).unwrap_err();
        assert!(failure.what.contains(part) || failure.what.contains("may not be run"), "{failure:?}");
        assert!(failure.what.starts_with("here: cannot run the program there"), "{failure:?}");
    }
}

#[test]
fn a_login_that_prints_rubbish_does_not_mislead() {
    let printed =
        "Welcome!\nsonde-put\nmachine Other\n\u{0}\u{1}\nsonde-put file /a b/sonde\nsonde-put ran\nsonde-put ran x\n";
    let seen = Seen::of(printed);
    assert_eq!(seen, Seen { file: Some("/a b/sonde".into()), ..Seen::default() });
}

#[test]
fn a_shell_that_is_none_is_said() {
    let way = Here { shell: "true", environment: Vec::new() };
    let folder = tempfile::tempdir().unwrap();
    let failure = put_here(&way, &program(folder.path(), SCRIPT)).unwrap_err();
    assert!(failure.what.contains("no POSIX shell answered"), "{failure:?}");
}

#[test]
fn a_checksum_that_is_none_is_our_defect_and_no_panic() {
    let way = Here { shell: "sh", environment: Vec::new() };
    let program = Program::new("/bin/true", &[], "ä");
    assert!(put_here(&way, &program).is_err());
}

#[test_case(&["gzip", "xz"], "xz"; "to a host with both, the smaller")]
#[test_case(&["gzip"], "gzip"; "to most")]
#[test_case(&["gzip", "busybox"], "gzip"; "to one with an xz that knows no filters")]
#[test_case(&[], "cat"; "as it is, to one that has neither")]
fn it_goes_compressed_as_it_can_be_unpacked_there(tools: &[&str], by: &str) {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("#!/bin/sh\n{}echo program 1.0\n", "# the same again and again\n".repeat(1_000));
    let program = program(folder.path(), &text);
    let usual = ["sh", "uname", "sha256sum", "mkdir", "find", "rm", "cat", "chmod", "mv", "rmdir", "tee"];
    let (there, noted) = (folder.path().join("tools"), folder.path().join("noted"));
    std::fs::create_dir(&there).unwrap();
    for tool in usual.iter().chain(tools) {
        let found = ["/usr/bin", "/bin"].iter().map(|at| Path::new(at).join(tool)).find(|path| path.exists());
        let Some(found) = found else {
            return testbed::skip::aloud(&format!("unpacking by {tool}, which is not installed"));
        };
        if *tool == by && by != "cat" {
            // Notes what it was given.
            let noting = format!("#!/bin/sh\ntee {} | {} \"$@\"\n", noted.display(), found.display());
            std::fs::write(there.join(tool), noting).unwrap();
            Command::new("chmod").arg("755").arg(there.join(tool)).status().unwrap();
        } else {
            std::os::unix::fs::symlink(found, there.join(if *tool == "busybox" { "xz" } else { tool })).unwrap();
        }
    }
    let mut environment = home(folder.path());
    environment[1].1 = there.display().to_string();
    let way = Here { shell: "/bin/sh", environment };
    let file = put_here(&way, &program).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    if by != "cat" {
        let sent = std::fs::metadata(&noted).unwrap().len();
        assert!(sent > 0 && sent < text.len() as u64 / 10, "{sent} of {} bytes", text.len());
    }
}

/// A host whose connection is cut for so many commands.
struct Cut<'a>(Here<'a>, std::sync::atomic::AtomicUsize);

impl Remote for Cut<'_> {
    fn whom(&self) -> &str {
        self.0.whom()
    }

    fn shell(&self, script: &str, arguments: &[&str], patience: Nanos) -> Command {
        self.0.shell(script, arguments, patience)
    }

    fn fault(&self, _finished: &Finished) -> Option<Fault> {
        let left = self.1.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        left.is_ok().then(|| Fault::new("the connection was cut", None, "").passing())
    }

    fn program(&self) -> (&'static str, &'static str) {
        self.0.program()
    }
}

#[test]
fn a_connection_that_was_cut_is_made_again_within_the_patience() {
    let folder = tempfile::tempdir().unwrap();
    let cut = |times: usize| Cut(Here { shell: "sh", environment: home(folder.path()) }, times.into());
    let program = program(folder.path(), SCRIPT);
    let put = |times: usize, patience: Nanos| put(&cut(times), &program, patience, &Stop::default());
    assert!(put(3, Nanos::secs(60)).is_ok());
    let failure = put(usize::MAX, Nanos::millis(600)).unwrap_err();
    assert_eq!(failure.what, "here: cannot look for the program there: the connection was cut (try 2 within 600 ms)");
}
