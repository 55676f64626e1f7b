//! The rights that a server gave up, in a line.

use std::io;
use std::path::Path;

use endpoint::sandbox::{Capability, Extent, Missing, Needs, Sandbox};

/// The restrictions in force, and those that are not, with the reason.
pub fn sandbox(sandbox: &Sandbox, needs: &Needs) -> String {
    let capabilities = sandbox.capabilities.as_ref().map(|kept| capabilities(kept)).map_err(system("capabilities"));
    let files = sandbox.files.as_ref().map(|extent| files(*extent, needs)).map_err(missing);
    let calls = sandbox.calls.as_ref().map(|()| "starts no programs".to_owned()).map_err(system("system calls"));
    let (mut done, mut left) = (Vec::new(), Vec::new());
    for part in [capabilities, files, calls] {
        match part {
            Ok(part) => done.push(part),
            Err(part) => left.push(part),
        }
    }
    let left = (!left.is_empty()).then(|| format!("not limited here: {}", left.join(", ")));
    let done = (!done.is_empty()).then(|| done.join(", "));
    done.into_iter().chain(left).collect::<Vec<_>>().join("; ")
}

fn capabilities(kept: &[Capability]) -> String {
    let names: Vec<&str> = kept
        .iter()
        .map(|one| match one {
            Capability::NetBindService => "CAP_NET_BIND_SERVICE",
            Capability::NetAdmin => "CAP_NET_ADMIN",
            Capability::DacReadSearch => "CAP_DAC_READ_SEARCH",
            Capability::DacOverride => "CAP_DAC_OVERRIDE",
        })
        .collect();
    if names.is_empty() { "no capabilities".to_owned() } else { format!("no capability but {}", names.join(" and ")) }
}

fn files(extent: Extent, needs: &Needs) -> String {
    let folders = [Path::new("/proc"), Path::new("/sys")]
        .into_iter()
        .chain(needs.read.iter().chain(&needs.write).map(|path| &**path));
    let folders: Vec<String> = folders.map(|path| path.display().to_string()).collect();
    let (last, others) = folders.split_last().map_or(("", &[][..]), |(last, others)| (last, others));
    let part = if extent == Extent::Part { " (in part: an older kernel)" } else { "" };
    format!("opens files only below {} and {last}{part}", others.join(", "))
}

fn missing(missing: &Missing) -> String {
    match missing {
        Missing::Absent => "files (no Landlock in this kernel)".to_owned(),
        Missing::Disabled => "files (Landlock is disabled in this kernel)".to_owned(),
        Missing::Refused(reason) => format!("files ({reason})"),
    }
}

/// The reason why `what` is as it was, in the system's words.
fn system(what: &str) -> impl Fn(&io::Error) -> String {
    move |error| format!("{what} ({error})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(read: &[&str]) -> Needs {
        Needs { read: read.iter().map(Into::into).collect(), ..Needs::default() }
    }

    #[test]
    fn all_of_it_is_one_line() {
        let all = Sandbox { capabilities: Ok(vec![]), files: Ok(Extent::Whole), calls: Ok(()) };
        assert_eq!(
            sandbox(&all, &needs(&["/etc/sonde"])),
            "no capabilities, opens files only below /proc, /sys and /etc/sonde, starts no programs"
        );
        let some = Sandbox { capabilities: Ok(vec![Capability::NetAdmin]), ..all };
        assert_eq!(
            sandbox(&some, &needs(&[])),
            "no capability but CAP_NET_ADMIN, opens files only below /proc and /sys, starts no programs"
        );
    }

    #[test]
    fn what_is_not_in_force_is_said_with_the_reason() {
        let denied = || io::Error::from_raw_os_error(1);
        let none = Sandbox { capabilities: Err(denied()), files: Err(Missing::Absent), calls: Err(denied()) };
        assert_eq!(
            sandbox(&none, &needs(&[])),
            "not limited here: capabilities (Operation not permitted (os error 1)), files (no Landlock in this kernel), \
             system calls (Operation not permitted (os error 1))"
        );
        let part = Sandbox { capabilities: Ok(vec![]), files: Err(Missing::Disabled), calls: Ok(()) };
        assert_eq!(
            sandbox(&part, &needs(&[])),
            "no capabilities, starts no programs; not limited here: files (Landlock is disabled in this kernel)"
        );
    }
}
