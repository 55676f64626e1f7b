//! State of a centre beside its store, in a file of its folder: so a restart neither repeats an alarm nor forgets one.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use logbook::monitor::plan::MonitorPlan;
use measure::lookout;
use measure::lookout::incident::Incident;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::picture::IncidentNow;

/// The file.
const FILE: &str = "centre.json";
/// The largest that is read, octets: that of 4,096 hosts has a hundredth.
const LARGEST: u64 = 1 << 30;

/// All of it, with what the lookout knows: read as such, written as it is, and else apart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State<L = ()> {
    /// Names this monitor for good: its agents' folders are called by it.
    pub monitor: Uuid,
    /// Seed from which partners are drawn.
    pub seed: u64,
    /// The last revision of what was assigned.
    pub revision: u64,
    /// State of the lookout.
    pub lookout: L,
    /// Incidents that go on.
    pub incidents: Vec<Incident>,
    /// Incidents that are over and still shown.
    pub past: VecDeque<IncidentNow>,
    /// Hosts whose agents stood once, by name.
    #[serde(default)]
    pub stood: BTreeSet<String>,
}

impl State<lookout::State> {
    /// The one in the folder; a new one where there is none.
    ///
    /// # Errors
    /// The file cannot be read, or is none of ours.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let size = match fs::metadata(&path) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let monitor = Uuid::now_v7();
                return Ok(Self {
                    monitor,
                    seed: monitor.as_u64_pair().1,
                    revision: 1,
                    lookout: lookout::State::default(),
                    incidents: Vec::new(),
                    past: VecDeque::new(),
                    stood: BTreeSet::new(),
                });
            }
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        if size > LARGEST {
            bail!("{} has {size} octets, which no state of a monitor has; move it away", path.display());
        }
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| {
            format!("{} is no state of this version's monitor; move it away to begin anew", path.display())
        })
    }
}

impl<L> State<L> {
    /// The same with this of the lookout, and what it had.
    pub fn with<M>(self, lookout: M) -> (State<M>, L) {
        let Self { monitor, seed, revision, lookout: before, incidents, past, stood } = self;
        (State { monitor, seed, revision, lookout, incidents, past, stood }, before)
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn write(&self, folder: &Path) -> Result<()>
    where
        L: Serialize,
    {
        let path = folder.join(FILE);
        let beside = path.with_extension("part");
        // As it is made: that of a thousand hosts has tens of megabytes.
        let written = fs::File::create(&beside).and_then(|file| {
            let mut file = BufWriter::new(file);
            serde_json::to_writer(&mut file, self)?;
            file.flush()
        });
        written.and_then(|()| fs::rename(&beside, &path)).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Name of the folder of the agent on a host: as in the plan, else by monitor and host, so that several can be on one
    /// machine.
    pub fn folder_of(&self, plan: &MonitorPlan, host: &str) -> String {
        if let Some(folder) = &plan.agents {
            return folder.clone();
        }
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '-' };
        let host: String = host.chars().map(plain).collect();
        format!("monitor-{:08x}-{host}", self.monitor.as_u64_pair().1 as u32)
    }

    /// An incident's name for good.
    pub fn uuid(&self, incident: u64) -> Uuid {
        Uuid::from_u64_pair(self.monitor.as_u64_pair().0 ^ self.monitor.as_u64_pair().1, incident)
    }
}
