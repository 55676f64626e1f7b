//! A pod of a cluster, by `kubectl exec`: what is configured for `kubectl` says which cluster and who we are there.

use std::process::Command;
use std::sync::{Arc, OnceLock};

use endpoint::stop::Stop;
use logbook::failure::{Failure, Side};
use logbook::host;
use measure::unit::Nanos;

use crate::child::Finished;
use crate::transport::remote::{self, Fault, Remote, words_of};
use crate::transport::{Program, Transport, command_of};

/// The way into a pod.
#[derive(Clone, Debug)]
pub struct Pod {
    told: host::Pod,
    /// The program that leads there: `kubectl`, or its path.
    kubectl: String,
    /// The folder of the program that was put there.
    put: Arc<OnceLock<String>>,
}

/// Words that it adds to those of a command that ended with an error.
pub(super) const ENDED: &str = "command terminated with exit code";

/// Words of `kubectl` and what they mean: what happened, on whose side, what to try.
const KINDS: [(&[&str], &str, Option<Side>, &str); 8] = [
    (
        &["executable file not found", "no such file or directory: unknown"],
        "its image has no shell",
        Some(Side::Theirs),
        "use an image with a shell, or name a container that has one",
    ),
    (
        &["(NotFound)", "not found in"],
        "there is no such pod or container",
        Some(Side::Ours),
        "`kubectl get pods` in its namespace shows those there are",
    ),
    (
        &["(Forbidden)", "is forbidden", "Unauthorized", "must be logged in"],
        "the cluster does not permit it",
        Some(Side::Theirs),
        "it takes the right to create pods/exec: `kubectl auth can-i create pods/exec`",
    ),
    (
        &["does not exist", "no configuration has been provided", "context was not found"],
        "kubectl does not know that cluster",
        Some(Side::Ours),
        "`kubectl config get-contexts` shows those it knows",
    ),
    (
        &["connection refused", "was refused", "no such host", "i/o timeout", "timed out", "no route to host"],
        "the cluster's API does not answer",
        Some(Side::Path),
        "`kubectl version` asks it; look at the network from here to it",
    ),
    (
        &["container not found", "ContainerCreating", "does not have a host assigned", "is not running", "not ready"],
        "the pod does not run yet, or no more",
        Some(Side::Theirs),
        "`kubectl describe pod` tells what it waits for",
    ),
    (&["completed pod", "Succeeded", "Failed"], "the pod has ended", Some(Side::Theirs), "`kubectl logs` tells why"),
    (
        &["error dialing backend", "unable to upgrade connection"],
        "its node does not answer",
        Some(Side::Theirs),
        "look at the node: `kubectl get nodes`",
    ),
];

impl Pod {
    /// The way as `told`, by `kubectl` as that program is called here.
    ///
    /// # Errors
    /// A name that is none.
    pub fn new(told: host::Pod, kubectl: String) -> Result<Self, Failure> {
        if told.pod.is_empty() || told.pod.starts_with('-') {
            let fault = Fault::new("is no name of a pod", Side::Ours, "`kubectl get pods` shows those there are");
            return Err(fault.of(&told.pod, "be reached"));
        }
        Ok(Self { told, kubectl, put: Arc::default() })
    }

    fn exec(&self, patience: Option<Nanos>) -> Vec<String> {
        let told = &self.told;
        let mut words = vec![self.kubectl.clone(), "exec".to_owned(), "-i".to_owned()];
        let options = [("--context", &told.context), ("-n", &told.namespace), ("-c", &told.container)];
        for (option, value) in options {
            if let Some(value) = value {
                words.extend([option.to_owned(), value.clone()]);
            }
        }
        if let Some(patience) = patience {
            words.push(format!("--request-timeout={}s", (patience.0 / 1_000_000_000).max(1)));
        }
        words.extend([told.pod.clone(), "--".to_owned()]);
        words
    }
}

impl Remote for Pod {
    fn whom(&self) -> &str {
        &self.told.pod
    }

    fn shell(&self, script: &str, arguments: &[&str], patience: Nanos) -> Command {
        let words: Vec<String> =
            ["sh", "-c", script, "sonde"].into_iter().chain(arguments.iter().copied()).map(str::to_owned).collect();
        command_of(&self.exec(Some(patience)), &words)
    }

    fn fault(&self, finished: &Finished) -> Option<Fault> {
        if finished.status.success() {
            return None;
        }
        // Its status is the command's where there was one, and then it says so; or 1 for all errors of its own.
        let said = &finished.said;
        let last = words_of(finished);
        let kind = KINDS.iter().find(|(words, ..)| words.iter().any(|words| said.contains(words)));
        let own = ["Error from server", "error:", "Unable to connect", "The connection to the server", "OCI runtime"];
        let ended = said.contains(ENDED) && !said.contains("OCI runtime");
        if ended || !own.iter().any(|words| said.contains(words)) {
            return None;
        }
        Some(match kind {
            Some((_, what, side, hint)) => {
                let fault = Fault::new(format!("{what}: {last}"), *side, *hint);
                // The stream to a pod is made anew for each command, and may be cut as any other.
                if said.contains("error dialing backend") { fault.passing() } else { fault }
            }
            None => Fault::new(last, None, format!("try `kubectl exec {} -- true` by hand", self.told.pod)),
        })
    }

    fn program(&self) -> (&'static str, &'static str) {
        ("kubectl", "kubectl (kubernetes-client)")
    }
}

impl Transport for Pod {
    fn put(&self, program: &Program, patience: Nanos, stop: &Stop) -> Result<String, Failure> {
        let put = remote::put(self, program, patience, stop)?;
        let _ = self.put.set(put.short);
        Ok(put.file)
    }

    fn command(&self, words: &[String]) -> Command {
        command_of(&self.exec(None), words)
    }

    fn clean(&self, patience: Nanos, stop: &Stop) -> Result<(), Failure> {
        self.put.get().map_or(Ok(()), |short| remote::clean(self, short, patience, stop))
    }
}

#[cfg(test)]
mod tests;
