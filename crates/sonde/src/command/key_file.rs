//! Reading a pre-shared key or an identity from its file.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;
use endpoint::control::Credential;
use protocol::irtt::key::Key as IrttKey;
use protocol::native::identity::{Identity, PUBLIC_PREFIX, Public};
use protocol::native::key::{Key, KeyError, Proof};
use protocol::stamp::key::Key as StampKey;

use crate::failure::Failure;

/// The most of a key file that is read, octets: a list of as many keys as there may be is far shorter.
const LONGEST: u64 = 1 << 20;
/// The variable of the environment that names a key file for whatever takes one.
const ENVIRONMENT: &str = "SONDE_KEY_FILE";
/// The command that makes one.
const HINT: &str = "create one: `sonde key FILE`";
/// The command that prints the public part of an identity.
const PUBLIC_HINT: &str = "`sonde key FILE --public` prints it where the identity is";

/// The key of the far side.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct KeyOptions {
    /// Pre-shared key of the peer's `sonde serve`, or your own identity: a file made by `sonde key`
    #[arg(long, value_name = "FILE", env = ENVIRONMENT)]
    key: Option<PathBuf>,
    /// With an identity: the public part of the peer's, or a file that holds it; sonde measures with no other server
    #[arg(long, value_name = "PUBLIC", requires = "key")]
    peer_identity: Option<String>,
    /// Use a key file that other users of this machine can read
    #[arg(long)]
    insecure_key_file: bool,
    /// With a key: send UDP datagrams without a message authentication code, on a network that you trust
    #[arg(long)]
    no_datagram_auth: bool,
}

impl KeyOptions {
    /// The file that was named.
    pub fn file(&self) -> Option<KeyFile> {
        let file = self.another(self.key.as_ref())?;
        let is_usual = std::env::var_os(ENVIRONMENT).is_some_and(|usual| file.path == usual);
        let (peer, authenticate_datagrams) = (self.peer_identity.clone(), !self.no_datagram_auth);
        Some(KeyFile { peer, authenticate_datagrams, is_usual, ..file })
    }

    /// Another file than that of the key, which is read likewise.
    pub fn another(&self, path: Option<&PathBuf>) -> Option<KeyFile> {
        path.map(|path| KeyFile::new(path.clone(), self.insecure_key_file))
    }
}

/// A file that holds a secret.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFile {
    path: PathBuf,
    /// The public part of the peer's identity, or its file, where the secret is an identity.
    peer: Option<String>,
    /// True where it is read though others can read it too.
    insecure: bool,
    /// True where its key is to authenticate datagrams too.
    authenticate_datagrams: bool,
    /// True where the environment names it, for whatever takes a key.
    is_usual: bool,
}

impl KeyFile {
    /// The file at `path`, taken though others can read it where `insecure`.
    pub fn new(path: PathBuf, insecure: bool) -> Self {
        Self { path, peer: None, insecure, authenticate_datagrams: true, is_usual: false }
    }

    /// True where it was asked for where it is of no use: one that the environment names was not.
    pub fn is_asked_for(&self) -> bool {
        !self.is_usual
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The identity in it.
    ///
    /// # Errors
    /// A file that cannot be read, that others can read, or that holds none. No error repeats what the file holds.
    pub fn identity(&self) -> Result<Identity, Failure> {
        const HINT: &str = "create one: `sonde key FILE --identity`";
        Identity::parse(&self.text(HINT)?).map_err(|fault| self.holds_none(fault, HINT))
    }

    /// The key or the identity in it, and how a client uses it.
    ///
    /// # Errors
    /// A file that cannot be read, that others can read, or that holds neither; an identity without that of the peer, or a key
    /// with one. No error repeats what the file holds.
    pub fn credential(&self) -> Result<Credential, Failure> {
        let text = self.text(HINT)?;
        let proof = if Identity::is_in(&text) {
            let own = Identity::parse(&text).map_err(|fault| self.holds_none(fault, HINT))?;
            Proof::Identity { own, peer: self.peer()? }
        } else {
            Proof::PreShared(self.parse(&text)?)
        };
        if self.peer.is_some() && matches!(proof, Proof::PreShared(_)) {
            let what = format!("{}: a pre-shared key, by which no server shows an identity", self.name());
            return Err(Failure::usage(what)
                .hint("name a file of `sonde key FILE --identity` as --key, or remove --peer-identity")
                .about(self.name()));
        }
        Ok(Credential { authenticate_datagrams: self.authenticate_datagrams, ..proof.into() })
    }

    /// The identity of the peer.
    fn peer(&self) -> Result<Public, Failure> {
        let peer = self.peer.as_ref().ok_or_else(|| {
            let what = format!("{}: holds an identity, and that of the server is not given", self.name());
            Failure::usage(what)
                .hint(format!("give the server's: --peer-identity PUBLIC; {PUBLIC_HINT}"))
                .about(self.name())
        })?;
        public(peer)
    }

    /// The key in `text`, which was read from it: a pipe can be read once.
    ///
    /// # Errors
    /// A text that holds no key.
    pub fn parse(&self, text: &str) -> Result<Key, Failure> {
        Key::parse(text).map_err(|fault| self.holds_none(fault, HINT))
    }

    fn holds_none(&self, fault: KeyError, hint: &str) -> Failure {
        let name = self.name();
        Failure::usage(format!("{name}: {fault}")).hint(hint).about(&name)
    }

    /// The key of STAMP's authenticated packets in it, likewise.
    ///
    /// # Errors
    /// As [`KeyFile::identity`].
    pub fn read_stamp(&self) -> Result<StampKey, Failure> {
        const HINT: &str = "create one: `sonde key FILE` or `(umask 077; openssl rand -hex 32 > FILE)`";
        let text = self.text(HINT)?;
        let name = self.name();
        StampKey::parse(&text).map_err(|fault| Failure::usage(format!("{name}: {fault}")).hint(HINT).about(&name))
    }

    /// The key of irtt's sealed packets in it, likewise.
    ///
    /// # Errors
    /// As [`KeyFile::identity`].
    pub fn read_irtt(&self) -> Result<IrttKey, Failure> {
        const HINT: &str = "write the server's --hmac into it, on one line: `(umask 077; printf %s KEY > FILE)`";
        let text = self.text(HINT)?;
        let name = self.name();
        IrttKey::parse(&text).map_err(|fault| Failure::usage(format!("{name}: {fault}")).hint(HINT).about(&name))
    }

    /// True where the service manager handed it over: in a folder that this service alone can enter, where the mode of a file may show
    /// a group that an access list names.
    fn is_credential(&self) -> bool {
        std::env::var_os("CREDENTIALS_DIRECTORY").is_some_and(|folder| self.path.starts_with(folder))
    }

    /// The folders in which it is looked for when it is read again: where it is named, and where that name leads. Whoever
    /// replaces it makes another file there. None where it is no file, as a pipe, which can be read once.
    pub fn folders(&self) -> Vec<PathBuf> {
        let (Ok(named), Ok(found)) = (std::path::absolute(&self.path), self.path.canonicalize()) else {
            return Vec::new();
        };
        if !found.is_file() {
            return Vec::new();
        }
        let mut folders: Vec<PathBuf> =
            [named, found].iter().filter_map(|path| path.parent()).map(Path::to_owned).collect();
        folders.dedup();
        folders
    }

    /// True where it belongs to another user than the one that runs this program.
    pub fn is_of_another(&self) -> bool {
        self.path.metadata().is_ok_and(|facts| facts.uid() != rustix::process::geteuid().as_raw())
    }

    /// Everything in it, as it was when it was opened.
    ///
    /// # Errors
    /// A file that cannot be read, or that others can read.
    pub fn text(&self, hint: &str) -> Result<String, Failure> {
        let name = self.name();
        let cannot = |error: std::io::Error| {
            Failure::usage(format!("{name}: cannot read the key: {error}")).hint(hint).about(&name)
        };
        let file = File::open(&self.path).map_err(cannot)?;
        let facts = file.metadata().map_err(cannot)?;
        // A file that has no name any more, as the one that an agent hands on, nobody else can open.
        let is_open_to_others =
            facts.is_file() && facts.nlink() > 0 && facts.mode() & 0o077 != 0 && !self.is_credential();
        if is_open_to_others && !self.insecure {
            let what = format!("{name}: other users of this machine can read this key");
            let hint = format!(
                "chmod 600 {}; or --insecure-key-file, where all who can read it may have it",
                report::shell::word(&name)
            );
            return Err(Failure::usage(what).hint(hint).about(&name));
        }
        let mut text = String::new();
        file.take(LONGEST + 1).read_to_string(&mut text).map_err(cannot)?;
        if text.len() as u64 > LONGEST {
            return Err(Failure::usage(format!("{name}: longer than 1 MiB, which no key file is"))
                .hint(hint)
                .about(&name));
        }
        Ok(text)
    }
}

/// The public part of an identity: `said` itself, or what stands in the file of this name.
///
/// # Errors
/// A file that cannot be read, or what is no public part.
pub fn public(said: &str) -> Result<Public, Failure> {
    if said.starts_with(PUBLIC_PREFIX) {
        return Public::parse(said)
            .map_err(|fault| Failure::usage(format!("the public part of an identity: {fault}")).hint(PUBLIC_HINT));
    }
    let cannot = |fault: String| Failure::usage(format!("{said}: {fault}")).hint(PUBLIC_HINT).about(said);
    let mut text = String::new();
    let read = File::open(said).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
    read.map_err(|error| cannot(format!("cannot read the public part of an identity: {error}")))?;
    Public::parse(&text).map_err(|fault| cannot(fault.to_string()))
}
