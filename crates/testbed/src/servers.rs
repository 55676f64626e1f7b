//! Real servers, started by a test as an ordinary user would: on loopback, or on a host that the test has made. One that is not installed is
//! skipped aloud.

use std::fmt;
use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

use measure::method::Carrier;

use crate::process::{self, Running};
use crate::{port, skip, template, wait};

/// A server, the folder that it lives in, and its port.
#[derive(Debug)]
pub struct Server {
    /// Its port.
    pub port: u16,
    /// Its process.
    pub running: Running,
    /// Its folder.
    pub folder: tempfile::TempDir,
}

impl Server {
    /// The same at another port of its own, once it listens there over TCP too: a server that listens at its first port may not have come
    /// to its second one.
    #[must_use]
    pub fn at(self, port: u16) -> Self {
        self.running.until_it_listens(Carrier::Tcp, port);
        Self { port, ..self }
    }
}

/// The host that servers are started on.
pub struct Place<'a> {
    bind: &'static str,
    command: Box<dyn Fn(&str) -> Command + Send + Sync + 'a>,
}

impl fmt::Debug for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("bind", &self.bind).finish_non_exhaustive()
    }
}

/// The user `nobody` of Debian and others.
const NOBODY: u32 = 65_534;

/// The user that a server which will not run as root runs as.
pub fn ordinary_user() -> u32 {
    let own = rustix::process::geteuid();
    if own.is_root() { NOBODY } else { own.as_raw() }
}

/// A command with these words, found where a daemon of a distribution is: an ordinary user's path need not lead there.
fn led(mut command: Command, words: &[&str]) -> Command {
    command.env("PATH", "/usr/bin:/usr/sbin:/usr/local/bin:/bin:/sbin").args(words);
    command
}

impl<'a> Place<'a> {
    /// This host: its servers listen on loopback alone.
    pub fn here() -> Self {
        Self { bind: "127.0.0.1", command: Box::new(|name| Command::new(name)) }
    }

    /// Another, where `command` runs a program: its servers listen at all addresses, and serve whoever asks.
    pub fn all_of(command: impl Fn(&str) -> Command + Send + Sync + 'a) -> Self {
        Self { bind: "0.0.0.0", command: Box::new(command) }
    }

    /// A command there with these words.
    pub fn program(&self, name: &str, words: &[&str]) -> Command {
        led((self.command)(name), words)
    }

    /// The same, run by the ordinary user.
    fn as_user(&self, name: &str, words: &[&str]) -> Command {
        if !rustix::process::geteuid().is_root() {
            return self.program(name, words);
        }
        let user = ordinary_user().to_string();
        let mut command = self.program("setpriv", &["--reuid", &user, "--regid", &user, "--clear-groups", name]);
        command.args(words);
        command
    }

    /// Starts what `command` makes of a folder and a port, and returns when it listens; `None`, said aloud, where `program` is not installed.
    pub fn started(&self, program: &str, over: Carrier, command: impl FnOnce(&Path, u16) -> Command) -> Option<Server> {
        let folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin"];
        if !folders.iter().any(|folder| Path::new(folder).join(program).exists()) {
            skip::aloud(&format!("{program} is not installed: nothing of sonde was tried against it"));
            return None;
        }
        let (folder, port) = (tempfile::tempdir().expect("a folder"), port::free());
        let running = process::started(&mut command(folder.path(), port));
        running.until_it_listens(over, port);
        Some(Server { port, running, folder })
    }

    /// A Redis with more words.
    pub fn redis(&self, more: &[&str]) -> Option<Server> {
        self.started("redis-server", Carrier::Tcp, |folder, port| {
            let words = ["--bind", self.bind, "--protected-mode", "no", "--save", "", "--appendonly", "no"];
            let mut command = self.program("redis-server", &words);
            command.args(["--port", &port.to_string(), "--dir"]).arg(folder).args(more);
            command
        })
    }

    /// A memcached.
    pub fn memcached(&self) -> Option<Server> {
        self.started("memcached", Carrier::Tcp, |_, port| {
            self.program("memcached", &["-p", &port.to_string(), "-U", "0", "-l", self.bind, "-u", "nobody"])
        })
    }

    /// An nginx that listens at its port as `listen` goes on, with more lines of its server.
    pub fn nginx(&self, listen: &str, more: &str) -> Option<Server> {
        self.started("nginx", Carrier::Tcp, |folder, port| {
            let (at, bind) = (folder.display(), self.bind);
            let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                .map(|name| format!("{name}_temp_path {at}/{name};"))
                .concat();
            let text = format!(
                "daemon off; pid {at}/pid; error_log {at}/error; worker_processes 1; events {{}} http {{ access_log off; {temporary}
                 server {{ listen {bind}:{port}{listen}; location /health {{ return 200 'ok\\n'; }} location /busy {{ return 503; }} {more} }} }}"
            );
            self.of_file("nginx", &["-e", &folder.join("error").display().to_string(), "-c"], folder, &text)
        })
    }

    /// A haproxy with these lines behind the address of its frontend.
    pub fn haproxy(&self, lines: &str) -> Option<Server> {
        self.started("haproxy", Carrier::Tcp, |folder, port| {
            let text = format!(
                "defaults\n mode http\n timeout client 5s\n timeout server 5s\n timeout connect 5s\nfrontend f\n bind {}:{port}\n{lines}",
                self.bind
            );
            self.of_file("haproxy", &["-db", "-f"], folder, &text)
        })
    }

    /// An unbound that has `a.test`, with more lines in its section of the server, and waits over `carrier`.
    pub fn unbound(&self, carrier: Carrier, more: &str) -> Option<Server> {
        self.started("unbound", carrier, |folder, port| {
            let (at, bind) = (folder.display(), self.bind);
            let text = format!(
                "server:\n interface: {bind}@{port}\n access-control: 0.0.0.0/0 allow\n username: \"\"\n chroot: \"\"\n directory: \"{at}\"\n \
                 pidfile: \"{at}/pid\"\n use-syslog: no\n do-daemonize: no\n local-zone: \"test.\" static\n \
                 local-data: \"a.test. A 127.0.0.7\"\n{more}remote-control:\n control-enable: no\n"
            );
            self.of_file("unbound", &["-d", "-c"], folder, &text)
        })
    }

    /// A NATS server.
    pub fn nats(&self) -> Option<Server> {
        self.started("nats-server", Carrier::Tcp, |_, port| {
            self.program("nats-server", &["-a", self.bind, "-p", &port.to_string()])
        })
    }

    /// A mosquitto with more lines for its listener.
    pub fn mosquitto(&self, more: &str) -> Option<Server> {
        self.started("mosquitto", Carrier::Tcp, |folder, port| {
            let text = format!("listener {port} {}\nallow_anonymous true\n{more}", self.bind);
            self.of_file("mosquitto", &["-c"], folder, &text)
        })
    }

    /// An sshd that lets in whoever comes, as far as a login; `None`, said aloud, also where root lacks the folder that it wants.
    pub fn sshd(&self) -> Option<Server> {
        if rustix::process::geteuid().is_root() && !Path::new("/run/sshd").exists() {
            skip::aloud("sshd wants /run/sshd: nothing of sonde was tried against it");
            return None;
        }
        self.started("sshd", Carrier::Tcp, |folder, port| {
            let (at, bind) = (folder.display(), self.bind);
            let made = process::ended(
                self.program("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join("key")),
                process::LIMIT,
            );
            assert_eq!(made.code, Some(0), "{}", made.told());
            let text = format!(
                "Port {port}\nListenAddress {bind}\nHostKey {at}/key\nUsePAM no\nStrictModes no\nPidFile none\nMaxStartups 1000\n"
            );
            self.of_file("/usr/sbin/sshd", &["-D", "-e", "-f"], folder, &text)
        })
    }

    /// A chrony that tells the time; `None`, said aloud, also where we are not root.
    pub fn chrony(&self) -> Option<Server> {
        if !rustix::process::geteuid().is_root() {
            skip::aloud("chronyd wants to be root: nothing of sonde was tried against it");
            return None;
        }
        self.started("chronyd", Carrier::Udp, |folder, port| {
            let (at, bind) = (folder.display(), self.bind);
            let text = format!(
                "port {port}\ncmdport 0\nlocal stratum 10\nallow\nbindaddress {bind}\npidfile {at}/pid\nbindcmdaddress /\n"
            );
            self.of_file("chronyd", &["-d", "-x", "-f"], folder, &text)
        })
    }

    /// A caddy that speaks QUIC, with these lines of its site. Who names nobody is shown the certificate of `name`.
    pub fn caddy(&self, name: &str, lines: &str) -> Option<Server> {
        self.started("caddy", Carrier::Udp, |folder, port| {
            let text = format!(
                "{{\n auto_https off\n admin off\n skip_install_trust\n default_sni {name}\n grace_period 1s\n}}\n\
                 https://:{port} {{\n bind {}\n{lines}}}\n",
                self.bind
            );
            let mut command = self.of_file("caddy", &["run", "--adapter", "caddyfile", "--config"], folder, &text);
            for home in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
                command.env(home, folder);
            }
            command
        })
    }

    /// A PostgreSQL of our own with these settings, which trusts one role and asks others for a password; and its user.
    pub fn postgres(&self, settings: &[String]) -> Option<(Server, u32)> {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let Some(programs) = versions.map(|entry| entry.path().join("bin")).find(|bin| bin.join("initdb").exists())
        else {
            skip::aloud("PostgreSQL is not installed: nothing of sonde was tried against it");
            return None;
        };
        let user = ordinary_user();
        let (folder, port) = (tempfile::tempdir().expect("a folder"), port::free());
        chown(folder.path(), Some(user), None).expect("a folder of ours");
        let data = folder.path().join("data");
        let as_user = |name: &str, words: &[&str]| {
            let mut command = self.as_user(&programs.join(name).display().to_string(), words);
            command.current_dir(folder.path()).env("LC_ALL", "C");
            command
        };
        let words = ["-A", "trust", "-U", "sonde", "-E", "UTF8", "--locale", "C", "--no-sync", "-D"];
        template::copied(&programs.join("initdb"), &words, user, &data, |data| {
            let made = process::ended(as_user("initdb", &words).arg(data), process::LIMIT);
            assert_eq!(made.code, Some(0), "{}", made.told());
        });
        let rules = "host all sonde all trust\nhost all shop all scram-sha-256\nhost all clear all password\nlocal all all trust\n";
        fs::write(data.join("pg_hba.conf"), rules).expect("written");
        let listen = format!("listen_addresses={}", self.bind);
        let mut command = as_user("postgres", &["-c", &listen, "-p", &port.to_string(), "-k"]);
        command.arg(folder.path()).arg("-D").arg(&data);
        command.args(settings.iter().flat_map(|setting| ["-c", setting]));
        let running = process::started(&mut command);
        wait::until("it lets clients in", || running.stderr().contains("ready to accept connections"));
        Some((Server { port, running, folder }, user))
    }

    /// A MariaDB of our own with these options, with a user who has a password; and its user of the system.
    pub fn mariadb(&self, options: &[String]) -> Option<(Server, u32)> {
        let installed = Path::new("/usr/sbin/mariadbd").exists() && Path::new("/usr/bin/mariadb-install-db").exists();
        if !installed {
            skip::aloud("MariaDB is not installed: nothing of sonde was tried against it");
            return None;
        }
        let user = ordinary_user();
        let (folder, port) = (tempfile::tempdir().expect("a folder"), port::free());
        chown(folder.path(), Some(user), None).expect("a folder of ours");
        let at = |name: &str| folder.path().join(name).display().to_string();
        let as_user = |name: &str, words: &[&str]| {
            let mut command = self.as_user(name, words);
            // One that starts removes the temporary tables of all who share its folder for them.
            command.current_dir(folder.path()).env("TMPDIR", folder.path());
            command
        };
        let data = format!("--datadir={}", at("data"));
        // Its log takes 96 MB by default, which each copy would have.
        let log = "--innodb-log-file-size=4M";
        let words = ["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", log];
        let install = Path::new("/usr/bin/mariadb-install-db");
        template::copied(install, &words, user, &folder.path().join("data"), |_| {
            let made = process::ended(as_user("mariadb-install-db", &words).arg(&data), process::LIMIT);
            assert_eq!(made.code, Some(0), "{}", made.told());
        });
        let (socket, pid, port_word, bind) = (
            format!("--socket={}", at("s")),
            format!("--pid-file={}", at("p")),
            format!("--port={port}"),
            format!("--bind-address={}", self.bind),
        );
        // It listens over TCP before it does at its own socket, so a client there could come too early: it makes the user itself,
        // before it takes the first connection.
        fs::write(folder.path().join("users"), "create user shop@'%' identified by 'pencil';\n").expect("written");
        let users = format!("--init-file={}", at("users"));
        let words = ["--no-defaults", &data, log, &socket, &pid, &port_word, &bind, &users];
        let running = process::started(as_user("mariadbd", &words).args(options));
        running.until_it_listens(Carrier::Tcp, port);
        Some((Server { port, running, folder }, user))
    }

    /// A command with these words, of which the last is followed by a file that holds `text`.
    fn of_file(&self, name: &str, words: &[&str], folder: &Path, text: &str) -> Command {
        let file = folder.join("conf");
        fs::write(&file, text).expect("written");
        let mut command = self.program(name, words);
        command.arg(file);
        command
    }
}
