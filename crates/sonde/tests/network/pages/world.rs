//! The host that a page's commands ask, its servers, and the folder of the reader.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::process::Command;

use measure::method::Carrier;
use testbed::certificate::Signed;
use testbed::page;
use testbed::process::{self, Ended, Running};
use testbed::servers::{Place, Server};

use super::LIMIT;
use crate::scene::{Scene, sonde_in};

/// Names and addresses that pages have for hosts.
const NAMES: [&str; 16] = [
    "db1",
    "db2",
    "cache1",
    "api",
    "resolver1",
    "time1",
    "bus1",
    "broker1",
    "bastion1",
    "web1",
    "10.0.0.2",
    "10.0.0.53",
    "10.182.0.2",
    "10.80.0.2",
    "10.181.8.2",
    "10.9.9.9",
];

/// The server on the far host where the page starts no other.
pub const DEFAULT: &str = "sonde serve --open --stamp";

/// A page's world. What was started last is ended first, and the namespaces last.
pub struct World<'a> {
    page: &'a str,
    /// Commands of the page that were run.
    pub runs: usize,
    /// Servers by the scheme of their URL; `None`: not installed, which was said aloud.
    servers: BTreeMap<String, Option<Server>>,
    /// `sonde serve` on the far host.
    serving: Option<Running>,
    _netserver: Running,
    folder: tempfile::TempDir,
    signed: Signed,
    scene: Scene,
}

impl<'a> World<'a> {
    /// Two hosts, with `sonde serve` on the far one; `None`: none are to be had, which was said aloud.
    pub fn of(page: &'a str) -> Option<Self> {
        let scene = Scene::beside("commands of the pages")?;
        let signed = Signed::new(&[&*scene.target(false)], 4_000);
        let folder = tempfile::tempdir().expect("a folder");
        let netserver = process::started(sonde_in(scene.far()).args(["netserver", "-D"]));
        netserver.until_it_listens(Carrier::Tcp, 12865);
        let mut world = Self {
            page,
            runs: 0,
            servers: BTreeMap::new(),
            serving: None,
            _netserver: netserver,
            folder,
            signed,
            scene,
        };
        world.serve(DEFAULT);
        world.write_files();
        Some(world)
    }

    fn at(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Starts `sonde serve` with the words of a page on the far host, in the place of what served there.
    pub fn serve(&mut self, command: &str) {
        if let Some(before) = self.serving.take() {
            before.signal(rustix::process::Signal::TERM);
            let _ended = before.end(LIMIT);
        }
        let mut running = sonde_in(self.scene.far());
        running.current_dir(self.folder.path()).args(shlex::split(command).expect("quotes are closed").iter().skip(1));
        let running = process::started(&mut running);
        testbed::wait::until("it serves", || running.stderr().contains("listening on") || running.has_ended());
        assert!(!running.has_ended(), "{}: {command}: {}", self.page, running.told());
        self.serving = Some(running);
    }

    /// The files that commands of the page name.
    fn write_files(&self) {
        let text = page::read(self.page);
        let blocks = page::blocks(&text);
        let mix = blocks.iter().find(|block| block.mark == "toml" && block.text.contains("[[request]]"));
        let mix = mix.map_or_else(|| "[[request]]\nquery = \"SELECT 1\"\n".to_owned(), |block| block.text.clone());
        let toml = blocks.iter().find(|block| block.mark == "toml").map_or("", |block| &*block.text);
        fs::create_dir_all(self.at(".config/sonde")).expect("a folder");
        let profiles = if toml.contains("[profile.") { toml } else { "" };
        for (name, text) in [
            (".config/sonde/config.toml", profiles),
            ("claims.toml", toml),
            ("mix.toml", &*mix),
            ("item.json", "{}"),
            ("headers.txt", "Cookie: a=b\n"),
            ("curl-format.txt", "%{http_code} %{time_total}\\n"),
            ("pw", "pencil\n"),
            ("ca.pem", &fs::read_to_string(self.signed.path("ca.pem")).expect("written before")),
        ] {
            fs::write(self.at(name), text).expect("written");
        }
        // A program of the same name at two places is two builds.
        for folder in ["old", "new", "before", "after", "runs", "bin"] {
            fs::create_dir(self.at(folder)).expect("a folder");
        }
        for build in ["old/sonde", "new/sonde"] {
            std::os::unix::fs::symlink(assert_cmd::cargo::cargo_bin!("sonde"), self.at(build)).expect("linked");
        }
        let records =
            [("before/", 5), ("after/", 5), ("monday.json", 1), ("today.json", 1), ("runs/", 1), ("before-*.json", 2)];
        for (name, count) in records.iter().filter(|(name, _)| text.contains(name)) {
            for number in 1..=*count {
                let file = if name.ends_with('/') {
                    format!("{name}{number}.json")
                } else {
                    name.replace('*', &number.to_string())
                };
                let words = ["rtt", &self.scene.target(false), "-c", "300", "-q", "-o", &file].map(str::to_owned);
                let ended = process::ended(&mut self.command(&words), LIMIT);
                assert_eq!(ended.code, Some(0), "{}", ended.told());
            }
        }
    }

    /// The program with these words on the near host, in the reader's folder.
    pub fn command(&self, words: &[String]) -> Command {
        let mut command = sonde_in(self.scene.near());
        command.args(words).current_dir(self.folder.path());
        command.env("HOME", self.folder.path()).env("XDG_STATE_HOME", self.at("state")).env("COLUMNS", "80");
        command.env("SSL_CERT_FILE", self.at("ca.pem")).env("PGPASSWORD", "pencil").env("MYSQL_PWD", "pencil");
        command
    }

    /// Keeps what a page lets its reader keep: the public part of an identity.
    pub fn keep(&self, command: &str, ended: &Ended) {
        if let Some(name) =
            command.strip_prefix("sonde key ").and_then(|rest| rest.strip_suffix(".identity --identity"))
        {
            fs::write(self.at(&format!("{name}.public")), &ended.stdout).expect("written");
        }
    }

    /// The words of a command behind the program's name, with this world's addresses and with little time; `None` where its server is not
    /// to be had, which was said aloud.
    pub fn words(&mut self, command: &str) -> Option<Vec<String>> {
        let command = command.replace("~/", "./");
        let words = shlex::split(&command).expect("quotes are closed");
        let looks_up_ports = !words.iter().any(|word| word == "check");
        let mut placed = Vec::new();
        for word in words.iter().skip(1) {
            // As the shell would; of a page's record there are two.
            if let Some(name) = word.strip_suffix("*.json") {
                placed.extend([1, 2].map(|number| format!("{name}{number}.json")));
                continue;
            }
            let parts = word.split(' ').map(|part| self.placed(part, looks_up_ports)).collect::<Option<Vec<_>>>()?;
            placed.push(parts.join(" "));
        }
        self.with_a_port(&mut placed)?;
        hurried(&mut placed);
        Some(placed)
    }

    /// A word with the far host's address for a name, and its server's port.
    fn placed(&mut self, word: &str, looks_up_ports: bool) -> Option<String> {
        let target = self.scene.target(false);
        if word.starts_with("sonde-public-1:") {
            let public = fs::read_to_string(self.at("alice.public")).expect("printed before");
            return Some(public.trim().to_owned());
        }
        if let Some((scheme, rest)) = word.split_once("://").filter(|(scheme, _)| !scheme.contains(['=', '/'])) {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            let (user, path) = match scheme {
                "postgres" => ("sonde@", path.replace("/shop", "/postgres")),
                "mysql" => ("shop@", path.to_owned()),
                _ => (authority.rfind('@').map_or("", |at| &authority[..=at]), path.to_owned()),
            };
            return Some(format!("{scheme}://{user}{target}:{}{path}", self.port(scheme)?));
        }
        let name = word.trim_start_matches('@');
        let (name, port) = name.split_once(':').map_or((name, None), |(name, port)| (name, Some(port)));
        if name == "34.1.2.3" {
            return Some(self.scene.target(true));
        }
        if !NAMES.contains(&name) {
            return Some(word.to_owned());
        }
        if word.starts_with('@') {
            return Some(format!("@{target}:{}", self.port("dns")?));
        }
        let port = match port {
            None => String::new(),
            Some(port) if !looks_up_ports => format!(":{port}"),
            Some("6379") => format!(":{}", self.port("redis")?),
            Some("8620") => ":862".to_owned(),
            Some("11111") => ":11111".to_owned(),
            Some(_) => ":7663".to_owned(),
        };
        Some(format!("{target}{port}"))
    }

    /// Adds the port of a server to words that have no place for it in a URL.
    fn with_a_port(&mut self, words: &mut Vec<String>) -> Option<()> {
        if words.first().is_some_and(|first| first == "redis-cli") {
            words.extend(["-p".to_owned(), self.port("redis")?.to_string()]);
        }
        let behind = |words: &[String], name: &str| words.iter().position(|word| word == name).map(|at| at + 1);
        if let Some(at) = behind(words, "--port").filter(|at| words[*at] == "6379") {
            words[at] = format!("{}=redis", self.port("redis")?);
        }
        if let Some(at) = behind(words, "--compare-port") {
            "7663".clone_into(&mut words[at]);
        }
        Some(())
    }

    /// The port of a server that speaks this, which is started where it does not run yet.
    fn port(&mut self, scheme: &str) -> Option<u16> {
        if !self.servers.contains_key(scheme) {
            let target = self.scene.target(false);
            let server = started(scheme, &target, &Place::all_of(|name| self.scene.far().command(name)), &self.signed);
            self.servers.insert(scheme.to_owned(), server);
        }
        self.servers[scheme].as_ref().map(|server| server.port)
    }
}

/// A server for a scheme, on the host at `target`.
fn started(scheme: &str, target: &str, place: &Place<'_>, signed: &Signed) -> Option<Server> {
    const ITEMS: &str = "location /items { if ($request_method = POST) { return 201; } return 200 'ok'; }";
    let (certificate, key) = (signed.text("server.pem"), signed.text("server.key"));
    let within_tls = |setting: &str| {
        let port = testbed::port::free();
        let more = format!(
            " interface: 0.0.0.0@{port}\n {setting}: {port}\n tls-service-pem: \"{certificate}\"\n tls-service-key: \"{key}\"\n{ZONE}"
        );
        Some(place.unbound(Carrier::Tcp, &more)?.at(port))
    };
    match scheme {
        "redis" => place.redis(&[]),
        "rediss" => {
            let port = testbed::port::free();
            let words = ["--tls-cert-file", &certificate, "--tls-key-file", &key, "--tls-auth-clients", "no"];
            Some(place.redis(&[&words[..], &["--tls-port", &port.to_string()]].concat())?.at(port))
        }
        "memcached" => place.memcached(),
        "http" => place.nginx("", ITEMS),
        "https" => place.nginx(&signed.of_nginx(""), ITEMS),
        "h2" => place.nginx(&signed.of_nginx("").replacen(" ssl", " ssl http2", 1), ITEMS),
        "h3" | "quic" => place.caddy(target, &format!(" tls {certificate} {key}\n respond /health ok\n")),
        "dns" | "dns+tcp" => place.unbound(Carrier::Udp, ZONE),
        "dns+tls" => within_tls("tls-port"),
        "dns+https" => within_tls("https-port"),
        "ntp" => place.chrony(),
        "nats" => place.nats(),
        "mqtt" => place.mosquitto("log_dest none\n"),
        "postgres" => place.postgres(&[]).map(|(server, _)| server),
        "mysql" => place.mariadb(&[]).map(|(server, _)| server),
        "ssh" => place.sshd(),
        other => panic!("no server speaks {other}: start one here, or say in `NOT_RUN` what holds it"),
    }
}

/// The name that pages look up, in an unbound's section of the server.
const ZONE: &str = " local-zone: \"example.org.\" static\n local-data: \"example.org. A 127.0.0.7\"\n local-data: \"example.org. AAAA ::7\"\n";

/// Shortens what a command would take.
fn hurried(words: &mut Vec<String>) {
    let has = |words: &[String], names: &[&str]| words.iter().any(|word| names.contains(&&**word));
    let set = |words: &mut Vec<String>, name: &str, value: &str| match words.iter().position(|word| word == name) {
        Some(at) => value.clone_into(&mut words[at + 1]),
        None => words.extend([name.to_owned(), value.to_owned()]),
    };
    let first = words.first().cloned().unwrap_or_default();
    let is_stored = |word: &String| word.ends_with('/') || word.strip_suffix(".json").is_some();
    match &*first {
        "paths" if has(words, &["--live"]) => set(words, "-c", "2"),
        "load" if has(words, &["--find"]) => set(words, "--probe", "100ms"),
        "rtt" | "load" | "throughput" | "syn" if !has(words, &["-c"]) => set(words, "-t", "1"),
        "rtt" if has(words, &["16s"]) => set(words, "--every", "50ms"),
        "compare" if !words.iter().any(is_stored) => {
            // What neither side says.
            let behind = words.iter().position(|word| word == "--with").map(|at| words[at + 1].clone());
            // A ping has one request in a second.
            let time = if words.iter().any(|word| word.starts_with("ping ")) { "1200ms" } else { "300ms" };
            set(words, "--with", &format!("{} -t {time}", behind.unwrap_or_default()));
            set(words, "--runs", "6");
            words.push("--no-moves".to_owned());
            if let Some(at) = words.iter().position(|word| word == "--budget") {
                words.drain(at..at + 2);
            }
        }
        "look" => set(words, "-t", "1"),
        host if host.parse::<IpAddr>().is_ok() || host.parse::<SocketAddr>().is_ok() => set(words, "-t", "1"),
        _ => {}
    }
}
