//! Programs at work that rows ask.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

use anyhow::{Context, Result};
use serde::Serialize;
use testbed::port;
use testbed::servers::ordinary_user;

use crate::process::{Call, Priority, Running, rest};
use crate::sonde::{SERVER_CPU, said_by};

/// A program that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// Redis, which is pinged with a number.
    Redis,
    /// nginx, whose answer to a GET is in its configuration.
    Nginx,
    /// The same over HTTP/2 in clear.
    Http2,
    /// memcached, which is asked for nothing.
    Memcached,
    /// unbound, which has the name that it is asked for.
    Unbound,
    /// PostgreSQL, which computes a constant.
    Postgres,
}

/// The statement that PostgreSQL runs.
pub const STATEMENT: &str = "select 1";
/// The name that unbound is asked for.
pub const NAME: &str = "a.test";
/// The role that PostgreSQL lets in.
pub const ROLE: &str = "sonde";

impl Program {
    /// Those that the C loop asks too.
    pub const LOOPED: [Self; 3] = [Self::Redis, Self::Nginx, Self::Memcached];

    /// Its protocol, as rows are called.
    pub fn word(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Nginx => "http",
            Self::Http2 => "h2c",
            Self::Memcached => "memcached",
            Self::Unbound => "dns",
            Self::Postgres => "postgres",
        }
    }

    /// The URL that is asked at `port`.
    pub fn url(self, port: u16) -> String {
        let (user, path) = match self {
            Self::Nginx | Self::Http2 => (String::new(), "/health".to_owned()),
            Self::Unbound => (String::new(), format!("/{NAME}")),
            Self::Postgres => (format!("{ROLE}@"), "/postgres".to_owned()),
            Self::Redis | Self::Memcached => (String::new(), String::new()),
        };
        format!("{}://{user}127.0.0.1:{port}{path}", self.word())
    }

    /// More words for sonde, so that it asks the same as others do.
    pub fn words(self) -> Result<String> {
        if self != Self::Postgres {
            return Ok(String::new());
        }
        let file = folder("mix")?.join("statement.toml");
        fs::write(&file, format!("[[request]]\nquery = \"{STATEMENT}\"\n")).context("cannot write a list")?;
        Ok(format!("--mix {}", file.display()))
    }

    /// The same request as the C loop takes it: octets as sonde sends them, the ends of lines written out, and `_` for a space. `None`
    /// where no C loop asks.
    pub fn request(self, port: u16) -> Option<String> {
        let version = env!("CARGO_PKG_VERSION");
        Some(match self {
            Self::Redis => r"*2\r\n$4\r\nPING\r\n$8\r\n00000001\r\n".to_owned(),
            Self::Nginx => {
                format!(r"GET_/health_HTTP/1.1\r\nHost:_127.0.0.1:{port}\r\nUser-Agent:_sonde/{version}\r\n\r\n")
            }
            Self::Memcached => r"mn\r\n".to_owned(),
            Self::Http2 | Self::Unbound | Self::Postgres => return None,
        })
    }

    /// Octets of that request.
    pub fn request_length(self, port: u16) -> Option<usize> {
        Some(self.request(port)?.replace("\\r", "r").replace("\\n", "n").len())
    }

    /// The program at `port`.
    fn start(self, port: u16, priority: Priority) -> Result<Running> {
        // A started program is waited for by its first line, and some print none.
        let script = match self {
            Self::Redis => {
                format!("echo begins; exec redis-server --port {port} --bind 127.0.0.1 --save '' --appendonly no")
            }
            Self::Memcached => format!("echo begins; exec memcached -p {port} -U 0 -l 127.0.0.1 -t 1 -u nobody"),
            Self::Nginx => nginx(port, "")?,
            Self::Http2 => nginx(port, " http2")?,
            Self::Unbound => unbound(port)?,
            Self::Postgres => postgres(port)?,
        };
        let mut call = Call::new(Path::new("taskset"), &format!("-c {SERVER_CPU} sh -c"));
        call.arguments.push(script);
        call.start(priority)
    }

    /// The outcome of `ask` with the program at the port that it is given, which runs for as long.
    pub fn asked<T>(self, priority: Priority, ask: impl FnOnce(u16) -> Result<T>) -> Result<T> {
        let port = port::free();
        let server = self.start(port, priority)?;
        rest();
        said_by(server, ask(port))
    }
}

/// A folder of this run.
pub fn folder(name: &str) -> Result<PathBuf> {
    let folder = env::temp_dir().join(format!("sonde-bench-{name}-{}", process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// An nginx that listens at `port` as `listen` goes on.
fn nginx(port: u16, listen: &str) -> Result<String> {
    let folder = folder("nginx")?;
    let at = folder.display();
    let rooms = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {at}/{name};"))
        .concat();
    // It would end a connection after a thousand requests, which is no matter of this comparison.
    let text = format!(
        "daemon off; pid {at}/pid; error_log {at}/error; worker_processes 1; events {{}} http {{ access_log off;
         keepalive_requests 1000000000; {rooms}
         server {{ listen 127.0.0.1:{port}{listen}; location /health {{ return 200 'ok\\n'; }} }} }}"
    );
    fs::write(folder.join("conf"), text).context("cannot write nginx's configuration")?;
    Ok(format!("echo begins; exec nginx -c {at}/conf -e {at}/error"))
}

/// An unbound that has the name.
fn unbound(port: u16) -> Result<String> {
    let folder = folder("unbound")?;
    let at = folder.display();
    let text = format!(
        "server:\n interface: 127.0.0.1@{port}\n username: \"\"\n chroot: \"\"\n directory: \"{at}\"\n pidfile: \"{at}/pid\"\n \
         use-syslog: no\n do-daemonize: no\n local-zone: \"test.\" static\n local-data: \"{NAME}. A 127.0.0.7\"\n\
         remote-control:\n control-enable: no\n"
    );
    fs::write(folder.join("conf"), text).context("cannot write unbound's configuration")?;
    Ok(format!("echo begins; exec unbound -d -c {at}/conf"))
}

/// A PostgreSQL that trusts its role. It begins when it lets clients in, and ends before its shell does, so that the next one has its folder.
fn postgres(port: u16) -> Result<String> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let programs = versions.map(|entry| entry.path().join("bin")).find(|bin| bin.join("initdb").exists());
    let programs = programs.context("PostgreSQL is not installed")?.display().to_string();
    let (folder, user) = (folder("postgres")?, ordinary_user());
    chown(&folder, Some(user), None).context("PostgreSQL does not run as root")?;
    let at = folder.display();
    // It refuses to run as root.
    let own = match fs::metadata("/proc/self").map(|own| own.uid()) {
        Ok(own) if own == user => String::new(),
        _ => format!("setpriv --reuid {user} --regid {user} --clear-groups"),
    };
    Ok(format!(
        "trap : TERM; cd {at}; export LC_ALL=C; [ -e data ] || {own} {programs}/initdb -A trust -U {ROLE} --no-sync -D data >made 2>&1
         {own} {programs}/postgres -D data -p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {at} >said 2>&1 &
         until {programs}/pg_isready -q -h 127.0.0.1 -p {port}; do sleep 0.02; done
         echo begins; wait; wait"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_as_long_as_their_octets() {
        assert_eq!(Program::Redis.request_length(1), Some(28));
        assert_eq!(Program::Memcached.request_length(1), Some(4));
        assert_eq!(Program::Unbound.request_length(1), None);
        let words = format!(
            "GET /health HTTP/1.1\r\nHost: 127.0.0.1:80\r\nUser-Agent: sonde/{}\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(Program::Nginx.request_length(80), Some(words.len()));
    }

    #[test]
    fn a_url_has_the_words_of_its_protocol() {
        assert_eq!(Program::Redis.url(7), "redis://127.0.0.1:7");
        assert_eq!(Program::Http2.url(7), "h2c://127.0.0.1:7/health");
        assert_eq!(Program::Postgres.url(7), "postgres://sonde@127.0.0.1:7/postgres");
        assert_eq!(Program::Unbound.url(7), "dns://127.0.0.1:7/a.test");
    }
}
