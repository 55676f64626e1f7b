//! The hosts of a campaign with their agents, and what becomes of them.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use endpoint::clock::Monotonic;
use logbook::document::Tool;
use logbook::failure::{Failure, Side};
use logbook::host::data::{DataAddress, DataAddresses};
use logbook::host::{Address, Host, Reach};
use logbook::run::HostSeen;
use measure::unit::Nanos;

use super::{Campaign, KEY_FILE, fan};
use crate::agent::near::Agent;
use crate::pairs;
use crate::transport::{Pause, Transport};

/// Longest wait until a reflector listens.
const LISTENING: Nanos = Nanos::secs(15);
/// Ports that are tried where the wanted one is taken, as by another run over the same hosts.
const PORTS: u16 = 32;
/// Words of a reflector whose port is taken.
const TAKEN: &str = "address already in use";
/// Words of a reflector that listens.
const READY: &str = "sonde serve: listening";

/// The hosts of a plan, in its order.
#[derive(Debug)]
pub struct Crew {
    members: Vec<Member>,
}

/// A host and its agent.
#[derive(Debug)]
pub struct Member {
    /// The host.
    pub host: Host,
    transport: Option<Arc<dyn Transport>>,
    agent: Option<Agent>,
    state: Mutex<State>,
}

#[derive(Clone, Debug, Default)]
struct State {
    lost: Option<Failure>,
    /// True once that was reported.
    told: bool,
    /// Reason for which nobody serves there, where somebody should.
    unserved: Option<Failure>,
    /// The port at which somebody of ours serves there.
    port: Option<u16>,
}

/// Role of a host in a campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Nothing: it is in no pair, and nobody goes there.
    #[default]
    Nothing,
    /// It measures, or is only cleaned.
    Agent,
    /// It answers too.
    Served,
}

impl Crew {
    /// Puts the program onto every host that has a part, starts its agent, and has it answer at its addresses of the plan's kinds
    /// where that is its part; what does not come to be is lost, and told.
    pub fn muster(campaign: &Campaign<'_>, parts: &[Part]) -> Self {
        let members = fan::each(&campaign.plan.hosts, &|at, host| {
            let part = parts.get(at).copied().unwrap_or_default();
            let mut member = Member::absent(host);
            if part == Part::Nothing {
                return member;
            }
            member.reach(campaign);
            member.tell(campaign);
            if part == Part::Served && member.lost().is_none() {
                member.serve(campaign);
                if member.port(campaign) == campaign.port {
                    member.tell_loss(campaign);
                } else {
                    member.tell(campaign);
                }
            }
            member
        });
        Self { members }
    }

    /// The member at this place of the plan.
    pub fn member(&self, at: usize) -> &Member {
        &self.members[at]
    }

    /// All of them.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The machine of each host, as a number that hosts of one machine share.
    pub fn machines(&self) -> Vec<usize> {
        let hosts: Vec<Host> = self.members.iter().map(|member| member.host.clone()).collect();
        let kernel = |member: &Member| member.agent.as_ref().and_then(|agent| agent.hello().boot_id.clone());
        let kernels: Vec<Option<String>> = self.members.iter().map(kernel).collect();
        pairs::machines(&hosts, &kernels)
    }

    /// Ends all agents, and with them what they run.
    pub fn dismiss(self) {
        std::thread::scope(|scope| {
            for member in self.members {
                scope.spawn(move || drop(member));
            }
        });
    }

    /// Takes the program away from every host where it was put.
    pub fn clean(&self, campaign: &Campaign<'_>) -> Vec<Failure> {
        let cleaned = fan::each(&self.members, &|_, member| {
            member.transport.as_ref().map_or(Ok(()), |transport| transport.clean(campaign.patience, campaign.stop))
        });
        cleaned.into_iter().filter_map(Result::err).collect()
    }
}

impl Member {
    fn absent(host: &Host) -> Self {
        Self { host: host.clone(), transport: None, agent: None, state: Mutex::default() }
    }

    fn reach(&mut self, campaign: &Campaign<'_>) {
        if let Err(failure) = self.enlist(campaign) {
            lock(&self.state).lost = Some(failure);
        }
    }

    /// Returns true where it has a part in the campaign.
    pub fn takes_part(&self) -> bool {
        self.transport.is_some() || self.lost().is_some()
    }

    /// The port at which it answers: the campaign's, or another where that was taken.
    pub fn port(&self, campaign: &Campaign<'_>) -> u16 {
        lock(&self.state).port.unwrap_or(campaign.port)
    }

    fn enlist(&mut self, campaign: &Campaign<'_>) -> Result<(), Failure> {
        let Campaign { patience, stop, .. } = *campaign;
        let transport = campaign.ways.to(&self.host)?;
        let transport = self.transport.insert(transport);
        let (mut pause, mut due) = (Pause::default(), None);
        loop {
            let program = transport.put(campaign.program, patience, stop)?;
            // Time before this was no silence of the agent's, and that until the program was there leaves an agent that is cut all its tries.
            let hello = Monotonic::now().after(patience);
            let due = *due.get_or_insert(hello);
            match Agent::start(&self.host.name, transport.as_ref(), &program, (hello, patience), stop) {
                Ok(agent) => {
                    self.agent = Some(agent);
                    return Ok(());
                }
                Err(unstarted) if !unstarted.is_cut || !pause.rest(due, stop) => return Err(unstarted.failure),
                Err(_) => {}
            }
        }
    }

    /// Reason for which nothing can be asked of it any more; `None` where it can.
    pub fn lost(&self) -> Option<Failure> {
        let gone = self.agent.as_ref().and_then(Agent::gone);
        let mut state = lock(&self.state);
        if state.lost.is_none() {
            state.lost = gone;
        }
        state.lost.clone()
    }

    /// Tells what was found of it.
    fn tell(&self, campaign: &Campaign<'_>) {
        let seen = self.seen();
        lock(&self.state).told = seen.lost.is_some();
        campaign.watcher.seen(&seen);
    }

    /// Asks its agent, where it has one, whether it is there: whoever is not is lost from then on.
    pub fn ask(&self, campaign: &Campaign<'_>) {
        if let Some(agent) = self.agent.as_ref().filter(|_| self.lost().is_none()) {
            // The answer is kept by the agent: `lost` tells it.
            let _ = agent.ask(campaign.stop);
        }
    }

    /// Tells that it is lost, where it is and that was not told.
    pub fn tell_loss(&self, campaign: &Campaign<'_>) {
        if self.lost().is_some() && !std::mem::replace(&mut lock(&self.state).told, true) {
            campaign.watcher.seen(&self.seen());
        }
    }

    /// Reason for which no server of ours answers there, where one should.
    pub fn unserved(&self) -> Option<Failure> {
        lock(&self.state).unserved.clone()
    }

    /// Its agent, as long as it is there.
    ///
    /// # Errors
    /// The reason for which it is not there.
    pub fn agent(&self) -> Result<&Agent, Failure> {
        match (self.lost(), &self.agent) {
            (Some(failure), _) => Err(failure),
            (None, Some(agent)) => Ok(agent),
            (None, None) => Err(Failure {
                what: format!("{}: has no agent", self.host.name),
                to_whom: Some(self.host.name.clone()),
                side: Some(Side::Theirs),
                hint: None,
                partial: None,
            }),
        }
    }

    /// State of the host.
    pub fn seen(&self) -> HostSeen {
        let hello = self.agent.as_ref().map(Agent::hello);
        let port = lock(&self.state).port;
        HostSeen {
            host: self.host.name.clone(),
            tool: hello.map(|hello| Tool { name: hello.program.clone(), version: hello.program_version.clone() }),
            kernel: hello.and_then(|hello| hello.kernel.clone()),
            cpus: hello.and_then(|hello| hello.cpus),
            boot_id: hello.and_then(|hello| hello.boot_id.clone()),
            clock_ahead_ns: self.agent.as_ref().and_then(Agent::clock_ahead_ns),
            port,
            lost: self.lost(),
        }
    }

    fn serve(&self, campaign: &Campaign<'_>) {
        let served = |port: u16| {
            let agent = self.agent()?;
            let job = agent.begin(&self.serving(campaign, port), Some(campaign.key), true)?;
            job.wait_for_word(READY, LISTENING, campaign.stop)
        };
        let last = campaign.port.saturating_add(PORTS - 1);
        for port in campaign.port..=last {
            match served(port) {
                Ok(_) => lock(&self.state).port = Some(port),
                Err(failure) if failure.what.contains(TAKEN) && port < last => continue,
                Err(failure) => lock(&self.state).unserved = Some(failure),
            }
            return;
        }
    }

    fn serving(&self, campaign: &Campaign<'_>, port: u16) -> Vec<String> {
        let port = port.to_string();
        let mut words: Vec<String> = ["serve", "--key", KEY_FILE, "--port", &port].map(str::to_owned).to_vec();
        for address in self.listens(campaign) {
            words.extend(["--listen".to_owned(), address.to_string()]);
        }
        words
    }

    /// The addresses it listens at; none: every one. An outer address may be that of a box in front of it.
    /// With a name among them: every one too, for its meaning here may be another.
    fn listens(&self, campaign: &Campaign<'_>) -> Vec<IpAddr> {
        let kinds = campaign.plan.addresses.each();
        let is_own = matches!(self.host.reach, Reach::Local | Reach::Namespace(_));
        if kinds.contains(&Address::External) && !is_own {
            return Vec::new();
        }
        let each = kinds.iter().filter_map(|kind| self.host.address(*kind)).flat_map(DataAddresses::each);
        each.map(DataAddress::ip).collect::<Option<Vec<IpAddr>>>().unwrap_or_default()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // A thread that panicked held a whole value at every moment.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
