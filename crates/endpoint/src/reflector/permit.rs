//! Clients that may use a reflector, and their limits: one permit for each key, or one for all where no key is
//! demanded.

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};

use measure::method::Pattern;
use protocol::native::identity::Identity;
use protocol::native::key::{Holder, Keyring};
use protocol::native::limits::Limits;
use protocol::native::message::{Open, Reason, Refused};

use super::budget::Budget;
use crate::random;
use crate::serve::gate::Gate;

/// Most keys of one reflector. A stranger's handshake is tried with each of them: a few microseconds a key.
pub const MOST_KEYS: usize = 64;

/// Rights of the holders of one key.
#[derive(Clone, Debug, PartialEq)]
pub struct Permit {
    /// The key's name; absent where no key is wanted, or the file has one without a name.
    pub name: Option<String>,
    /// Networks that its holders may come from.
    pub networks: Gate,
    /// Expiry, nanoseconds since 1970 by the system's clock; absent: none.
    pub expires: Option<u64>,
    /// Limits; its `sessions` are those of this key.
    pub limits: Limits,
    /// Rates of all sessions with this key together; absent: limited as all sessions are.
    pub budget: Option<Arc<Budget>>,
    /// Kinds of measurement allowed; absent: all.
    pub patterns: Option<Vec<Pattern>>,
    /// True where threads may poll without blocking.
    pub spin: bool,
    /// True where the client may choose CPUs.
    pub pin: bool,
    /// CPUs that its holders may choose, all sessions with this key together; absent: any number.
    pub pinned: Option<u32>,
    /// True where facts of this host are reported: its name, kernel, processor and their state.
    pub facts: bool,
}

impl Permit {
    /// Everything within `limits`, for any client.
    pub fn within(limits: Limits) -> Self {
        Self {
            name: None,
            networks: Gate::default(),
            expires: None,
            limits,
            budget: None,
            patterns: None,
            spin: true,
            pin: true,
            pinned: None,
            facts: true,
        }
    }

    /// Checks that a client at `address` may open a session as `open` asks, at `now`, nanoseconds since 1970.
    ///
    /// # Errors
    /// The refusal, with the right that is missing.
    pub fn check(&self, open: &Open, address: IpAddr, now: u64) -> Result<(), Refused> {
        let refuse = |reason: Reason, detail: String, hint: &str| Refused { reason, detail, hint: Some(hint.into()) };
        let key = self.name.as_ref().map_or_else(|| "this key".to_owned(), |name| format!("key `{name}`"));
        if self.expires.is_some_and(|end| now >= end) {
            let hint = "ask whoever runs the server for a new one";
            return Err(refuse(Reason::Other, format!("{key} has expired"), hint));
        }
        if !self.networks.admits(address) {
            let detail = format!("{key} is not for clients at {}", address.to_canonical());
            return Err(refuse(Reason::Other, detail, "measure from a network that the key names"));
        }
        if self.patterns.as_ref().is_some_and(|patterns| !patterns.contains(&open.pattern)) {
            let detail = format!("{key} is not for the pattern {}", open.pattern);
            return Err(refuse(Reason::Pattern, detail, "ask whoever runs the server for the right to it"));
        }
        if !self.pin && !open.cpus.is_empty() {
            let detail = format!("{key} does not give the right to choose CPUs");
            return Err(refuse(Reason::Cpus, detail, "measure without naming CPUs of the peer"));
        }
        if let Some(budget) = &self.budget {
            budget.bounds().check(open)?;
        }
        self.limits.check(open)
    }
}

/// All permits of a reflector, which can be replaced while it runs: sessions that are open go on.
#[derive(Clone, Debug)]
pub struct Permits(Arc<RwLock<Held>>);

#[derive(Clone, Debug)]
enum Held {
    /// No key is wanted.
    Open(Arc<Permit>),
    /// A key or an identity is wanted, one of these.
    Keyed(Keyed),
}

#[derive(Clone, Debug)]
struct Keyed {
    holders: Arc<[Holder]>,
    /// In the same order.
    permits: Arc<[Arc<Permit>]>,
    /// The reflector's own.
    identity: Option<Arc<Identity>>,
}

/// The permits as they were when a connection came: one of them is its client's once it has proved a key.
#[derive(Clone, Debug)]
pub struct Offered(Held);

impl Permits {
    /// One permit for any client.
    pub fn open(permit: Permit) -> Self {
        Self(Arc::new(RwLock::new(Held::Open(Arc::new(permit)))))
    }

    /// Those of holders of these keys.
    pub fn keyed(all: Vec<(impl Into<Holder>, Permit)>) -> Self {
        Self::of(all, None)
    }

    /// Those of these holders, to some of whom the reflector proves this identity.
    pub fn identified(all: Vec<(impl Into<Holder>, Permit)>, identity: Identity) -> Self {
        Self::of(all, Some(Arc::new(identity)))
    }

    fn of(all: Vec<(impl Into<Holder>, Permit)>, identity: Option<Arc<Identity>>) -> Self {
        Self(Arc::new(RwLock::new(held(all, identity))))
    }

    /// Others from here on, for holders of keys; the reflector's identity stays.
    pub fn replace(&self, all: Vec<(Holder, Permit)>) {
        let mut now = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let identity = if let Held::Keyed(keyed) = &*now { keyed.identity.clone() } else { None };
        *now = held(all, identity);
    }

    /// As they are now.
    pub fn offered(&self) -> Offered {
        Offered(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

fn held(all: Vec<(impl Into<Holder>, Permit)>, identity: Option<Arc<Identity>>) -> Held {
    let (holders, permits): (Vec<Holder>, Vec<Arc<Permit>>) =
        all.into_iter().map(|(holder, permit)| (holder.into(), Arc::new(permit))).unzip();
    Held::Keyed(Keyed { holders: holders.into(), permits: permits.into(), identity })
}

impl Offered {
    /// Returns true where a key is demanded.
    pub fn is_keyed(&self) -> bool {
        matches!(self.0, Held::Keyed(..))
    }

    /// The keys for one connection; absent where none is wanted.
    ///
    /// # Errors
    /// A system that gives no random octets.
    pub fn keyring(&self) -> std::io::Result<Option<Keyring>> {
        match &self.0 {
            Held::Open(_) => Ok(None),
            Held::Keyed(Keyed { holders, identity, .. }) => {
                let (holders, identity) = (Arc::clone(holders), identity.clone());
                Ok(Some(Keyring { holders, identity, ephemeral: random::bytes()? }))
            }
        }
    }

    /// Returns the permit of the key of this number, or of no key.
    pub fn of(&self, holder: Option<usize>) -> Option<&Arc<Permit>> {
        match (&self.0, holder) {
            (Held::Open(permit), _) => Some(permit),
            (Held::Keyed(keyed), Some(number)) => keyed.permits.get(number),
            (Held::Keyed(..), None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::method::Carrier;
    use measure::unit::Nanos;
    use test_case::test_case;
    use testbed::client::open;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 7));

    fn permit() -> Permit {
        Permit { name: Some("a".to_owned()), ..Permit::within(Limits::default()) }
    }

    #[test]
    fn what_nothing_is_said_of_is_allowed() {
        assert_eq!(permit().check(&open(Carrier::Udp), HERE, 0), Ok(()));
    }

    #[test_case(|permit, _| permit.expires = Some(100), Reason::Other, "key `a` has expired")]
    #[test_case(|permit, _| permit.networks = Gate(vec!["192.0.2.0/24".parse().unwrap()]), Reason::Other, "key `a` is not for clients at 10.0.0.7")]
    #[test_case(|permit, _| permit.patterns = Some(vec![Pattern::Stream]), Reason::Pattern, "key `a` is not for the pattern exchange")]
    #[test_case(|permit, open| (permit.pin, open.cpus) = (false, vec![1]), Reason::Cpus, "key `a` does not give the right to choose CPUs")]
    #[test_case(|permit, open| (permit.limits.flows_per_session, open.flows) = (2, 3), Reason::Flows, "flows per session: 3")]
    #[test_case(|permit, open| (permit.limits.duration_ns, open.duration_ns) = (Nanos::secs(1), Some(Nanos::secs(2))), Reason::Duration, "duration: 2 s")]
    fn what_is_not_allowed_is_named(change: impl Fn(&mut Permit, &mut Open), reason: Reason, words: &str) {
        let (mut permit, mut open) = (permit(), open(Carrier::Udp));
        change(&mut permit, &mut open);
        let refused = permit.check(&open, HERE, 100).unwrap_err();
        assert_eq!(refused.reason, reason);
        assert!(refused.detail.starts_with(words), "{}", refused.detail);
    }

    #[test]
    fn an_end_is_the_first_moment_that_is_too_late() {
        let permit = Permit { expires: Some(100), ..permit() };
        let at = |now: u64| permit.check(&open(Carrier::Udp), HERE, now).is_ok();
        assert_eq!((at(99), at(100)), (true, false));
    }
}
