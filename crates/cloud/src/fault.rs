//! Faults of a call of a vendor's program, told apart by its words, and the next step for each.

use logbook::failure::{Failure, Side};

use crate::vendor::Tool;

/// Kind of a fault of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The program is not there.
    NotInstalled,
    /// The program has no valid login.
    NotLoggedIn,
    /// A quota of the account is used up.
    Quota,
    /// The zone has no such machines to give now.
    NoCapacity,
    /// The login may not do it.
    Permission,
    /// It is there already.
    AlreadyExists,
    /// It is not there.
    NotFound,
    /// Too many requests: it is worth to come again.
    RateLimited,
    /// Something else still uses it, or works on it: it is worth to come again.
    Busy,
    /// The cloud's own fault, of the passing kind.
    Passing,
    /// Its output is no JSON, or not of the form that is read.
    Rubbish,
    /// It did not end in time and was ended: whether it had its effect is unknown.
    Hung,
    /// We were asked to stop.
    Stopped,
    /// Anything else.
    Other,
}

impl Kind {
    const ALL: [Self; 14] = [
        Self::NotInstalled,
        Self::NotLoggedIn,
        Self::Quota,
        Self::NoCapacity,
        Self::Permission,
        Self::AlreadyExists,
        Self::NotFound,
        Self::RateLimited,
        Self::Busy,
        Self::Passing,
        Self::Rubbish,
        Self::Hung,
        Self::Stopped,
        Self::Other,
    ];

    /// The kind of the fault that `failure` was made of ([`Fault::failure`]); absent where it is no call's.
    pub fn of(failure: &Failure) -> Option<Self> {
        let place = |kind: Self| failure.what.find(&format!(": {}: ", kind.words())).map(|place| (place, kind));
        // The vendor's words come after ours.
        Self::ALL.into_iter().filter_map(place).min_by_key(|(place, _)| *place).map(|(_, kind)| kind)
    }

    /// Returns true where the same call may do better in a while, and did nothing now.
    pub fn is_worth_another_try(self) -> bool {
        matches!(self, Self::RateLimited | Self::Passing)
    }

    /// Returns true where the call certainly had no effect.
    pub fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::NotInstalled
                | Self::NotLoggedIn
                | Self::Quota
                | Self::NoCapacity
                | Self::Permission
                | Self::RateLimited
        )
    }
}

/// A fault of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its kind.
    pub kind: Kind,
    /// Words of the program.
    pub said: String,
}

impl Fault {
    /// One of this kind.
    pub fn new(kind: Kind, said: impl Into<String>) -> Self {
        Self { kind, said: said.into() }
    }

    /// Meaning of a program's last words. The first entry of the vendor's table that occurs in them decides.
    pub fn read(tool: &Tool, stderr: &str) -> Self {
        let words: Vec<&str> = stderr.split_whitespace().collect();
        let said: String = words.join(" ").chars().filter(|letter| !letter.is_control()).take(400).collect();
        let lower = words.join(" ").to_lowercase();
        let known = tool.faults.iter().find(|(sign, _)| lower.contains(sign));
        Self { kind: known.map_or(Kind::Other, |(_, kind)| *kind), said }
    }

    /// As a failure of `doing` (as "cannot make network x").
    pub fn failure(&self, tool: &Tool, doing: &str) -> Failure {
        let Self { kind, said } = self;
        let side = match kind {
            Kind::NotInstalled | Kind::NotLoggedIn | Kind::Quota | Kind::Permission | Kind::Stopped => Some(Side::Ours),
            Kind::NoCapacity | Kind::RateLimited | Kind::Passing | Kind::Rubbish | Kind::Busy => Some(Side::Theirs),
            Kind::AlreadyExists | Kind::NotFound | Kind::Hung | Kind::Other => None,
        };
        Failure {
            what: format!("{}: {doing}: {}: {said}", tool.whose, kind.words()),
            to_whom: Some(tool.program.to_owned()),
            side,
            hint: kind.hint(tool),
            partial: None,
        }
    }
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Self::NotInstalled => "its program is not installed",
            Self::NotLoggedIn => "not logged in",
            Self::Quota => "a quota is used up",
            Self::NoCapacity => "no capacity",
            Self::Permission => "not permitted",
            Self::AlreadyExists => "it exists already",
            Self::NotFound => "not found",
            Self::RateLimited => "too many requests",
            Self::Busy => "still in use",
            Self::Passing => "the cloud failed",
            Self::Rubbish => "the answer cannot be read",
            Self::Hung => "no end in time",
            Self::Stopped => "asked to stop",
            Self::Other => "it failed",
        }
    }

    fn hint(self, tool: &Tool) -> Option<String> {
        Some(match self {
            Self::NotInstalled => format!("install it: {}", tool.install),
            Self::NotLoggedIn => format!("log in: {}", tool.login),
            Self::Quota => "ask for more of it in that region, or for fewer, smaller or other machines".into(),
            Self::NoCapacity => {
                "try another zone, another machine type, or later; without a placement group there is more".into()
            }
            Self::Permission => {
                format!("the login needs the rights to make and remove networks and machines: {}", tool.rights)
            }
            Self::RateLimited | Self::Passing => {
                "it was tried several times: try later, or with fewer at once (--at-once)".into()
            }
            Self::Busy => "try again in a minute".into(),
            Self::Rubbish => {
                format!("see what `{} --version` and the same command print (--dry-run shows it)", tool.program)
            }
            Self::Hung => "run the same command by hand (--dry-run shows it); give it longer by --call-timeout".into(),
            Self::AlreadyExists | Self::NotFound | Self::Stopped | Self::Other => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::TOOL;
    use crate::{aws, az, gcloud};

    /// Messages of the vendors' programs where no machine is to be had: their forms were read, not seen here.
    #[test]
    fn a_machine_that_is_not_given_is_told_by_its_kind() {
        let said = [
            (
                &aws::VENDOR.tool,
                "An error occurred (InsufficientInstanceCapacity) when calling the RunInstances operation: We do not have",
                Kind::NoCapacity,
            ),
            (
                &aws::VENDOR.tool,
                "An error occurred (VcpuLimitExceeded) when calling the RunInstances operation: You have",
                Kind::Quota,
            ),
            (
                &aws::VENDOR.tool,
                "An error occurred (Unsupported) when calling the RunInstances operation: Your requested",
                Kind::NotFound,
            ),
            (
                &aws::VENDOR.tool,
                "An error occurred (RequestLimitExceeded) when calling the RunInstances operation",
                Kind::RateLimited,
            ),
            (&gcloud::VENDOR.tool, "code: ZONE_RESOURCE_POOL_EXHAUSTED", Kind::NoCapacity),
            (&gcloud::VENDOR.tool, "Quota 'CPUS' exceeded. Limit: 24.0 in region us-central1.", Kind::Quota),
            (
                &gcloud::VENDOR.tool,
                "Machine type with name 'x9-1' does not exist in zone 'us-central1-b'.",
                Kind::NotFound,
            ),
            (&az::VENDOR.tool, "(SkuNotAvailable) The requested VM size is currently not available", Kind::NoCapacity),
            (&az::VENDOR.tool, "(QuotaExceeded) Operation could not be completed", Kind::Quota),
        ];
        for (tool, said, kind) in said {
            assert_eq!(Fault::read(tool, said).kind, kind, "{said}");
        }
    }

    #[test]
    fn a_failure_tells_of_which_kind_it_was() {
        for kind in Kind::ALL {
            let failure = Fault::new(kind, "no such thing: not found: x").failure(&TOOL, "cannot make network x");
            assert_eq!(Kind::of(&failure), Some(kind));
        }
        let other =
            Failure { what: "the plan has no hosts".to_owned(), ..Fault::new(Kind::Other, "").failure(&TOOL, "") };
        assert_eq!(Kind::of(&other), None);
    }
}
