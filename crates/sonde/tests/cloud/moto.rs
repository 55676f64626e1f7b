//! The real `aws` against `moto`, a server that plays EC2, on loopback.

use std::fs;
use std::process::Command;

use measure::method::Carrier;
use testbed::process::{Ended, ended, started};
use testbed::{port, skip};

use crate::real::program;
use crate::scene::{CLOUDS, RUN, Scene};

/// A Python program takes a second to start, and there are a hundred calls.
const LONG: std::time::Duration = std::time::Duration::from_mins(5);

#[test]
fn a_network_and_a_machine_are_made_and_removed() {
    let (Some(aws), Some(moto)) = (program("aws"), program("moto_server")) else {
        return skip::aloud(
            "the real aws against moto: aws and moto_server (PyPI awscli, moto[server]) are not both here",
        );
    };
    let port = port::free();
    let mut command = Command::new(moto);
    let server = started(command.args(["-H", "127.0.0.1", "-p", &port.to_string()]));
    server.until_listening(Carrier::Tcp, port);
    let scene = Scene::of(CLOUDS[1]);
    for name in ["aws", "aws.sh"] {
        fs::remove_file(scene.path("bin").join(name)).unwrap();
    }
    std::os::unix::fs::symlink(&aws, scene.path("bin/aws")).unwrap();
    let cloud = Cloud { scene: &scene, endpoint: format!("http://127.0.0.1:{port}") };
    let image = cloud.aws("ec2 describe-images --query Images[0].ImageId --output text").stdout.trim().to_owned();
    // moto knows no placement groups.
    let words = [
        "--cloud",
        "aws",
        "--zone",
        "us-east-1a",
        "--machine-type",
        "m7i.large",
        "--image",
        &image,
        "--placement",
        "none",
        "--from",
        "203.0.113.7",
        "--open",
        "icmp@0.0.0.0/0",
        "--public-key",
        "key.pub",
        "--run",
        RUN,
        "-o",
        "hosts.toml",
    ];
    let up = cloud.sonde("up", &words);
    assert_eq!(up.code, Some(0), "{}", up.told());
    let hosts: toml::Table = fs::read_to_string(scene.path("hosts.toml")).unwrap().parse().unwrap();
    let host = &hosts["hosts"][0];
    assert!(host["internal"].as_str().is_some_and(|address| address.starts_with("10.64.0.")), "{host}");
    assert_eq!(host["labels"]["cpus"].as_str(), Some("2"));
    assert_eq!(cloud.left().len(), 5, "{:?}", cloud.left());
    let down = cloud.sonde("down", &["--run", RUN]);
    assert_eq!((down.code, cloud.left()), (Some(0), vec![]), "{}", down.told());
    assert!(!scene.owes());
}

struct Cloud<'a> {
    scene: &'a Scene,
    endpoint: String,
}

impl Cloud<'_> {
    fn account<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("AWS_ENDPOINT_URL", &self.endpoint).env("AWS_ACCESS_KEY_ID", "x").env("AWS_SECRET_ACCESS_KEY", "y");
        command.env("AWS_DEFAULT_REGION", "us-east-1").env("AWS_EC2_METADATA_DISABLED", "true")
    }

    fn sonde(&self, verb: &str, more: &[&str]) -> Ended {
        let patience = ["--look-every", "100ms", "--settle", "1s", "--ready-timeout", "1m", "--call-timeout", "1m"];
        let mut command = self.scene.command(&[&["cloud", verb][..], more, &patience].concat());
        ended(self.account(&mut command), LONG)
    }

    fn aws(&self, words: &str) -> Ended {
        let mut command = Command::new(self.scene.path("bin/aws"));
        ended(self.account(command.args(words.split(' '))), LONG)
    }

    /// Things that carry our tags, or are of a kind of which a new account has none.
    fn left(&self) -> Vec<String> {
        let lists = [
            "describe-instances --filters Name=instance-state-name,Values=running --query Reservations[].Instances[].InstanceId",
            "describe-vpcs --filters Name=tag-key,Values=sonde-run --query Vpcs[].VpcId",
            "describe-subnets --filters Name=tag-key,Values=sonde-run --query Subnets[].SubnetId",
            "describe-key-pairs --query KeyPairs[].KeyName",
            "describe-internet-gateways --query InternetGateways[].InternetGatewayId",
        ];
        let listed = lists.iter().map(|list| self.aws(&format!("ec2 {list} --output text")));
        listed.flat_map(|ended| ended.stdout.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
    }
}
