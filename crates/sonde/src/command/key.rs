//! `sonde key`: a new pre-shared key or identity, 256 random bits in a file that only its owner reads; and the list of a server's
//! keys.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use endpoint::reflector::permit::Permit;
use protocol::native::identity::Identity;
use protocol::native::key::{Holder, Key};
use protocol::native::limits::Limits;

use crate::command::key_file::{self, KeyFile};
use crate::command::key_list::{self, Listed, TABLE};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  sonde key fleet.key                          create it once
  scp fleet.key db1:                           copy it to the peer over a trusted connection
  sonde serve --key fleet.key                  there
  sonde rtt db1 --key fleet.key                here (or SONDE_KEY_FILE=fleet.key)
  sonde key keys.toml --add alice              several keys: alice's is written to alice.key, for her
  sonde key keys.toml --list                   names and rights, never a key
  sonde key alice.identity --identity          an identity, for this host alone; prints its public part
  sonde key keys.toml --add alice --peer-identity sonde-public-1:...
                                               let it in, where the server has an identity too
  sonde key keys.toml --revoke alice           take it away; then kill -HUP the server

docs/howto/keys.md says which rights a key can have.
";

/// Arguments of `sonde key`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "one per switch of the command line")]
pub struct KeyOptions {
    /// The key file to create, which is never overwritten; with --add, --list and --revoke the server's list of keys
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Create an identity in place of a pre-shared key, and print its public part
    #[arg(long, conflicts_with_all = ["public", "add", "list", "revoke"])]
    identity: bool,
    /// Print the public part of the identity in FILE
    #[arg(long, conflicts_with_all = ["add", "list", "revoke"])]
    public: bool,
    /// Add a new key of this name to the list, and write it to NAME.key for whoever will use it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["list", "revoke"])]
    add: Option<String>,
    /// With --add: write the new key to this file
    #[arg(short = 'o', long = "output", value_name = "FILE", requires = "add", conflicts_with = "peer_identity")]
    output: Option<PathBuf>,
    /// With --add: no new key, but the identity with this public part, or with that in this file
    #[arg(long, value_name = "PUBLIC", requires = "add")]
    peer_identity: Option<String>,
    /// Print the keys of the list by their names, with their rights
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Remove the key of this name from the list
    #[arg(long, value_name = "NAME")]
    revoke: Option<String>,
    /// Use a list that other users of this machine can read
    #[arg(long)]
    insecure_key_file: bool,
}

/// Makes the key, or keeps the list of keys.
///
/// # Errors
/// A file that exists or cannot be made; no random bits; a list that is none.
pub fn run(options: &KeyOptions, output: &Output) -> Result<Exit, Failure> {
    let list = || List::read(&options.file, options.insecure_key_file);
    if let Some(name) = &options.add {
        return match &options.peer_identity {
            Some(public) => add_identity(name, public, options, output),
            None => add(name, options, output),
        };
    }
    if let Some(name) = &options.revoke {
        list()?.without(name)?.write()?;
        output.note(&format!(
            "{}: key {name:?} removed; SIGHUP has a running server read it again\n",
            options.file.display()
        ));
        return Ok(Exit::Done);
    }
    if options.list {
        let list = list()?;
        output.result(&key_list::table(&list.keys()?));
        return Ok(Exit::Done);
    }
    let file = &options.file;
    if options.public {
        let identity = KeyFile::new(file.clone(), options.insecure_key_file).identity()?;
        output.result(&format!("{}\n", identity.public()));
        return Ok(Exit::Done);
    }
    if options.identity {
        let identity = Identity::new(new()?.0);
        create(file, &identity.to_text())?;
        output.note(&format!("{}: a new identity, readable by you alone; its public part is:\n", file.display()));
        output.result(&format!("{}\n", identity.public()));
        return Ok(Exit::Done);
    }
    create(file, &new()?.to_text())?;
    output.note(&format!("{}: a new key of 256 bits, readable by you alone\n", file.display()));
    Ok(Exit::Done)
}

/// A key of new random bits.
fn new() -> Result<Key, Failure> {
    random_bits().map(Key).map_err(|error| Failure::usage(format!("/dev/urandom: cannot draw a key: {error}")))
}

/// Writes the line of a key or an identity to a new file.
fn create(file: &Path, line: &str) -> Result<(), Failure> {
    write_new(file, &format!("{line}\n")).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::usage(format!("{}: exists already", file.display()))
            .hint("a key in use is never overwritten: choose another name, or remove the file first")
            .about(file.display().to_string()),
        _ => Failure::usage(format!("{}: cannot make the key file: {error}", file.display()))
            .about(file.display().to_string()),
    })
}

/// The list, to which something is to be added: a new one where there is none.
fn list_to_be(options: &KeyOptions) -> Result<List, Failure> {
    match List::read(&options.file, options.insecure_key_file) {
        Err(_) if !options.file.exists() => Ok(List::new(&options.file)),
        list => list,
    }
}

/// Adds an identity by this name to the list.
fn add_identity(name: &str, public: &str, options: &KeyOptions, output: &Output) -> Result<Exit, Failure> {
    let public = key_file::public(public)?;
    list_to_be(options)?.with(name, &public.into())?.write()?;
    output.note(&format!("{}: identity {name:?} added, with all rights\n", options.file.display()));
    Ok(Exit::Done)
}

/// Adds a key of this name to the list, and writes it to a file of its own.
fn add(name: &str, options: &KeyOptions, output: &Output) -> Result<Exit, Failure> {
    let own = &options.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.key")));
    let list = list_to_be(options)?;
    let key = new()?;
    let list = list.with(name, &key.clone().into())?;
    // First what can fail without harm: a key that nobody has may be in a list.
    create(own, &key.to_text())?;
    list.write().inspect_err(|_| drop(std::fs::remove_file(own)))?;
    output.note(&format!(
        "{}: key {name:?} added, with all rights; it is in {}\n",
        options.file.display(),
        own.display()
    ));
    Ok(Exit::Done)
}

/// A list of keys as its file has it.
struct List {
    path: PathBuf,
    text: String,
}

impl List {
    fn new(path: &Path) -> Self {
        let text = "# Keys of `sonde serve --key`, read again on SIGHUP. docs/howto/keys.md says which rights a key can have.\n";
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    fn read(path: &Path, insecure: bool) -> Result<Self, Failure> {
        let file = KeyFile::new(path.to_owned(), insecure);
        let list = Self { path: path.to_owned(), text: file.text("make one: `sonde key FILE --add NAME`")? };
        if Key::parse(&list.text).is_ok() {
            return Err(Failure::usage(format!("{}: holds one key, and is not a list", file.name()))
                .hint("name another file for the list: `sonde key keys.toml --add NAME`")
                .about(file.name()));
        }
        list.keys().map(|_| list)
    }

    /// Its keys, with the rights of a server that was given no bounds.
    fn keys(&self) -> Result<Vec<Listed>, Failure> {
        key_list::read(&self.text, &self.path.display().to_string(), &Permit::within(Limits::default()))
    }

    /// The same with one key more, behind the others.
    fn with(self, name: &str, holder: &Holder) -> Result<Self, Failure> {
        if self.keys().is_ok_and(|keys| keys.iter().any(|key| key.name() == name)) {
            let about = self.path.display().to_string();
            return Err(Failure::usage(format!("{about}: a key {name:?} is in it already"))
                .hint(format!("take another name, or remove that key first: --revoke {}", report::shell::word(name)))
                .about(&about));
        }
        let (word, value) = match holder {
            Holder::PreShared(key) => ("key", key.to_text()),
            Holder::Identity(public) => ("public", public.to_string()),
        };
        let quoted = toml::Value::String(name.to_owned());
        let gap = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { "\n" };
        let text = format!("{}{gap}\n{TABLE}\nname = {quoted}\n{word} = \"{value}\"\n", self.text);
        let list = Self { text, ..self };
        list.keys().map(|_| list)
    }

    /// The same without the key of this name; all else stays as it was written.
    fn without(self, name: &str) -> Result<Self, Failure> {
        let about = self.path.display().to_string();
        let keys = self.keys()?;
        let place = keys.iter().position(|key| key.name() == name).ok_or_else(|| {
            let names: Vec<&str> = keys.iter().map(Listed::name).collect();
            Failure::usage(format!("{about}: no key {name:?} is in it"))
                .hint(format!("it has: {}", names.join(", ")))
                .about(&about)
        })?;
        let heads: Vec<usize> = table_heads(&self.text);
        let removed = heads.get(place).map(|from| {
            let rest = &self.text[*from..];
            let end = rest.match_indices("\n[").map(|(at, _)| at + 1).next().unwrap_or(rest.len());
            format!("{}{}", &self.text[..*from], &rest[end..])
        });
        let list = removed.map(|text| Self { text, ..self });
        let is_right = |list: &Self| {
            list.keys().is_ok_and(|left| left.len() + 1 == keys.len() && left.iter().all(|key| key.name() != name))
        };
        list.filter(is_right).ok_or_else(|| {
            Failure::usage(format!("{about}: its tables are written in a way that cannot be changed here"))
                .hint(format!("remove the table of {name:?} with an editor"))
                .about(&about)
        })
    }

    /// In the place of the file: whole, or not at all.
    fn write(&self) -> Result<(), Failure> {
        let mut beside = self.path.clone().into_os_string();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        let written = write_new(&beside, &self.text).and_then(|()| std::fs::rename(&beside, &self.path));
        written.map_err(|error| {
            let hint = format!("where {} is there and nobody else changes the list, remove it", beside.display());
            Failure::usage(format!("{}: cannot write the list: {error}", self.path.display()))
                .hint(hint)
                .about(self.path.display().to_string())
        })
    }
}

/// Beginnings of the keys' tables, octets from the start.
fn table_heads(text: &str) -> Vec<usize> {
    let mut at = 0;
    let mut heads = Vec::new();
    for line in text.split_inclusive('\n') {
        let line_is_head = line.trim_start().starts_with(TABLE);
        if line_is_head {
            heads.push(at);
        }
        at += line.len();
    }
    heads
}

/// 256 bits of the system's random source.
///
/// # Errors
/// The system's own error.
pub fn random_bits() -> io::Result<[u8; 32]> {
    let mut bits = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bits)?;
    Ok(bits)
}

/// Writes a file that was not there; a half-written one does not stay.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // A key that could not be written whole is none; that it cannot be removed either adds nothing to the error.
        let _ = std::fs::remove_file(path);
    }
    written
}
