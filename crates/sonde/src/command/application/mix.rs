//! Requests of several kinds from a file: `--mix FILE`, in TOML.

use std::path::Path;

use measure::method::mix::Order;
use measure::unit::Bytes;
use protocol::application::dns::{OverTcp, Question};
use protocol::application::h2::H2;
use protocol::application::h3::H3;
use protocol::application::http::{Expected, Http, Request, RequestError};
use protocol::application::memcached::Commands as MemcachedCommands;
use protocol::application::mix::{Item, MOST_CLASSES, MOST_REQUESTS, Mix};
use protocol::application::mysql::Mysql;
use protocol::application::postgres::Postgres;
use protocol::application::redis::Commands as RedisCommands;
use protocol::application::talk::Talk;
use protocol::application::{self, Application, Protocol, Speech};
use serde::Deserialize;
use toml::Spanned;

use super::{ApplicationOptions, MYSQL, POSTGRES, Whom, agent, expected, host_field, read};
use crate::failure::Failure;

/// The option that names the file.
const OPTION: &str = "--mix";
/// The most octets of all requests together: each stands ready before the first is asked.
const MOST_OCTETS: usize = 64 << 20;
/// The largest weight.
const LARGEST_WEIGHT: u32 = 1_000_000;
/// Longest name of a class, characters.
const LONGEST_NAME: usize = 64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    order: Order,
    #[serde(default)]
    request: Vec<Spanned<Entry>>,
}

/// One request as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    name: Option<String>,
    weight: Option<u32>,
    method: Option<String>,
    path: Option<String>,
    #[serde(default)]
    headers: Vec<String>,
    body: Option<String>,
    body_file: Option<std::path::PathBuf>,
    expect: Option<String>,
    command: Option<String>,
    query: Option<String>,
    question: Option<String>,
    service: Option<String>,
}

/// The words that a protocol's requests are made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Http,
    Redis,
    Memcached,
    Postgres,
    Mysql,
    Dns,
    Grpc,
}

impl Kind {
    fn of(protocol: &Protocol) -> Option<Self> {
        Some(match protocol.name() {
            "http" | "https" | "h2c" | "h2" | "h3" => Self::Http,
            "redis" | "rediss" => Self::Redis,
            "memcached" => Self::Memcached,
            "postgres" | "postgres+tls" => Self::Postgres,
            "mysql" | "mysql+tls" => Self::Mysql,
            "grpc" | "grpcs" => Self::Grpc,
            "dns" | "dns+tcp" | "dns+tls" | "dns+https" => Self::Dns,
            _ => return None,
        })
    }

    /// The keys of its requests.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Http => &["method", "path", "headers", "body", "body-file", "expect"],
            Self::Redis => &["command"],
            Self::Memcached => &["command", "body", "body-file"],
            Self::Postgres | Self::Mysql => &["query"],
            Self::Grpc => &["service"],
            Self::Dns => &["question"],
        }
    }
}

impl Entry {
    /// The first key that this kind of request does not have.
    fn foreign(&self, kind: Kind) -> Option<&'static str> {
        let given = [
            ("method", self.method.is_some()),
            ("path", self.path.is_some()),
            ("headers", !self.headers.is_empty()),
            ("body", self.body.is_some()),
            ("body-file", self.body_file.is_some()),
            ("expect", self.expect.is_some()),
            ("command", self.command.is_some()),
            ("query", self.query.is_some()),
            ("question", self.question.is_some()),
            ("service", self.service.is_some()),
        ];
        given.into_iter().find_map(|(key, given)| (given && !kind.keys().contains(&key)).then_some(key))
    }

    /// Its body; one of a file that stands beside the list.
    fn body(&self, list: &Path) -> Result<Option<Vec<u8>>, String> {
        match (&self.body, &self.body_file) {
            (Some(_), Some(_)) => Err("`body` and `body-file` exclude each other".to_owned()),
            (Some(body), None) => Ok(Some(body.clone().into_bytes())),
            (None, Some(file)) => {
                let path = list.parent().unwrap_or_else(|| Path::new("")).join(file);
                read(&path, "body-file").map(Some).map_err(|failure| failure.told.what)
            }
            (None, None) => Ok(None),
        }
    }
}

/// One request as it is asked, and its usual name.
struct Written {
    talk: Asks,
    name: String,
    /// Octets of its body.
    body: usize,
}

/// As its protocol has it.
enum Asks {
    Talk(Box<Talk>),
    Packet(Question),
    H3(Box<H3>),
}

impl Asks {
    fn octets(&self) -> Vec<u8> {
        match self {
            Self::Talk(talk) => talk.request(),
            Self::Packet(question) => question.message().to_vec(),
            Self::H3(h3) => h3.request(),
        }
    }
}

/// A mix as it was asked for: its file, and the program that it is for.
pub struct Asker<'a> {
    /// The options.
    pub options: &'a ApplicationOptions,
    /// The protocol.
    pub protocol: &'static Protocol,
    /// The far side.
    pub whom: &'a Whom,
    /// The part of its URL behind the host.
    pub target: &'a str,
    /// The file.
    pub path: &'a Path,
}

impl Asker<'_> {
    /// The requests of the file.
    ///
    /// # Errors
    /// A protocol that has no such requests, a file that is no list of them, a request that cannot be asked.
    pub fn application(&self) -> Result<Application, Failure> {
        let kind = Kind::of(self.protocol).ok_or_else(|| {
            Failure::usage(format!("{} is asked one thing over and over", self.protocol.name())).hint(
                "--mix is for http, https, h2c, h2, h3, grpc, grpcs, redis, rediss, memcached, postgres, \
                       postgres+tls, mysql, mysql+tls, dns, dns+tcp, dns+tls and dns+https",
            )
        })?;
        let given = [("--request", self.options.request.is_some()), ("--body", self.options.body.is_some())];
        if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(Failure::usage(format!("{option} and --mix exclude each other"))
                .hint("write it into the list: `method = \"POST\"`, `body = \"…\"`"));
        }
        let text = String::from_utf8(read(self.path, OPTION)?)
            .map_err(|_| Failure::usage(format!("{}: is not text", self.path.display())).about(OPTION))?;
        let fault = |at: usize, what: String| {
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            Failure::usage(format!("{}, line {line}: {what}", self.path.display()))
                .hint("each request stands under [[request]]; docs/howto/applications.md has the words of a list")
                .about(OPTION)
        };
        let document: Document = toml::from_str(&text)
            .map_err(|error| fault(error.span().map_or(0, |span| span.start), error.message().to_owned()))?;
        let (order, count) = (document.order, document.request.len());
        if count == 0 || count > MOST_REQUESTS {
            return Err(fault(0, format!("{count} requests, and a list has 1 to {MOST_REQUESTS}")));
        }
        let (mut items, mut names, mut first) = (Vec::with_capacity(count), Vec::<String>::new(), None);
        let (mut octets, mut longest_body) = (0, 0);
        for entry in document.request {
            let at = entry.span().start;
            let entry = entry.into_inner();
            let (written, item) = self.item(kind, order, &entry, &mut names).map_err(|what| fault(at, what))?;
            octets += item.octets.len();
            longest_body = longest_body.max(written.body);
            if octets > MOST_OCTETS {
                let most = Bytes(MOST_OCTETS as u64);
                return Err(fault(at, format!("up to here the requests have more than {most} together")));
            }
            items.push(item);
            first.get_or_insert(written.talk);
        }
        let mix = Mix::new(order, items, names).ok_or_else(|| fault(0, "no request has a weight".to_owned()))?;
        let words = format!("mix of {count} request{}", if count == 1 { "" } else { "s" });
        self.told(first, mix, words, longest_body)
    }

    /// The application whose first request is `first`, the one that shows whether the peer speaks the protocol.
    fn told(&self, first: Option<Asks>, mix: Mix, words: String, longest_body: usize) -> Result<Application, Failure> {
        let protocol = self.protocol;
        let tls = protocol.tls.map(|inside| self.options.terms(self.whom, inside)).transpose()?;
        let asked = match first {
            Some(Asks::Talk(talk)) => application::Asked::Talk(match *talk {
                Talk::Http(http) => Talk::Http(Box::new(http.mixed())),
                Talk::H2(h2) => Talk::H2(Box::new(h2.mixed(longest_body, mix.items()))),
                Talk::Dns(dns) => Talk::Dns(Box::new(dns.mixed(mix.items()))),
                other => other,
            }),
            Some(Asks::Packet(question)) => application::Asked::Dns(question),
            Some(Asks::H3(h3)) => application::Asked::H3(h3),
            None => return Err(Failure::usage("a list without requests")),
        };
        Ok(Application { protocol, words, asked, mix: Some(mix), tls })
    }

    fn item(
        &self,
        kind: Kind,
        order: Order,
        entry: &Entry,
        names: &mut Vec<String>,
    ) -> Result<(Written, Item), String> {
        if let Some(key) = entry.foreign(kind) {
            let keys = kind.keys().join("`, `");
            return Err(format!("a request of {} has no `{key}`: it has `{keys}`", self.protocol.name()));
        }
        if order == Order::Sequence && entry.weight.is_some() {
            return Err("in a sequence each request has its turn: `weight` is for `order = \"weights\"`".to_owned());
        }
        let weight = entry.weight.unwrap_or(1);
        if weight > LARGEST_WEIGHT {
            return Err(format!("a weight of {weight}: the largest is {LARGEST_WEIGHT}"));
        }
        let written = self.written(kind, entry)?;
        let name = entry.name.as_ref().unwrap_or(&written.name);
        if name.is_empty() || name.chars().count() > LONGEST_NAME || name.contains(char::is_control) {
            return Err(format!(
                "a name has 1 to {LONGEST_NAME} characters, none of them a control character: write `name = \"…\"`"
            ));
        }
        let class = names.iter().position(|other| other == name).unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        });
        if class >= MOST_CLASSES {
            return Err(format!(
                "{name} is class {}, and {MOST_CLASSES} are told apart: requests with the same `name` are counted together",
                class + 1
            ));
        }
        let expected = entry.expect.as_deref().map(expected).transpose()?;
        let class = u16::try_from(class).map_err(|_| "too many classes".to_owned())?;
        let item = Item { octets: written.talk.octets(), weight, class, expected };
        Ok((written, item))
    }

    fn written(&self, kind: Kind, entry: &Entry) -> Result<Written, String> {
        let body = entry.body(self.path)?;
        let missing = |key: &str| format!("a request of {} has a `{key}`", self.protocol.name());
        let length = body.as_ref().map_or(0, Vec::len);
        let said = |talk: Talk, name: String| Written { talk: Asks::Talk(Box::new(talk)), name, body: length };
        Ok(match kind {
            Kind::Http if self.protocol.name() == "h3" => {
                let (request, expected) = self.http(entry, body)?;
                let h3 = H3::new(&request, expected).map_err(|error| error.to_string())?;
                let name = h3.words().to_owned();
                Written { talk: Asks::H3(Box::new(h3)), name, body: length }
            }
            Kind::Http => {
                let talk = self.http_talk(entry, body)?;
                let name = talk.words();
                said(talk, name)
            }
            Kind::Redis => {
                let command = entry.command.as_ref().ok_or_else(|| missing("command"))?;
                let commands = RedisCommands::new(command).map_err(|error| error.to_string())?;
                said(Talk::RedisCommands(commands), first_word(command).to_ascii_uppercase())
            }
            Kind::Memcached => {
                let command = entry.command.as_ref().ok_or_else(|| missing("command"))?;
                let commands = MemcachedCommands::new(command, body.as_deref()).map_err(|error| error.to_string())?;
                said(Talk::MemcachedCommands(commands), first_word(command).to_owned())
            }
            Kind::Postgres => {
                let query = entry.query.as_ref().ok_or_else(|| missing("query"))?;
                let login =
                    self.options.login(self.whom, self.target, &POSTGRES).map_err(|failure| failure.told.what)?;
                let within_tls = self.protocol.tls.is_some();
                let postgres = Postgres::new(login, [0; 16]);
                let postgres = if within_tls { postgres.within_tls() } else { postgres };
                let postgres = postgres.asking(query).map_err(|error| error.to_string())?;
                said(Talk::Postgres(Box::new(postgres)), first_word(query).to_ascii_uppercase())
            }
            Kind::Mysql => {
                let query = entry.query.as_ref().ok_or_else(|| missing("query"))?;
                let login = self.options.login(self.whom, self.target, &MYSQL).map_err(|failure| failure.told.what)?;
                let mysql = Mysql::new(login);
                let within_tls = self.protocol.tls.is_some();
                let mysql = if within_tls { mysql.within_tls(!self.options.insecure) } else { mysql };
                let mysql = mysql.asking(query).map_err(|error| error.to_string())?;
                said(Talk::Mysql(Box::new(mysql)), first_word(query).to_ascii_uppercase())
            }
            Kind::Grpc => {
                let service = entry.service.as_ref().ok_or_else(|| missing("service"))?;
                let host = host_field(&self.whom.far, self.protocol.port);
                let health = H2::health(&host, service, self.protocol.tls.is_some());
                let health = health.map_err(|error| error.to_string())?;
                let name = health.words().to_owned();
                said(Talk::H2(Box::new(health)), name)
            }
            Kind::Dns => {
                let text = entry.question.as_ref().ok_or_else(|| missing("question"))?;
                let mut words = text.split_whitespace();
                let (Some(name), kind, None) = (words.next(), words.next(), words.next()) else {
                    return Err("a question is a name and a type, as in `example.org AAAA`".to_owned());
                };
                let question = Question::new(name, kind.unwrap_or("A")).map_err(|error| error.to_string())?;
                let name = question.words().to_owned();
                match self.protocol.name() {
                    "dns" => Written { talk: Asks::Packet(question), name, body: 0 },
                    "dns+https" => {
                        let (host, body) = (host_field(&self.whom.far, self.protocol.port), question.length());
                        let h2 = H2::dns(question, &host, &agent()).map_err(|error| error.to_string())?;
                        Written { talk: Asks::Talk(Box::new(Talk::H2(Box::new(h2)))), name, body }
                    }
                    _ => said(Talk::Dns(Box::new(OverTcp::new(question, [0; 16]))), name),
                }
            }
        })
    }

    fn http_talk(&self, entry: &Entry, body: Option<Vec<u8>>) -> Result<Talk, String> {
        let (request, expected) = self.http(entry, body)?;
        let wrong = |error: RequestError| error.to_string();
        Ok(match self.protocol.name() {
            "h2c" | "h2" => {
                Talk::H2(Box::new(H2::new(&request, expected, self.protocol.tls.is_some()).map_err(wrong)?))
            }
            _ => Talk::Http(Box::new(Http::new(&request, expected).map_err(wrong)?)),
        })
    }

    /// The request of HTTP, and the statuses that it takes for answers.
    fn http(&self, entry: &Entry, body: Option<Vec<u8>>) -> Result<(Request, Expected), String> {
        let target = entry.path.as_deref().unwrap_or(self.target);
        let usual = self.options.http_request(self.protocol, self.whom, target).map_err(|failure| failure.told.what)?;
        let mut fields = usual.fields;
        for line in &entry.headers {
            fields.push(Request::field(line).map_err(|error| error.to_string())?);
        }
        let method = entry.method.clone().unwrap_or_else(|| if body.is_some() { "POST" } else { "GET" }.to_owned());
        let request = Request { method, fields, body: body.unwrap_or_default(), ..usual };
        Ok((request, self.options.expect.clone().unwrap_or_default()))
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
