//! A certificate authority made for a test, and a certificate that it signed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

/// Both, in a folder: `ca.pem`, `server.pem`, `server.key`.
#[derive(Debug)]
pub struct Signed {
    folder: tempfile::TempDir,
}

impl Signed {
    /// For these names, until the begin of the year `until`.
    pub fn new(names: &[&str], until: i32) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut params = CertificateParams::new([]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().expect("a key");
        // Each has a name of its own.
        params.distinguished_name.push(DnType::CommonName, folder.path().display().to_string());
        let authority = params.self_signed(&authority_key).expect("a certificate");
        let names = names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut server = CertificateParams::new(names).expect("names");
        (server.not_before, server.not_after) = (date_time_ymd(2_000, 1, 1), date_time_ymd(until, 1, 1));
        let key = KeyPair::generate().expect("a key");
        let signed = server.signed_by(&key, &Issuer::new(params, authority_key)).expect("a certificate");
        let write = |name: &str, text: String| fs::write(folder.path().join(name), text).expect("written");
        write("ca.pem", authority.pem());
        write("server.pem", signed.pem());
        write("server.key", key.serialize_pem());
        // A server that drops its privileges reads them too.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("a folder of ours");
        Self { folder }
    }

    /// A file of them.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// As nginx has it, behind its port.
    pub fn of_nginx(&self, more: &str) -> String {
        format!(
            " ssl; ssl_certificate {}; ssl_certificate_key {}{more}",
            self.text("server.pem"),
            self.text("server.key")
        )
    }
}
