//! Sources of hosts and targets that a monitor's plan does not list: the programs that are asked for them, and the time
//! between two requests.

use measure::unit::Nanos;
use serde::{Deserialize, Serialize};

use super::plan::{Target, handshake, time};
use super::talk::Over;
use crate::host::{Address, Host};

/// The shortest time between two questions: those who are asked count them.
pub const SHORTEST: Nanos = Nanos::secs(10);

/// A source of hosts or targets, and how often it is asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Discovery {
    /// The time between two questions.
    #[serde(default = "minute", deserialize_with = "time")]
    pub every: Nanos,
    /// The program that is run, where it is not the source's usual one from `PATH`.
    #[serde(default)]
    pub program: Option<String>,
    /// The source.
    #[serde(flatten)]
    pub source: Source,
}

/// Sources: what each finds, and the program that asks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Source {
    /// DNS: each SRV record is a target. Asked by `dig`.
    Dns {
        /// The records' name, as `_postgres._tcp.example.org`.
        name: String,
        /// Protocol by which they are asked.
        #[serde(default = "handshake")]
        over: Over,
        /// Their zone.
        #[serde(default)]
        zone: Option<String>,
    },
    /// A cluster: each running pod is a host. Asked by `kubectl`.
    Kubernetes {
        /// Labels of the pods, as `app=sonde-agent`.
        selector: String,
        /// Their namespace; absent: that of the context.
        #[serde(default)]
        namespace: Option<String>,
        /// The cluster's context; absent: the current one.
        #[serde(default)]
        context: Option<String>,
        /// The container; absent: a pod's first.
        #[serde(default)]
        container: Option<String>,
    },
    /// A cluster: each ready endpoint of a service is a target. Asked by `kubectl`.
    KubernetesService {
        /// The service's name.
        service: String,
        /// The name of its port; absent: the first.
        #[serde(default)]
        port: Option<String>,
        /// Its namespace; absent: that of the context.
        #[serde(default)]
        namespace: Option<String>,
        /// The cluster's context; absent: the current one.
        #[serde(default)]
        context: Option<String>,
        /// Protocol by which they are asked.
        #[serde(default = "handshake")]
        over: Over,
    },
    /// Google Cloud: each running machine is a host. Asked by `gcloud`.
    Gcloud {
        /// Machines, in the words of `--filter`; absent: all.
        #[serde(default)]
        filter: Option<String>,
        /// The project; absent: as `gcloud` is configured.
        #[serde(default)]
        project: Option<String>,
        /// Login to the machines, by `ssh`.
        #[serde(default)]
        login: Login,
    },
    /// AWS: each running machine is a host. Asked by `aws`.
    Aws {
        /// A tag that they have, as `role=db`.
        #[serde(default)]
        tag: Option<String>,
        /// The region; absent: as `aws` is configured.
        #[serde(default)]
        region: Option<String>,
        /// The profile; absent likewise.
        #[serde(default)]
        profile: Option<String>,
        /// Login to the machines, by `ssh`.
        #[serde(default)]
        login: Login,
    },
    /// Azure: each running machine is a host. Asked by `az`.
    Azure {
        /// The resource group; absent: all.
        #[serde(default)]
        group: Option<String>,
        /// The subscription; absent: as `az` is configured.
        #[serde(default)]
        subscription: Option<String>,
        /// Login to the machines, by `ssh`.
        #[serde(default)]
        login: Login,
    },
    /// A program that prints [`Found`] as JSON.
    Command {
        /// It and its words.
        command: Vec<String>,
    },
}

/// Login to machines that were found, by `ssh`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Login {
    /// User to log in as; absent: as `ssh` is configured.
    pub user: Option<String>,
    /// Kind of the address to log in at; the other kind where it has none of this.
    pub at: Address,
}

impl Default for Login {
    fn default() -> Self {
        Self { user: None, at: Address::External }
    }
}

/// Hosts and targets that a discovery found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Hosts, on which an agent is to stay.
    #[serde(default)]
    pub hosts: Vec<Host>,
    /// Targets, which the hosts ask.
    #[serde(default)]
    pub targets: Vec<Target>,
}

impl Found {
    /// Returns true where neither a host nor a target was found.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.targets.is_empty()
    }
}

impl Source {
    /// As a plan writes it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Dns { .. } => "dns",
            Self::Kubernetes { .. } => "kubernetes",
            Self::KubernetesService { .. } => "kubernetes-service",
            Self::Gcloud { .. } => "gcloud",
            Self::Aws { .. } => "aws",
            Self::Azure { .. } => "azure",
            Self::Command { .. } => "command",
        }
    }
}

fn minute() -> Nanos {
    Nanos::secs(60)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::super::plan::MonitorPlan;
    use super::*;

    #[test]
    fn a_plan_says_who_knows_of_more() {
        let text = "[[discover]]\nfrom = \"dns\"\nname = \"_db._tcp.example.org\"\nevery = \"5min\"\n[[discover]]\nfrom = \"aws\"\ntag = \"role=db\"\nlogin = { user = \"admin\", at = \"internal\" }\n";
        let plan = MonitorPlan::read(text, "plan.toml").unwrap();
        let [dns, aws] = plan.discover.as_slice() else { panic!("{:?}", plan.discover) };
        let name = "_db._tcp.example.org".to_owned();
        assert_eq!(dns.source, Source::Dns { name, over: Over::TcpConnect, zone: None });
        assert_eq!((dns.every, aws.every), (Nanos::secs(300), Nanos::secs(60)));
        let Source::Aws { login, .. } = &aws.source else { panic!("{aws:?}") };
        assert_eq!(*login, Login { user: Some("admin".to_owned()), at: Address::Internal });
    }

    #[test_case("from = \"dns\"\nname = \"a\"\nzoan = \"b\"", "zoan"; "a key that is none")]
    #[test_case("from = \"azure\"\nproject = \"a\"", "project"; "a key of another source")]
    #[test_case("from = \"consul\"", "consul"; "nobody that is known")]
    #[test_case("name = \"a\"", "from"; "nobody named")]
    fn what_cannot_be_asked_is_refused(text: &str, named: &str) {
        let error = MonitorPlan::read(&format!("[[discover]]\n{text}\n"), "plan.toml").unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
    }

    #[test_case("every = \"1s\"\nfrom = \"dns\"\nname = \"a\"", "less than 10 s"; "too often")]
    #[test_case("from = \"command\"\ncommand = []", "no program"; "an empty command")]
    fn what_would_not_do_is_refused_with_its_reason(text: &str, told: &str) {
        let host = |name: &str| format!("[[hosts]]\nname = \"{name}\"\nreach = \"local\"\ninternal = \"10.0.0.1\"\n");
        let text = format!("{}{}[[discover]]\n{text}\n", host("a"), host("b"));
        let plan = MonitorPlan::read(&text, "plan.toml").unwrap();
        let error = plan.check(&text, "plan.toml").unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
}
