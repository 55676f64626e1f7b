//! Delivery of a letter: over HTTP, to a program, to the system's `sendmail`. Blocking: each receiver has a thread of its
//! own.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use aws_lc_rs::hmac;
use logbook::monitor::plan::Receiver;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::form::Sender;
use super::outbox::{Letter, Outcome};

/// Longest wait for a receiver.
const PATIENCE: Duration = Duration::from_secs(10);
/// URL at which PagerDuty takes events.
const PAGERDUTY: &str = "https://events.pagerduty.com/v2/enqueue";
/// The longest secret that is read from a file, octets.
const SECRET: u64 = 4_096;

/// A receiver that is ready to be told.
#[derive(Debug)]
pub struct Post {
    receiver: Receiver,
    /// The URL or key in its file.
    secret: Option<String>,
    agent: Agent,
}

impl Post {
    /// One for `receiver`, whose secret is read now: from its file as it stands in the plan's folder.
    ///
    /// # Errors
    /// The file of a secret cannot be read, or is empty; a URL is none.
    pub fn new(receiver: &Receiver, folder: &std::path::Path) -> Result<Self> {
        let file = match receiver {
            Receiver::Slack { url_file } => Some(url_file),
            Receiver::Pagerduty { key_file, .. } => Some(key_file),
            Receiver::Webhook { key_file, .. } => key_file.as_ref(),
            _ => None,
        };
        let secret = file.map(|file| secret(&folder.join(file))).transpose()?;
        let url = match receiver {
            Receiver::Alertmanager { url } | Receiver::Webhook { url, .. } => Some(url.as_str()),
            Receiver::Pagerduty { url, .. } => url.as_deref(),
            Receiver::Slack { .. } => secret.as_deref(),
            _ => None,
        };
        if url.is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
            // A URL that is a secret is not repeated.
            bail!("{}: its URL does not begin with http:// or https://", receiver.name());
        }
        Ok(Self { receiver: receiver.clone(), secret, agent: agent(PATIENCE) })
    }

    /// Tells it: what became of it, and why where it was not taken.
    pub fn tell(&self, sender: &Sender, letter: &Letter, now: u64) -> (Outcome, Option<String>) {
        let secret = self.secret.as_deref().unwrap_or_default();
        match &self.receiver {
            Receiver::Alertmanager { url } => {
                let url = format!("{}/api/v2/alerts", url.trim_end_matches('/'));
                self.posted(&url, &sender.alertmanager(letter, now), None)
            }
            Receiver::Webhook { url, .. } => self.posted(url, &sender.webhook(letter, now), self.secret.as_deref()),
            Receiver::Slack { .. } => self.posted(secret, &sender.slack(letter), None),
            Receiver::Pagerduty { url, .. } => {
                self.posted(url.as_deref().unwrap_or(PAGERDUTY), &sender.pagerduty(letter, secret), None)
            }
            Receiver::Command { command } => {
                let text = sender.facts(letter).to_string();
                told(run(command, &text))
            }
            Receiver::Mail { address } => {
                let program = PathBuf::from("/usr/sbin/sendmail");
                let program = if program.exists() { program.display().to_string() } else { "sendmail".to_owned() };
                let words = [program, "-t".to_owned(), "-oi".to_owned()];
                told(run(&words, &sender.mail(letter, address)))
            }
        }
    }

    fn posted(&self, url: &str, body: &serde_json::Value, key: Option<&str>) -> (Outcome, Option<String>) {
        let body = body.to_string();
        let mut request = self.agent.post(url).header("Content-Type", "application/json");
        if let Some(key) = key {
            let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()), body.as_bytes());
            let mut signature = "sha256=".to_owned();
            for octet in tag.as_ref() {
                write!(signature, "{octet:02x}").expect("a string takes all that is written");
            }
            request = request.header("X-Sonde-Signature", signature);
        }
        match request.send(&body) {
            Ok(answer) => {
                let after =
                    answer.headers().get("Retry-After").and_then(|wait| wait.to_str().ok()?.trim().parse().ok());
                let status = answer.status().as_u16();
                let why = || Some(format!("it answered {}", answer.status()));
                match status {
                    200..=299 => (Outcome::Taken, None),
                    408 | 429 | 500..=599 => (Outcome::Later(after), why()),
                    _ => (Outcome::Refused, why()),
                }
            }
            Err(error) => (Outcome::Later(None), Some(error.to_string())),
        }
    }
}

/// Client for HTTP that waits so long for the whole of an answer.
pub fn agent(patience: Duration) -> Agent {
    let tls = TlsConfig::builder()
        .root_certs(roots())
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .build();
    let config = Agent::config_builder()
        .timeout_global(Some(patience))
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("sonde/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls)
        .build();
    config.into()
}

/// The certificates that this system trusts. Where it has none, nobody who is reached by https is who he says.
fn roots() -> RootCerts {
    let found = rustls_native_certs::load_native_certs().certs;
    let certificates: Vec<_> = found.iter().map(|root| Certificate::from_der(root).to_owned()).collect();
    RootCerts::Specific(Arc::new(certificates))
}

fn told(ran: Result<()>) -> (Outcome, Option<String>) {
    match ran {
        Ok(()) => (Outcome::Taken, None),
        Err(error) => (Outcome::Later(None), Some(format!("{error:#}"))),
    }
}

fn secret(path: &std::path::Path) -> Result<String> {
    use std::io::Read;
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(SECRET).read_to_string(&mut text));
    read.with_context(|| format!("cannot read {}", path.display()))?;
    let text = text.trim().to_owned();
    if text.is_empty() {
        bail!("{} is empty", path.display());
    }
    Ok(text)
}

/// Runs a program, no shell, with `text` on its standard input; one that takes too long is killed.
fn run(words: &[String], text: &str) -> Result<()> {
    let Some((program, words)) = words.split_first() else { bail!("a command without words") };
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot run {program}"))?;
    let over = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read what it is told may still do what it is for: how it ends counts. A letter is shorter than a pipe is deep.
        let _unread = stdin.write_all(text.as_bytes());
    }
    let mut ends = [rustix::event::PollFd::new(&over, rustix::event::PollFlags::IN)];
    let patience = rustix::event::Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
    if rustix::event::poll(&mut ends, Some(&patience))? == 0 {
        child.kill()?;
        child.wait()?;
        bail!("{program} took more than {} s and was ended", PATIENCE.as_secs());
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{program} ended with {status}");
    }
    Ok(())
}
