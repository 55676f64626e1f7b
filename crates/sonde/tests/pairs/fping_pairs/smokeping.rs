//! A real SmokePing runs one step on our fping: a host that answers, and one that does not.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use testbed::process::{LIMIT, ended};
use testbed::skip;

use super::scene::Scene;

const BASE: &str = "/etc/smokeping";

#[test]
fn smokeping_stores_times_and_loss() {
    if Command::new("smokeping").arg("--version").output().is_err() || !Path::new(BASE).exists() {
        return skip::aloud("SmokePing on our fping: no `smokeping`; install smokeping");
    }
    let Some(scene) = Scene::new("fping", "fping") else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display().to_string();
    symlink(env!("CARGO_BIN_EXE_sonde"), folder.path().join("fping")).unwrap();
    let [living, silent] = [scene.words("F").remove(0), scene.words("L").remove(0)];
    let config = format!(
        "*** General ***\nowner = a\ncontact = a@example.org\nmailhost = localhost\nimgcache = {at}\nimgurl = img\n\
         datadir = {at}\npiddir = {at}\ncgiurl = http://localhost/s\nsmokemail = {BASE}/smokemail\nsyslogfacility = local0\n\
         *** Alerts ***\nto = a@example.org\nfrom = a@example.org\n\
         *** Database ***\nstep = 60\npings = 5\nAVERAGE 0.5 1 1008\n\
         *** Presentation ***\ntemplate = {BASE}/basepage.html\n+ overview\nwidth = 600\nheight = 50\nrange = 10h\n\
         + detail\nwidth = 600\nheight = 200\nunison_tolerance = 2\n\"Last 3 Hours\" 3h\n\
         *** Probes ***\n+ FPing\nbinary = {at}/fping\n\
         *** Targets ***\nprobe = FPing\nmenu = Top\ntitle = T\n\
         + living\nmenu = a\ntitle = a\nhost = {living}\n+ silent\nmenu = b\ntitle = b\nhost = {silent}\n"
    );
    let file = folder.path().join("config");
    std::fs::write(&file, config).unwrap();
    let ran = ended(scene.near("smokeping").arg(format!("--config={}", file.display())).arg("--debug"), LIMIT);
    let stored = |name: &str| {
        let line = ran
            .stdout
            .lines()
            .chain(ran.stderr.lines())
            .find(|line| line.starts_with("Calling RRDs::update(") && line.contains(&format!("/{name}.rrd ")));
        let values =
            line.and_then(|line| line.split_whitespace().last()).unwrap_or_else(|| panic!("{name}\n{}", ran.told()));
        values.trim_end_matches(')').split(':').map(str::to_owned).collect::<Vec<_>>()
    };
    // Time, uptime, loss, median, and five round trips in seconds.
    let living = stored("living");
    assert_eq!((living.len(), living[2].as_str()), (9, "0"), "{living:?}");
    let times: Vec<f64> = living[3..].iter().map(|time| time.parse().unwrap()).collect();
    assert!(times.iter().all(|time| (0.000_001..1.0).contains(time)), "{times:?}");
    assert_eq!(stored("silent")[2..], ["5", "U", "U", "U", "U", "U", "U"]);
}
