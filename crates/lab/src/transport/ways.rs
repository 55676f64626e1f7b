//! The right way to each host, and what several ways share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use logbook::failure::Failure;
use logbook::host::{Host, Reach};

use crate::network;
use crate::transport::Transport;
use crate::transport::local::Local;
use crate::transport::namespace::Namespace;
use crate::transport::pod::Pod;
use crate::transport::remote::Fault;
use crate::transport::ssh::Ssh;
use crate::transport::ssh::sockets::Sockets;

/// Makes ways to hosts. Their common parts, as the connections of `ssh`, end when this and all of them are gone.
#[derive(Debug)]
pub struct Ways {
    /// Folder for sockets: `$XDG_RUNTIME_DIR`, or `/tmp`.
    runtime: PathBuf,
    /// Folder of the notes on this machine's labs; absent: none.
    labs: Option<PathBuf>,
    kubectl: String,
    sockets: Mutex<Option<Arc<Sockets>>>,
}

impl Ways {
    /// Ways that keep sockets below `runtime`, and find the namespaces of labs that are noted in `labs`.
    pub fn new(runtime: impl Into<PathBuf>, labs: Option<PathBuf>) -> Self {
        Self { runtime: runtime.into(), labs, kubectl: "kubectl".to_owned(), sockets: Mutex::default() }
    }

    /// The same with another program in the place of `kubectl`.
    pub fn with_kubectl(mut self, program: impl Into<String>) -> Self {
        self.kubectl = program.into();
        self
    }

    /// The way to `host`.
    ///
    /// # Errors
    /// A host whose way cannot be, as one whose destination is none.
    pub fn to(&self, host: &Host) -> Result<Arc<dyn Transport>, Failure> {
        Ok(match &host.reach {
            Reach::Local => Arc::new(Local),
            Reach::Namespace(name) => Arc::new(Namespace::new(name.clone(), self.lead(name))),
            Reach::Ssh(told) => Arc::new(Ssh::new(told.clone(), self.sockets(&host.name)?)?),
            Reach::Pod(told) => Arc::new(Pod::new(told.clone(), self.kubectl.clone())?),
        })
    }

    /// Words that lead to where the namespace of this name is listed: none, but for a lab that was made without root.
    fn lead(&self, name: &str) -> Vec<String> {
        self.labs.as_deref().map_or_else(Vec::new, |labs| network::lead(labs, name))
    }

    fn sockets(&self, host: &str) -> Result<Arc<Sockets>, Failure> {
        let mut sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sockets) = &*sockets {
            return Ok(Arc::clone(sockets));
        }
        let made = Sockets::below(&self.runtime).map(Arc::new).map_err(|error| {
            let what = format!("no folder for the sockets of ssh below {}: {error}", self.runtime.display());
            let hint = "let XDG_RUNTIME_DIR name a folder of yours, or make room in /tmp";
            Fault::new(what, logbook::failure::Side::Ours, hint).of(host, "share its connection")
        })?;
        *sockets = Some(Arc::clone(&made));
        Ok(made)
    }
}
