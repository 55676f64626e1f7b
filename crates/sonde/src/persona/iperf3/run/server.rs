//! The server: it listens, and tells each test as it goes, until a signal ends it or its one test is over.

mod login;
mod teller;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use endpoint::daemon::{self, Side, Streams};
use endpoint::error::{Cause, EndpointError};
use endpoint::name::{self, Family};
use endpoint::peer::iperf3::server::settings::{Limits, RateLimit, Settings};
use endpoint::peer::iperf3::server::{self as peer, Server as Bound};
use endpoint::sandbox::{Capability, Needs};
use endpoint::stop::Stop;
use measure::unit::Nanos;
use protocol::iperf3::code::Code;

use crate::beginning::Beginning;
use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::iperf3::options::{Asked, Common, Form, Server};
use crate::persona::iperf3::output::failure;
use crate::persona::iperf3::run::client::ending::words_of;
use crate::persona::iperf3::run::client::task::interval;
use crate::persona::iperf3::run::pidfile::Pidfile;
use crate::persona::iperf3::run::printer::Printer;
use crate::persona::iperf3::run::server::teller::Teller;
use crate::persona::process::{self, said};
use crate::words;

/// Listens and serves, in the foreground or the background.
///
/// # Errors
/// The text that is printed where it cannot.
pub fn run(asked: &Asked, server: &Server, output: &Arc<Output>) -> Result<Exit, Answer> {
    let common = &asked.common;
    let printer = Arc::new(Printer::open(common, None, output)?);
    // As seen from here: a daemon goes elsewhere.
    let pidfile = common.pidfile.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
    let (settings, without_ipv6) = settings(common, server)?;
    let teller = Arc::new(Teller::new(common, server.one_off, Arc::clone(&printer)));
    let stop = Stop::default();
    let deaf = |cause| Answer::complaint(failure::line(&format!("cannot wait for signals: {}", said(&cause))));
    let beginning = Beginning::new().map_err(deaf)?;
    let bound = bind(settings, without_ipv6, &teller)?;
    if server.daemon {
        let side = daemon::detach(Streams::Null)
            .map_err(|cause| Answer::complaint(failure::line(&failure::text(Code(133), Some(&said(&cause))))))?;
        if side == Side::Foreground {
            return Ok(Exit::Done);
        }
    }
    let _pidfile = Pidfile::write(pidfile.as_deref())?;
    let interruption = process::confine(beginning, needs(common, pidfile.as_deref()), &stop).map_err(deaf)?;
    teller.listening();
    bound.run(&stop).map_err(|error| unable(&error))?;
    if let Some(signal) = interruption.signal() {
        let text = failure::interrupted(false, words_of(signal), signal.number());
        if common.form == Form::Text {
            printer.error(&format!("iperf3: {text}\n"));
        } else {
            teller.interrupted(&text);
        }
    }
    Ok(if server.one_off && teller.failed() { Exit::Persona(1) } else { Exit::Done })
}

/// Rights and files that it still needs: the file of `-F`, and the folder that its number is removed from at the end,
/// whosever that is.
fn needs(common: &Common, pidfile: Option<&Path>) -> Needs {
    let rights = [common.file.as_ref().map(|_| Capability::DacReadSearch), pidfile.map(|_| Capability::DacOverride)];
    Needs {
        read: common.file.iter().cloned().collect(),
        write: pidfile.and_then(Path::parent).map(Path::to_owned).into_iter().collect(),
        capabilities: rights.into_iter().flatten().collect(),
        ..Needs::default()
    }
}

fn bind(settings: Settings, without_ipv6: Option<SocketAddr>, teller: &Arc<Teller>) -> Result<Bound, Answer> {
    let bound = match (peer::bind(settings.clone(), Arc::clone(teller) as _), without_ipv6) {
        (Err(error), Some(address)) if error.lacks_ipv6() => {
            peer::bind(Settings { listen: vec![address], ..settings }, Arc::clone(teller) as _)
        }
        (bound, _) => bound,
    };
    bound.map_err(|error| unable(&error))
}

/// Complaint where it cannot listen: the original's words, and the next step.
fn unable(error: &EndpointError) -> Answer {
    let text = match &error.cause {
        Cause::System(cause) => {
            format!("unable to start listener for connections: {}", said(cause))
        }
        cause => cause.to_string(),
    };
    let hint = words::hint(error).map(|hint| format!("iperf3: {hint}\n")).unwrap_or_default();
    Answer::complaint(failure::line(&text) + "iperf3: exiting\n" + &hint)
}

/// And where to listen on a machine without IPv6.
fn settings(common: &Common, server: &Server) -> Result<(Settings, Option<SocketAddr>), Answer> {
    let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, common.port));
    let v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, common.port));
    let (listen, without_ipv6) = match (&common.bind, common.family) {
        (Some(host), family) => {
            (name::look_up(host, common.port, family, &Stop::default()).map_err(|error| unable(&error))?, None)
        }
        (None, Family::V4) => (v4, None),
        (None, Family::V6) => (v6, None),
        (None, Family::Any) => (v6, Some(v4)),
    };
    let login = server.login.as_ref().map(|asked| login::read(asked, common.pkcs1)).transpose()?;
    let rate = server.rate_limit.map(|bits_per_s| RateLimit {
        averaging: Nanos::secs(server.rate_over_s.into()),
        ..RateLimit::new(bits_per_s)
    });
    let settings = Settings {
        // One that ends with its first test has no other: whoever comes meanwhile is told that it is busy.
        limits: Limits {
            tests: if server.one_off { 1 } else { Limits::default().tests },
            rate,
            seconds: server.max_duration_s,
            ..Limits::default()
        },
        login: login.map(Arc::new),
        one_off: server.one_off,
        idle_timeout: server.idle_timeout_s.map(|seconds| Nanos::secs(seconds.into())),
        interval: interval(common),
        receive_timeout: Nanos::millis(common.receive_timeout_ms.into()),
        cpu: common.cpu,
        file: common.file.clone(),
        multipath: server.mptcp,
        ..Settings::at(listen)
    };
    Ok((settings, without_ipv6))
}
