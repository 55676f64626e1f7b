//! Lines of a run that could not begin.

use std::io;

use endpoint::error::{Cause, EndpointError, Step};

use crate::persona::answer::Answer;
use crate::persona::ping::options::complain;
use crate::persona::process;
use crate::words;

/// The system's own words without Rust's "(os error n)" and the standard library's introduction.
pub fn said(error: &io::Error) -> String {
    let text = process::said(error);
    text.rsplit_once("failed to lookup address information: ").map_or(&*text, |(_, words)| words).to_owned()
}

/// A name without an address, or with none of the wanted version.
pub fn unknown(host: &str, error: &EndpointError) -> Answer {
    let words = match &error.cause {
        Cause::System(cause) if cause.kind() == io::ErrorKind::NotFound => {
            "Address family for hostname not supported".into()
        }
        Cause::System(cause) => said(cause),
        other => other.to_string(),
    };
    complain(2, &format!("{host}: {words}"))
}

/// A socket that could not be made as asked, in the original's words where it has some, and what to try.
pub fn not_opened(error: &EndpointError, interface: Option<&str>) -> Answer {
    let hint = words::hint(error).map(|hint| format!("ping: {hint}\n")).unwrap_or_default();
    let Cause::System(cause) = &error.cause else { return complain(2, &error.to_string()) };
    let words = said(cause);
    let told = match (&error.step, cause.kind()) {
        (Step::ConnectData, io::ErrorKind::PermissionDenied) => {
            return complain(2, "Do you want to ping broadcast? Then -b. If not, check your local firewall rules");
        }
        (Step::ConnectData, _) => return complain(2, &format!("connect: {words}")),
        (Step::Set("local address"), _) => return complain(2, &format!("bind: {words}")),
        (Step::Set("interface"), _) => format!("SO_BINDTODEVICE {}: {words}", interface.unwrap_or_default()),
        (Step::OpenSocket(_), _) => format!("socket: {words}"),
        (Step::Set(option), _) => format!("cannot set {option}: {words}"),
        _ => error.to_string(),
    };
    let answer = complain(2, &told);
    Answer { stderr: answer.stderr + &hint, ..answer }
}
