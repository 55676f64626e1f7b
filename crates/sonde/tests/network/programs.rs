//! Programs at work on the far host, whose truth is known: what passed their network is captured beside, and delays are planted in them and on
//! the path to them.
//!
//! A program is a row of [`row::ROWS`]. Not here: what of it is asked and said (`pairs`).

mod captured;
mod delayed;
mod looked;
mod row;
mod slow;

use std::process::Command;

use testbed::certificate::Signed;
use testbed::servers::Place;

use crate::limits::plant::FORWARDED;
use crate::scene::Scene;

/// A scene for servers, and their certificates; `None` where the user may not have them, which was said aloud.
fn scene(what: &str, make: fn(&str) -> Option<Scene>) -> Option<(Scene, Signed)> {
    if !rustix::process::geteuid().is_root() {
        testbed::skip::aloud(&format!("{what}: servers in namespaces of their own, which takes root"));
        return None;
    }
    let scene = make(what)?;
    let names = [&*scene.target(false), FORWARDED];
    let signed = Signed::new(&names, 4_000);
    Some((scene, signed))
}

/// The far host, as servers are started there.
fn far(scene: &Scene) -> Place<'_> {
    Place::all_of(|name| -> Command { scene.far().command(name) })
}
