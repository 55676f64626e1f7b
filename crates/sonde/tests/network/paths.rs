//! Two equal paths to one host, between which the ports of a connection decide.
//!
//! Not here: what `sonde paths` tells of them (`alone::paths`).

use lab::namespace::Namespace;

use crate::plant::{FORWARDED, Forward};
use crate::scene::{Scene, before_others, number, run};

/// The far host, behind both paths.
pub const HOST: &str = "10.9.9.9";
/// This one, whichever path it takes.
const NEAR: &str = "10.9.8.8";

/// Two ways between the hosts of a scene, the cable and a forwarder; the ports decide which one a flow takes.
pub struct TwoPaths<'a> {
    near: &'a Namespace,
    cable: String,
}

impl<'a> TwoPaths<'a> {
    /// Gives both hosts an address that either way leads to.
    pub fn lay(scene: &'a Scene) -> Self {
        let (near, far) = (scene.near(), scene.far());
        for (space, address) in [(near, NEAR), (far, HOST)] {
            run(space, &["ip", "address", "add", &format!("{address}/32"), "dev", "lo"]);
            run(space, &["sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"]);
        }
        run(near, &["sysctl", "-qw", "net.ipv4.fib_multipath_hash_policy=1"]);
        run(far, &["ip", "route", "add", NEAR, "via", &near.v4().to_string()]);
        Self { near, cable: far.v4().to_string() }
    }

    /// The route by both, once the forwarder stands.
    pub fn take_both(&self) {
        let hops = ["nexthop", "via", &self.cable, "nexthop", "via", FORWARDED];
        run(self.near, &[&["ip", "route", "replace", HOST, "src", NEAR][..], &hops].concat());
    }
}

/// The shortest of some round trips says the path: by the detour all of them take 5 ms at least, whatever else this machine does, and by the
/// cable one that nothing held up takes far less.
#[test]
fn one_source_port_takes_one_path_each_time() {
    let Some(scene) = Scene::beside("one source port") else { return };
    before_others();
    let ways = TwoPaths::lay(&scene);
    let _reflector = scene.reflector(&["--listen", HOST]);
    let _forward = Forward::start(&scene, &["--delay", "5ms", "--one-way"]);
    ways.take_both();
    let by_detour = |port: &str| {
        let words = [HOST, "--udp", "--source-port", port, "-c", "30", "--every", "3ms", "--warm-up", "0"];
        let record = scene.record(&words);
        assert!(record["outcome"]["sockets"][0]["local"].as_str().expect("local").ends_with(&format!(":{port}")));
        number(&record, "/outcome/response/min_ns") > 5_000_000
    };
    let ports = ["40001", "40002", "40003", "40004", "40005", "40006"];
    for port in ports {
        let first = by_detour(port);
        assert!((0..2).all(|_| by_detour(port) == first), "port {port} changed its path");
    }
}
