//! Many clients of one reflector at once: each is answered, and told of its own requests alone.

use std::process::Stdio;

use test_case::test_case;

use crate::scene::{Scene, counts, document, number, rtt_in};

#[test_case(2; "two")]
#[test_case(20; "twenty")]
fn each_is_told_its_own(clients: u64) {
    let Some(scene) = Scene::beside("many clients of one reflector") else { return };
    let _reflector = scene.reflector(&[]);
    let [v4, v6] = [false, true].map(|six| scene.target(six));
    let running: Vec<_> = (0..clients)
        .map(|client| {
            // Each its own number of requests, so that none could be taken for another's.
            let count = 100 + client;
            let carrier = ["--tcp", "--udp", "--crr", "--tcp", "--udp"][client as usize % 5];
            let target = if client % 2 == 0 { &v4 } else { &v6 };
            let words =
                [target, carrier, "-c", &count.to_string(), "--rate", "200/s", "--warm-up", "0", "--timeout", "60s"];
            let child = rtt_in(scene.near(), &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
            (count, child.expect("started"))
        })
        .collect();
    for (count, child) in running {
        let output = child.wait_with_output().expect("ended");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let record = document(&output);
        assert_eq!((counts(&record).answered, number(&record, "/outcome/loss/peer_received")), (count, count));
    }
}
