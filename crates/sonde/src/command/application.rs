//! A program at work as the far side: `redis://db1`, `http://api/health`, `dns://10.0.0.53/example.org`, and the options that refine it.

mod login;
mod mix;
mod whom;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use endpoint::rtt::Protocol as Spoken;
use measure::method::{Asked, Carrier, Pattern, Schedule};
use measure::reach::Transport;
use measure::unit::{Bytes, Nanos};
use protocol::application::dns::{OverTcp, Question};
use protocol::application::h2::H2;
use protocol::application::h3::H3;
use protocol::application::http::{Expected, Http, Request, RequestError};
use protocol::application::kafka::Kafka;
use protocol::application::memcached::Memcached;
use protocol::application::mqtt::Mqtt;
use protocol::application::mysql::Mysql;
use protocol::application::nats::Nats;
use protocol::application::postgres::Postgres;
use protocol::application::quic;
use protocol::application::redis::Redis;
use protocol::application::sip::Options;
use protocol::application::ssh::Ssh;
use protocol::application::talk::Talk;
use protocol::application::websocket::{Upgrade, WebSocket};
use protocol::application::{self, ALL, Application, Protocol};
use protocol::tls::{Terms, TlsError, Trust};

use self::login::{MYSQL, POSTGRES};
use self::mix::Asker;
pub use self::whom::{Url, Whom, host_field};
use crate::failure::Failure;
use crate::program::PROGRAM;

/// The usual interval of requests to a program at work: a hundred a second, one after the other.
pub const INTERVAL: Nanos = Nanos::millis(10);
/// The same of SSH, whose servers bear few clients that do not log in.
const INTERVAL_OF_SSH: Nanos = Nanos::secs(1);
/// The highest rate without a word of the user's, requests per 1,000 seconds.
const MOST_UNFORCED: u64 = 100_000;
/// Longest file of fields or of a body, bytes.
const LONGEST_FILE: u64 = 16 << 20;

/// Options that refine the question to a program at work.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Application")]
pub struct ApplicationOptions {
    /// Ask the program at HOST in this protocol: redis, rediss, memcached, http, https, h2c, h2,
    /// h2ping, h2pings, h3, grpc, grpcs, ws, wss, dns, dns+tcp, dns+tls, dns+https, ntp, nats,
    /// mqtt, mqtts, postgres, postgres+tls, mysql, mysql+tls, kafka, ssh, sip, quic
    ///
    /// The same as a URL: `sonde rtt redis://db1`. A program at work is asked 100 times a second unless a schedule is given.
    #[arg(long, value_name = "PROTOCOL", requires = "host", hide_possible_values = true, value_parser = protocols())]
    pub app: Option<&'static Protocol>,
    /// Ask a program at work back to back, or more than 100 times a second
    ///
    /// Its other users wait meanwhile: a Redis answers one request at a time, and a web server writes a line of log for each.
    #[arg(long)]
    pub force: bool,
    /// PostgreSQL, MySQL: a file with the password [default: the value of `PGPASSWORD` or `MYSQL_PWD`, where it is set]
    ///
    /// It proves that we know it and is never sent; a server that wants it in clear or as MD5 does not get it.
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// TLS: a file with the certificates to trust, in PEM [default: those that this host trusts]
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// TLS: the name that the certificate must be for, where HOST is another
    #[arg(long, value_name = "NAME")]
    pub tls_name: Option<String>,
    /// TLS: do not verify the certificate: anybody may answer then, and the record says so
    #[arg(long, conflicts_with = "ca")]
    pub insecure: bool,
    /// TLS: take up the session of an earlier connection again, where the server gives tickets for it [default: each handshake is full]
    ///
    /// With --crr. The result says how many handshakes were resumed: a server may give one ticket for several connections, or none.
    #[arg(long)]
    pub resume: bool,
    /// HTTP: the request method, as in HEAD or POST [default: GET, with --body POST]
    #[arg(long, value_name = "METHOD")]
    pub request: Option<String>,
    /// WebSocket: the protocol inside, where the server wants one, as in mqtt
    #[arg(long, value_name = "WORD")]
    pub subprotocol: Option<String>,
    /// HTTP, WebSocket: a file with header fields, one `Name: value` on each line
    #[arg(long, value_name = "FILE")]
    pub headers: Option<PathBuf>,
    /// HTTP: a file to send as the body
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,
    /// HTTP: status codes that count as answered, as in 2xx or 200,404; others count as refused [default: all but 408, 429, 502, 503
    /// and 504]
    #[arg(long, value_name = "STATUSES", value_parser = expected)]
    pub expect: Option<Expected>,
    /// Ask the requests of this TOML file, drawn by their weights or in its order [default: one thing over and over]
    ///
    /// Each is counted in its class. HTTP (method, path, headers, body), Redis and memcached (command), PostgreSQL and MySQL (query), gRPC (service), DNS (question). The page on programs at work has
    /// the words of the file.
    #[arg(long, value_name = "FILE")]
    pub mix: Option<PathBuf>,
}

fn protocols() -> impl TypedValueParser<Value = &'static Protocol> {
    let names = ALL.iter().flat_map(|protocol| protocol.schemes).copied();
    PossibleValuesParser::new(names).map(|name| application::of(&name).unwrap_or(&ALL[0]))
}

/// The status codes that count as answered, as in `2xx,404`.
///
/// # Errors
/// Text that is no status.
pub fn expected(text: &str) -> Result<Expected, String> {
    let (mut statuses, mut classes) = (Vec::new(), Vec::new());
    for part in text.split(',') {
        let class = part.strip_suffix("xx").and_then(|digit| digit.parse().ok()).filter(|class| (1..6).contains(class));
        let status = part.parse().ok().filter(|status| (100..600).contains(status));
        match (class, status) {
            (Some(class), _) => classes.push(class),
            (None, Some(status)) => statuses.push(status),
            (None, None) => return Err(format!("`{part}` is not a status: write 200, or 2xx for all of 200 to 299")),
        }
    }
    Ok(Expected::Only { statuses, classes })
}

impl ApplicationOptions {
    fn is_of_http(&self) -> Option<&'static str> {
        let given = [
            ("--request", self.request.is_some()),
            ("--body", self.body.is_some()),
            ("--expect", self.expect.is_some()),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    fn is_of_tls(&self) -> Option<&'static str> {
        let given = [
            ("--ca", self.ca.is_some()),
            ("--tls-name", self.tls_name.is_some()),
            ("--insecure", self.insecure),
            ("--resume", self.resume),
        ];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    /// The program that is asked at `whom`; `None` where one that is there for measurements is.
    ///
    /// # Errors
    /// An option of another protocol, a file that cannot be read, a question that cannot be asked.
    pub fn application(&self, whom: Option<&Whom>) -> Result<Option<Application>, Failure> {
        let url = whom.and_then(|whom| whom.url.as_ref());
        let protocol = match (self.app, url) {
            (Some(app), Some(url)) if app != url.protocol => {
                return Err(Failure::usage(format!(
                    "--app {} and {}:// are two protocols",
                    app.name(),
                    url.protocol.name()
                ))
                .hint("remove one of them"));
            }
            (app, url) => app.or(url.map(|url| url.protocol)),
        };
        let http = protocol.is_some_and(|protocol| matches!(protocol.name(), "http" | "https" | "h2c" | "h2" | "h3"));
        if let Some(option) = self.is_of_http().filter(|_| !http) {
            return Err(Failure::usage(format!("{option} is for HTTP")).hint("ask with http://HOST/PATH"));
        }
        let websocket = protocol.is_some_and(|protocol| matches!(protocol.name(), "ws" | "wss"));
        if self.headers.is_some() && !http && !websocket {
            return Err(Failure::usage("--headers is for HTTP and WebSocket").hint("ask with http://HOST/PATH"));
        }
        if self.subprotocol.is_some() && !websocket {
            return Err(Failure::usage("--subprotocol is for WebSocket").hint("ask with ws://HOST/PATH"));
        }
        let logs_in = protocol
            .is_some_and(|protocol| matches!(protocol.name(), "postgres" | "postgres+tls" | "mysql" | "mysql+tls"));
        if self.password_file.is_some() && !logs_in {
            return Err(Failure::usage("--password-file is for PostgreSQL and MySQL")
                .hint("ask with postgres://USER@HOST or mysql://USER@HOST"));
        }
        if let Some(option) = self.is_of_tls().filter(|_| protocol.is_none_or(|protocol| protocol.tls.is_none())) {
            return Err(Failure::usage(format!("{option} is for TLS")).hint(
                "ask with https://, or another protocol within TLS (`sonde rtt --help` lists them under --app)",
            ));
        }
        let named = logs_in || protocol.is_some_and(|protocol| protocol.name() == "sip");
        if let Some(url) = url.filter(|url| url.user.is_some() && !named) {
            return Err(
                Failure::usage(format!("{} has no login", url.protocol.name())).hint("remove the name before the host")
            );
        }
        if let (None, Some(_)) = (protocol, &self.mix) {
            return Err(
                Failure::usage("--mix is for programs at work").hint("ask one with http://HOST or redis://HOST")
            );
        }
        if let (None, true) = (protocol, self.force) {
            return Err(Failure::usage("--force is for programs at work: what is there for measurements needs none"));
        }
        let Some((protocol, whom)) = protocol.zip(whom) else { return Ok(None) };
        let target = url.map_or("", |url| &url.target);
        match &self.mix {
            Some(path) => Asker { options: self, protocol, whom, target, path }.application().map(Some),
            None => self.asked(protocol, whom, target).map(Some),
        }
    }

    fn asked(&self, protocol: &'static Protocol, whom: &Whom, target: &str) -> Result<Application, Failure> {
        let name = protocol.name();
        let asked = match name {
            "h2c" | "h2" => {
                let request = self.http_request(protocol, whom, target)?;
                let asked = H2::new(&request, self.expect.clone().unwrap_or_default(), protocol.tls.is_some());
                Talk::H2(Box::new(asked.map_err(|error| Failure::usage(error.to_string()))?))
            }
            "h3" => {
                let request = self.http_request(protocol, whom, target)?;
                let h3 = H3::new(&request, self.expect.clone().unwrap_or_default());
                let h3 = Box::new(h3.map_err(|error| Failure::usage(error.to_string()))?);
                let tls = protocol.tls.map(|inside| self.terms(whom, inside)).transpose()?;
                let words = h3.words().to_owned();
                return Ok(Application { protocol, words, asked: application::Asked::H3(h3), mix: None, tls });
            }
            "grpc" | "grpcs" => {
                let host = host_field(&whom.far, protocol.port);
                let service = target.trim_start_matches('/');
                let asked = H2::health(&host, service, protocol.tls.is_some());
                Talk::H2(Box::new(asked.map_err(|error| Failure::usage(error.to_string()))?))
            }
            "dns+https" => {
                let host = host_field(&whom.far, protocol.port);
                let asked = H2::dns(question(target)?, &host, &agent());
                Talk::H2(Box::new(asked.map_err(|error| Failure::usage(error.to_string()))?))
            }
            "http" | "https" => Talk::Http(Box::new(self.http(protocol, whom, target)?)),
            "dns" => {
                let question = question(target)?;
                let words = question.words().to_owned();
                return Ok(Application {
                    protocol,
                    words,
                    asked: application::Asked::Dns(question),
                    mix: None,
                    tls: None,
                });
            }
            // Each connection draws numbers of its own.
            "dns+tcp" | "dns+tls" => Talk::Dns(Box::new(OverTcp::new(question(target)?, [0; 16]))),
            "postgres" => Talk::Postgres(Box::new(Postgres::new(self.login(whom, target, &POSTGRES)?, [0; 16]))),
            "postgres+tls" => {
                let login = self.login(whom, target, &POSTGRES)?;
                Talk::Postgres(Box::new(Postgres::new(login, [0; 16]).within_tls()))
            }
            "mysql" => Talk::Mysql(Box::new(Mysql::new(self.login(whom, target, &MYSQL)?))),
            "mysql+tls" => {
                let login = self.login(whom, target, &MYSQL)?;
                Talk::Mysql(Box::new(Mysql::new(login).within_tls(!self.insecure)))
            }
            "ws" | "wss" => Talk::WebSocket(Box::new(self.websocket(protocol, whom, target)?)),
            "memcached" if target == "/version" => Talk::Memcached(Memcached::Version),
            _ if !matches!(target, "" | "/") => {
                return Err(Failure::usage(format!("{name} is asked nothing that {target} could say"))
                    .hint(format!("write {name}://{} alone", whom.far.host)));
            }
            "ntp" => {
                return Ok(Application {
                    protocol,
                    words: "time".to_owned(),
                    asked: application::Asked::Ntp,
                    mix: None,
                    tls: None,
                });
            }
            "quic" => {
                let words = quic::WORDS.to_owned();
                return Ok(Application { protocol, words, asked: application::Asked::Quic, mix: None, tls: None });
            }
            "sip" => {
                let user = whom.url.as_ref().and_then(|url| url.user.as_deref());
                let options = Options::new(&host_field(&whom.far, protocol.port), user, &agent());
                let options = options.map_err(|error| Failure::usage(error.to_string()))?;
                let words = options.words().to_owned();
                return Ok(Application {
                    protocol,
                    words,
                    asked: application::Asked::Sip(options),
                    mix: None,
                    tls: None,
                });
            }
            "kafka" => Talk::Kafka(Kafka),
            "ssh" => Talk::Ssh(Ssh::default()),
            "h2ping" | "h2pings" => Talk::H2(Box::new(H2::ping())),
            "memcached" => Talk::Memcached(Memcached::NoOperation),
            "nats" => Talk::Nats(Nats::default()),
            "mqtt" | "mqtts" => Talk::Mqtt(Mqtt::default()),
            "redis" | "rediss" => Talk::Redis(Redis),
            other => return Err(Failure::usage(format!("sonde does not know how {other} is asked"))),
        };
        let tls = protocol.tls.map(|inside| self.terms(whom, inside)).transpose()?;
        Ok(Application { tls, ..Application::talk(protocol, asked) })
    }

    /// The terms of TLS with `whom`, for what is called `inside` there.
    fn terms(&self, whom: &Whom, inside: &str) -> Result<Terms, Failure> {
        let trust = match &self.ca {
            Some(path) => {
                let wrong = |why: &str| Failure::usage(format!("--ca {}: {why}", path.display())).about("--ca");
                let trust = Trust::from_pem(&read(path, "--ca")?).map_err(|why| wrong(&why))?;
                match trust {
                    Trust::Roots(found) if found.is_empty() => return Err(wrong("has no certificate in PEM")),
                    trust => trust,
                }
            }
            None if self.insecure => Trust::Anybody,
            None => Trust::Roots(crate::system::trusted_certificates()),
        };
        let host = whom.far.host.split('%').next().unwrap_or_default();
        let name = self.tls_name.as_deref().unwrap_or(host);
        let terms = Terms::new(name, &trust, inside).map(|terms| if self.resume { terms.resuming() } else { terms });
        terms.map_err(|error| {
            let failure = Failure::usage(format!("{name}: {error}"));
            match error {
                TlsError::NoRoots => {
                    failure.hint("install this system's certificates (ca-certificates), or name some by --ca")
                }
                _ => failure.hint("say by --tls-name which name its certificate is for"),
            }
        })
    }

    fn http(&self, protocol: &Protocol, whom: &Whom, target: &str) -> Result<Http, Failure> {
        let request = self.http_request(protocol, whom, target)?;
        Http::new(&request, self.expect.clone().unwrap_or_default()).map_err(|error| Failure::usage(error.to_string()))
    }

    fn http_request(&self, protocol: &Protocol, whom: &Whom, target: &str) -> Result<Request, Failure> {
        let body = self.body.as_deref().map(|path| read(path, "--body")).transpose()?.unwrap_or_default();
        let usual = if self.body.is_some() { "POST" } else { "GET" };
        Ok(Request {
            method: self.request.clone().unwrap_or_else(|| usual.to_owned()),
            host: host_field(&whom.far, protocol.port),
            target: if target.starts_with('/') { target.to_owned() } else { format!("/{target}") },
            fields: self.headers.as_deref().map(fields).transpose()?.unwrap_or_default(),
            body,
            agent: agent(),
        })
    }

    fn websocket(&self, protocol: &Protocol, whom: &Whom, target: &str) -> Result<WebSocket, Failure> {
        let upgrade = Upgrade {
            host: host_field(&whom.far, protocol.port),
            target: if target.starts_with('/') { target.to_owned() } else { format!("/{target}") },
            subprotocol: self.subprotocol.clone(),
            fields: self.headers.as_deref().map(fields).transpose()?.unwrap_or_default(),
            agent: agent(),
        };
        WebSocket::new(&upgrade, [0; 16]).map_err(|error| Failure::usage(error.to_string()))
    }

    /// Holds a schedule to what a program at work is asked without a word; with a window so many `paces` keep it, each by itself.
    ///
    /// # Errors
    /// More than that, without the word.
    pub fn check_rate(&self, schedule: Option<Schedule>, window: Option<u32>, paces: u32) -> Result<(), Failure> {
        let often = match schedule {
            Some(Schedule::BackToBack) | None => true,
            Some(schedule) => {
                let paces = u64::from(if window.is_some_and(|most| most > 0) { paces } else { 1 });
                let often = |gap: Nanos| {
                    gap == Nanos::ZERO || (1_000_000_000_000 / gap.0).saturating_mul(paces) > MOST_UNFORCED
                };
                schedule.mean_gap().is_none_or(often)
            }
        };
        if self.force || !often {
            return Ok(());
        }
        let what = if schedule.is_none() && window.is_some() {
            "a window without a schedule asks a program at work as fast as it answers"
        } else {
            "more than 100 requests a second load a program at work, and its other users wait"
        };
        Err(Failure::usage(what).hint("add --force where that is meant, or ask with --every 10ms"))
    }
}

/// Fills in the method for a program at work: carrier, size of a request, and where nobody said so schedule and window.
///
/// # Errors
/// A method that cannot be asked of one.
pub fn towards(application: &Application, options: &ApplicationOptions, asked: Asked) -> Result<Asked, Failure> {
    let carrier = if application.protocol.over == Transport::Udp { Carrier::Udp } else { Carrier::Tcp };
    let name = application.protocol.name();
    let anew = asked.pattern == Some(Pattern::ConnectExchange);
    let over_quic = matches!(application.asked, application::Asked::H3(_));
    let connects = over_quic || carrier == Carrier::Tcp;
    if asked.carrier.is_some_and(|other| other != carrier)
        || asked.pattern.is_some_and(|other| other != Pattern::Exchange && !(anew && connects))
    {
        return Err(
            Failure::usage(format!("{name} is asked over {carrier}")).hint("remove --udp, --icmp, --connect or --crr")
        );
    }
    if asked.request_bytes.is_some() || asked.response_bytes.is_some() {
        return Err(Failure::usage(format!(
            "requests and replies of {name} have the sizes that its protocol gives them"
        ))
        .hint("remove --size, --request-size and --response-size"));
    }
    if asked.peer_waiting.is_some() || !asked.peer_cpus.is_empty() {
        return Err(Failure::usage(format!(
            "sonde cannot set the wait mode or the CPU of a program that speaks {name}"
        ))
        .hint("remove --peer-wait and --peer-cpu"));
    }
    if options.resume && !anew {
        return Err(Failure::usage("--resume is for a connection each: those that are kept make one handshake")
            .hint("add --crr"));
    }
    if name == "ssh" && !anew {
        return Err(Failure::usage("SSH says its version once on a connection").hint("add --crr"));
    }
    if over_quic && asked.stamps == Some(true) {
        return Err(Failure::usage("a reply over QUIC has no one datagram whose timestamps would be its own")
            .hint("remove --stamps"));
    }
    // A server of WebSocket answers the first or the latest of several pings, and one of MySQL promises no more than one command at a time.
    let alone = anew || matches!(name, "ws" | "wss" | "mysql" | "mysql+tls");
    if alone && asked.window.is_some_and(|window| window != 1) {
        let what = if anew { "requests with a connection each".to_owned() } else { format!("requests of {name}") };
        return Err(Failure::usage(format!("{what} go one at a time"))
            .hint("remove --window; --connections lets several be out at once"));
    }
    // With a window each connection keeps the schedule by itself, unless one thread takes them in turn.
    let paces = if asked.in_turn { 1 } else { asked.connections.unwrap_or(1).max(1) };
    // One after the other, a hundred a second of all connections together, unless somebody says otherwise.
    let unsaid = asked.schedule.is_none() && asked.window.is_none() && !options.force;
    let (schedule, window) = if unsaid {
        let of_all = if name == "ssh" { INTERVAL_OF_SSH } else { INTERVAL };
        (Some(Schedule::Every { interval_ns: Nanos(of_all.0.saturating_mul(u64::from(paces))) }), Some(1))
    } else {
        (asked.schedule, if alone { Some(1) } else { asked.window })
    };
    options.check_rate(schedule, window, paces)?;
    let request_bytes = Some(Bytes(application.request_length() as u64));
    Ok(Asked {
        carrier: Some(carrier),
        schedule,
        window,
        request_bytes,
        application: Some(application.said()),
        stamps: if over_quic { Some(false) } else { asked.stamps },
        ..asked
    })
}

/// The usual port of what is spoken, where it is that of a program at work.
pub fn usual_port(protocol: &Spoken) -> Option<u16> {
    match protocol {
        Spoken::Application(application) => Some(application.protocol.port),
        _ => None,
    }
}

/// This program, as it names itself to servers.
pub fn agent() -> String {
    PROGRAM.replace(' ', "/")
}

fn fields(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    let text = String::from_utf8(read(path, "--headers")?)
        .map_err(|_| Failure::usage(format!("{}: is not text", path.display())).about("--headers"))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(place, line)| {
            let wrong = |error: RequestError| {
                Failure::usage(format!("{}: line {}: {error}", path.display(), place + 1)).about("--headers")
            };
            Request::field(line).map_err(wrong)
        })
        .collect()
}

/// A file that is no longer than one would send.
///
/// # Errors
/// One that is longer, or cannot be read.
pub fn read(path: &Path, option: &str) -> Result<Vec<u8>, Failure> {
    let wrong = |why: String| Failure::usage(format!("{option} {}: {why}", path.display())).about(option);
    let size = fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
    if size > LONGEST_FILE {
        return Err(wrong(format!("has {}: at most {} are sent", Bytes(size), Bytes(LONGEST_FILE))));
    }
    fs::read(path).map_err(|error| wrong(error.to_string()))
}

/// The question that stands behind the host: `/NAME?type=AAAA`, or `?name=NAME&type=AAAA`. Without one the root's servers are asked for.
fn question(target: &str) -> Result<Question, Failure> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (mut name, mut kind) = (path.trim_start_matches('/'), None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("name", value)) if name.is_empty() => name = value,
            Some(("type", value)) => kind = Some(value),
            _ => {
                return Err(Failure::usage(format!("a question of DNS has no `{pair}`"))
                    .hint("write dns://SERVER/example.org?type=AAAA"));
            }
        }
    }
    let (name, usual) = if name.is_empty() { (".", "NS") } else { (name, "A") };
    Question::new(name, kind.unwrap_or(usual))
        .map_err(|error| Failure::usage(error.to_string()).hint("write dns://SERVER/example.org?type=AAAA"))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn application(url: &str) -> Result<Application, String> {
        let whom: Whom = url.parse()?;
        // Nobody is verified here: a machine without certificates would not do for it.
        let insecure = whom.url.as_ref().is_some_and(|url| url.protocol.tls.is_some());
        let found = ApplicationOptions { insecure, ..ApplicationOptions::default() }
            .application(Some(&whom))
            .map_err(|failure| failure.told.what)?;
        found.ok_or_else(|| "none".to_owned())
    }

    #[test_case("redis://db1", "redis PING")]
    #[test_case("VALKEY://db1/", "redis PING"; "valkey speaks redis")]
    #[test_case("memcached://db1/version", "memcached version")]
    #[test_case("http://db1:8080/health?x=1#here", "http GET /health?x=1")]
    #[test_case("http://db1?x=1", "http GET /?x=1")]
    #[test_case("dns://10.0.0.53/example.org?type=aaaa", "dns AAAA example.org")]
    #[test_case("dns://10.0.0.53?name=example.org", "dns A example.org")]
    #[test_case("dns+tcp://[::1]", "dns+tcp NS .")]
    #[test_case("ntp://[::1]:1123", "ntp time")]
    #[test_case("postgresql://me@db1/shop", "postgres Sync")]
    #[test_case("https://db1/health", "https GET /health")]
    #[test_case("wss://db1", "wss Ping /")]
    #[test_case("h2c://db1/health", "h2c GET /health")]
    #[test_case("h2pings://db1", "h2pings PING")]
    #[test_case("grpc://db1/shop.Cart", "grpc Health/Check shop.Cart")]
    #[test_case("mariadb://me@db1/shop", "mysql COM_PING")]
    #[test_case("kafka://db1", "kafka ApiVersions")]
    #[test_case("sip://me@db1:5070", "sip OPTIONS sip:me@db1:5070")]
    #[test_case("quic://db1", "quic Version Negotiation")]
    #[test_case("h3://db1:4433/health?x", "h3 GET /health?x")]
    #[test_case("rediss://db1", "rediss PING")]
    #[test_case("dns+tls://[::1]/example.org", "dns+tls A example.org")]
    #[test_case("dns+https://db1/example.org?type=AAAA", "dns+https AAAA example.org")]
    #[test_case("mqtts://db1:8884", "mqtts PINGREQ")]
    #[test_case("ssh://db1", "ssh version")]
    fn a_url_says_what_is_asked(url: &str, expected: &str) {
        let found = application(url).unwrap();
        assert_eq!(format!("{} {}", found.protocol.name(), found.words), expected);
    }

    #[test_case("gopher://db1", "begins with gopher://"; "a protocol that is not spoken")]
    #[test_case("postgres://user:word@db1", "has a password"; "a password")]
    #[test_case("postgres://user:wo/rd@db1", "has a password"; "a password with a slash")]
    #[test_case("redis://user@db1", "redis has no login"; "a name")]
    #[test_case("postgres://me@db1/a/b", "is not a database"; "a path")]
    #[test_case("redis://", "is not a host"; "no host")]
    #[test_case("redis://db1/5", "redis is asked nothing that /5 could say"; "a path that says nothing")]
    #[test_case("dns://10.0.0.53/a?class=CH", "has no `class=CH`"; "a part that is none")]
    #[test_case("dns://10.0.0.53/a..b", "empty or longer"; "a name that is none")]
    #[test_case("http://db1/a b", "without spaces"; "a space")]
    fn what_cannot_be_asked_is_said(url: &str, expected: &str) {
        let told = application(url).unwrap_err();
        assert!(told.contains(expected), "{told}");
    }

    #[test_case("2xx,404", &Ok(Expected::Only { statuses: vec![404], classes: vec![2] }))]
    #[test_case("ok", &Err("`ok` is not a status: write 200, or 2xx for all of 200 to 299".into()))]
    #[test_case("999", &Err("`999` is not a status: write 200, or 2xx for all of 200 to 299".into()))]
    fn statuses_are_read(text: &str, found: &Result<Expected, String>) {
        assert_eq!(&expected(text), found);
    }

    #[test]
    fn a_program_at_work_is_asked_a_hundred_times_a_second() {
        let redis = application("redis://db1").unwrap();
        let asked_by =
            |options: &ApplicationOptions, asked| towards(&redis, options, asked).map_err(|failure| failure.told.what);
        let usual = asked_by(&ApplicationOptions::default(), Asked::default()).unwrap();
        assert_eq!((usual.schedule, usual.window), (Some(Schedule::Every { interval_ns: INTERVAL }), Some(1)));
        let eight = Asked { connections: Some(8), ..Asked::default() };
        let shared = asked_by(&ApplicationOptions::default(), eight.clone()).unwrap();
        assert_eq!(shared.schedule, Some(Schedule::Every { interval_ns: Nanos(8 * INTERVAL.0) }), "of each connection");
        let each = Asked { schedule: usual.schedule, window: Some(1), ..eight.clone() };
        assert!(asked_by(&ApplicationOptions::default(), each).is_err(), "800 a second");
        let open = Asked { schedule: usual.schedule, ..eight };
        assert!(asked_by(&ApplicationOptions::default(), open).is_ok(), "an open loop shares it");
        let ssh = application("ssh://db1").unwrap();
        let told = towards(&ssh, &ApplicationOptions::default(), Asked::default()).unwrap_err().told.hint;
        assert_eq!(told.as_deref(), Some("add --crr"));
        let anew = Asked { pattern: Some(Pattern::ConnectExchange), ..Asked::default() };
        let asked = towards(&ssh, &ApplicationOptions::default(), anew).unwrap();
        assert_eq!(asked.schedule, Some(Schedule::Every { interval_ns: INTERVAL_OF_SSH }));
        let often = Asked { schedule: Some(Schedule::Every { interval_ns: Nanos(1_000_000) }), ..Asked::default() };
        assert!(asked_by(&ApplicationOptions::default(), often.clone()).is_err());
        assert!(asked_by(&ApplicationOptions::default(), Asked { window: Some(4), ..Asked::default() }).is_err());
        let forced = ApplicationOptions { force: true, ..ApplicationOptions::default() };
        assert_eq!(asked_by(&forced, Asked::default()).unwrap().schedule, None);
        assert!(asked_by(&forced, often).is_ok());
        assert!(asked_by(&forced, Asked { carrier: Some(Carrier::Udp), ..Asked::default() }).is_err());
        assert!(asked_by(&forced, Asked { request_bytes: Some(Bytes(9)), ..Asked::default() }).is_err());
    }
}
