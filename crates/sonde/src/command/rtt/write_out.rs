//! `--write-out`: a text of one's own for each request, in the variables that curl has for it.
//!
//! Times are seconds since the request began: since its connection was asked for. A time that did not happen, or is not
//! known, is empty.

use std::net::SocketAddr;
use std::path::Path;

use measure::event::{Details, Exchange, Fate};
use measure::unit::Instant;
use protocol::application::{Application, Kind};

use crate::command::application::read;
use crate::command::argv::nearest;
use crate::failure::Failure;

/// A text with places for what was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(Variable),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variable {
    /// There is none: names are looked up once, before all requests, and redirects not followed.
    Nothing,
    Connect,
    Appconnect,
    Pretransfer,
    Posttransfer,
    Starttransfer,
    Total,
    ResponseCode,
    SizeHeader,
    SizeDownload,
    SpeedDownload,
    NumConnects,
    NumRedirects,
    RemoteIp,
    RemotePort,
    LocalPort,
    SslVerifyResult,
    Reply,
    Fate,
    Seq,
}

const VARIABLES: [(&str, Variable); 22] = [
    ("time_namelookup", Variable::Nothing),
    ("time_connect", Variable::Connect),
    ("time_appconnect", Variable::Appconnect),
    ("time_pretransfer", Variable::Pretransfer),
    ("time_posttransfer", Variable::Posttransfer),
    ("time_redirect", Variable::Nothing),
    ("time_starttransfer", Variable::Starttransfer),
    ("time_total", Variable::Total),
    ("response_code", Variable::ResponseCode),
    ("http_code", Variable::ResponseCode),
    ("size_header", Variable::SizeHeader),
    ("size_download", Variable::SizeDownload),
    ("speed_download", Variable::SpeedDownload),
    ("num_connects", Variable::NumConnects),
    ("num_redirects", Variable::NumRedirects),
    ("remote_ip", Variable::RemoteIp),
    ("remote_port", Variable::RemotePort),
    ("local_port", Variable::LocalPort),
    ("ssl_verify_result", Variable::SslVerifyResult),
    // These are sonde's own.
    ("reply", Variable::Reply),
    ("fate", Variable::Fate),
    ("seq", Variable::Seq),
];

impl Template {
    /// The template that was typed, or that stands in the file behind an `@`.
    ///
    /// # Errors
    /// A file that cannot be read, a variable that there is not.
    pub fn of(typed: &str) -> Result<Self, Failure> {
        let Some(path) = typed.strip_prefix('@') else { return Self::parse(typed) };
        let text = String::from_utf8(read(Path::new(path), "--write-out")?)
            .map_err(|_| Failure::usage(format!("--write-out {path}: is not text")).about("--write-out"))?;
        Self::parse(&text)
    }

    fn parse(typed: &str) -> Result<Self, Failure> {
        let (mut pieces, mut text, mut rest) = (Vec::new(), String::new(), typed);
        while let Some(sign) = rest.chars().next() {
            let behind = &rest[sign.len_utf8()..];
            let (plain, taken) = match (sign, behind.chars().next()) {
                ('\\', Some('n')) => ('\n', 2),
                ('\\', Some('r')) => ('\r', 2),
                ('\\', Some('t')) => ('\t', 2),
                ('%', Some('%')) => ('%', 2),
                ('%', Some('{')) => {
                    let (name, end) = behind[1..].split_once('}').ok_or_else(|| unclosed(rest))?;
                    let before = std::mem::take(&mut text);
                    pieces.extend((!before.is_empty()).then_some(Piece::Text(before)));
                    pieces.push(Piece::Value(variable(name)?));
                    rest = end;
                    continue;
                }
                _ => (sign, sign.len_utf8()),
            };
            text.push(plain);
            rest = &rest[taken..];
        }
        pieces.extend((!text.is_empty()).then_some(Piece::Text(text)));
        Ok(Self(pieces))
    }

    /// The variable that speaks of HTTP alone, where one is asked for.
    pub fn of_http(&self) -> Option<&'static str> {
        self.0.contains(&Piece::Value(Variable::ResponseCode)).then_some("response_code")
    }
}

fn unclosed(rest: &str) -> Failure {
    let begin: String = rest.chars().take(24).collect();
    Failure::usage(format!("--write-out: `{begin}` has no closing brace")).hint("write %% for a percent sign")
}

fn variable(name: &str) -> Result<Variable, Failure> {
    let names = || VARIABLES.iter().map(|(name, _)| *name);
    let found = VARIABLES.iter().find(|(known, _)| *known == name).map(|(_, variable)| *variable);
    found.ok_or_else(|| {
        let hint = match nearest(name, names()) {
            Some(near) => format!("did you mean %{{{near}}}?"),
            None => format!("write one of {}", names().collect::<Vec<_>>().join(", ")),
        };
        Failure::usage(format!("--write-out: there is no %{{{name}}} here")).hint(hint)
    })
}

/// A template, and what is the same for all requests of a run.
#[derive(Debug)]
pub struct Writing {
    template: Template,
    peer: SocketAddr,
    application: Application,
}

impl Writing {
    /// A writer of requests that ask `application` at `peer`.
    pub fn new(template: Template, peer: SocketAddr, application: Application) -> Self {
        Self { template, peer, application }
    }

    /// The text of a request.
    pub fn text(&self, exchange: &Exchange) -> String {
        self.template.0.iter().map(|piece| self.piece(piece, exchange)).collect()
    }

    fn piece(&self, piece: &Piece, exchange: &Exchange) -> String {
        let variable = match piece {
            Piece::Text(text) => return text.clone(),
            Piece::Value(variable) => variable,
        };
        let details = exchange.details.unwrap_or_default();
        self.value(*variable, exchange, &details).unwrap_or_default()
    }

    fn value(&self, variable: Variable, exchange: &Exchange, details: &Details) -> Option<String> {
        let after = |at: Option<Instant>| at?.since(exchange.sent?).map(|time| seconds(time.0));
        let kind = details.kind.map(|kind| self.application.asked.kind(Kind(kind)).into_owned());
        match variable {
            Variable::Nothing => None,
            Variable::Connect => after(details.connected),
            Variable::Appconnect => after(details.secured),
            Variable::Pretransfer => after(details.opened),
            Variable::Posttransfer => after(details.handed),
            Variable::Starttransfer => after(details.first),
            Variable::Total => after(details.last),
            Variable::ResponseCode | Variable::Reply => kind,
            Variable::SizeHeader => details.head.map(|head| head.0.to_string()),
            Variable::SizeDownload => details.body.map(|body| body.0.to_string()),
            Variable::SpeedDownload => {
                let time = details.last?.since(exchange.sent?)?.0;
                (u128::from(details.body?.0) * 1_000_000_000).checked_div(time.into()).map(|speed| speed.to_string())
            }
            Variable::NumConnects => Some(u8::from(details.connected.is_some()).to_string()),
            Variable::NumRedirects => Some("0".to_owned()),
            Variable::RemoteIp => details.connected.map(|_| self.peer.ip().to_string()),
            Variable::RemotePort => details.connected.map(|_| self.peer.port().to_string()),
            Variable::LocalPort => details.port.map(|port| port.to_string()),
            Variable::SslVerifyResult => {
                let verified = self.application.tls.as_ref().is_some_and(protocol::tls::Terms::is_verified);
                details.secured.filter(|_| verified).map(|_| "0".to_owned())
            }
            Variable::Fate => Some(fate(exchange.fate).to_owned()),
            Variable::Seq => Some(exchange.seq.to_string()),
        }
    }
}

/// Seconds with six decimals, as curl prints them.
fn seconds(nanos: u64) -> String {
    let micros = nanos.saturating_add(500) / 1_000;
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// The words of the column `fate` of a file of samples.
fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Answered => "answered",
        Fate::Late => "late",
        Fate::Lost => "lost",
        Fate::Refused => "refused",
        Fate::Corrupt => "corrupt",
        Fate::SendFailed => "send-failed",
    }
}

#[cfg(test)]
mod tests {
    use measure::unit::Bytes;
    use protocol::application::http::{Expected, Http, Request};
    use protocol::application::of;
    use protocol::application::talk::Talk;
    use test_case::test_case;

    use super::*;

    fn writing(template: &str) -> Writing {
        let request = Request {
            method: "GET".into(),
            host: "db1".into(),
            target: "/".into(),
            fields: Vec::new(),
            body: Vec::new(),
            agent: "sonde".into(),
        };
        let talk = Talk::Http(Box::new(Http::new(&request, Expected::Any).unwrap()));
        let application = Application::talk(of("http").unwrap(), talk);
        Writing::new(Template::parse(template).unwrap(), "10.0.0.7:81".parse().unwrap(), application)
    }

    fn exchange() -> Exchange {
        let details = Details {
            connected: Some(Instant(1_100_000)),
            opened: Some(Instant(1_200_400)),
            handed: Some(Instant(1_200_500)),
            first: Some(Instant(3_000_000)),
            last: Some(Instant(2_001_000_000)),
            port: Some(40_000),
            kind: Some(200),
            head: Some(Bytes(150)),
            body: Some(Bytes(5_000)),
            ..Details::default()
        };
        Exchange {
            flow: 0,
            seq: 7,
            intended: None,
            sent: Some(Instant(1_000_000)),
            received: Some(Instant(2_001_000_000)),
            fate: Fate::Answered,
            details: Some(details),
        }
    }

    #[test_case("", ""; "nothing")]
    #[test_case(r"a\tb\r\n%% 5% é\x\", "a\tb\r\n% 5% é\\x\\"; "escapes as curl has them")]
    #[test_case("%{time_connect} %{time_pretransfer} %{time_posttransfer}", "0.000100 0.000200 0.000201"; "the way to the request")]
    #[test_case("%{time_starttransfer}+%{time_total}s", "0.002000+2.000000s"; "the reply")]
    #[test_case("[%{time_namelookup}%{time_appconnect}%{time_redirect}%{ssl_verify_result}]", "[]"; "what did not happen")]
    #[test_case(r"%{http_code} %{response_code} %{reply} %{fate} %{seq}\n", "200 200 200 answered 7\n"; "what was said")]
    #[test_case("%{size_header} %{size_download} %{speed_download} %{num_connects} %{num_redirects}", "150 5000 2500 1 0"; "octets and counts")]
    #[test_case("%{remote_ip}:%{remote_port}-%{local_port}", "10.0.0.7:81-40000"; "both ends")]
    fn a_template_is_filled(template: &str, text: &str) {
        assert_eq!(writing(template).text(&exchange()), text);
    }

    #[test]
    fn what_is_not_known_of_a_lost_request_is_empty() {
        let lost = Exchange { received: None, fate: Fate::Lost, details: None, ..exchange() };
        let all = "%{time_connect}%{time_total}%{http_code}%{remote_ip}%{local_port}%{size_download}";
        assert_eq!(writing(all).text(&lost), "");
        assert_eq!(writing("%{fate} %{num_connects}").text(&lost), "lost 0");
    }

    #[test_case("%{time_conect}", "%{time_conect}", "did you mean %{time_connect}?"; "a typing error")]
    #[test_case("%{certs}", "%{certs}", "write one of time_namelookup, "; "another one of curl's")]
    #[test_case("a %{time_total", "`%{time_total` has no closing brace", "write %%"; "left open")]
    fn what_there_is_not_is_refused_by_name(template: &str, what: &str, hint: &str) {
        let failure = Template::parse(template).unwrap_err();
        assert!(failure.told.what.contains(what), "{failure:?}");
        assert!(failure.told.hint.as_ref().unwrap().starts_with(hint), "{failure:?}");
    }
}
