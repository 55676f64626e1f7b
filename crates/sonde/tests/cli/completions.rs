//! Completions as a shell makes them: bash, asked as it asks itself when a key is pressed.

use std::path::Path;
use std::process::Command;

use crate::{printed, sonde};

/// Words that bash offers for the last of `words`, in a home where ssh knows these hosts.
fn offered(folder: &Path, words: &[&str]) -> Vec<String> {
    std::fs::create_dir_all(folder.join(".ssh")).unwrap();
    std::fs::write(folder.join(".ssh/known_hosts"), "db1.example,10.0.0.2 ssh-ed25519 AAAA\n|1|hashed= ssh-rsa A\n")
        .unwrap();
    std::fs::write(folder.join(".ssh/config"), "Host db2 db3-*\n  User me\n").unwrap();
    let script = folder.join("sonde.bash");
    std::fs::write(&script, printed(&mut sonde(&["completions", "bash"]))).unwrap();
    let program = "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
        _sonde_with_values sonde \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\" 2>/dev/null; \
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let output = Command::new("bash")
        .args(["--norc", "-c", program, "bash"])
        .arg(&script)
        .args(words)
        .env("HOME", folder)
        .current_dir(folder)
        .output()
        .expect("bash");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_offers_settings_figures_hosts_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let offered = |words: &[&str]| offered(folder.path(), words);
    assert_eq!(offered(&["sonde", "sweep", "db1", "--over", "inter"]), ["interval=", "interface="]);
    assert!(offered(&["sonde", "sweep", "db1", "--over", ""]).contains(&"size=".to_owned()));
    assert_eq!(offered(&["sonde", "compare", "a", "b", "--figures", "p9"]), ["p90", "p95", "p99", "p99.9"]);
    assert_eq!(offered(&["sonde", "compare", "a", "b", "--figures", "p50,lo"]), ["p50,loss"]);
    assert_eq!(offered(&["sonde", "rtt", "db"]), ["db2", "db1.example"].into_iter().rev().collect::<Vec<_>>());
    std::fs::write(folder.path().join("found.json"), "{}").unwrap();
    assert!(offered(&["sonde", "show", "fou"]).contains(&"found.json".to_owned()));
    assert_eq!(offered(&["sonde", "show", "la"]), ["last"]);
    assert!(offered(&["sonde", "comp"]).contains(&"compare".to_owned()));
}

#[test]
fn zsh_and_fish_are_told_where_hosts_and_settings_stand() {
    let zsh = printed(&mut sonde(&["completions", "zsh"]));
    assert!(zsh.contains("_hosts") && zsh.contains("interval"), "zsh");
    let fish = printed(&mut sonde(&["completions", "fish"]));
    assert!(fish.contains("interval") && fish.contains("p99.9"), "fish");
}
