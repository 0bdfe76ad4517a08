//! TLS of the listeners: `[server.tls]`.

use std::path::Path;

use super::problem::Diagnostics;
use super::setting::{choice, section};

choice! {
    /// The oldest version of TLS that is spoken.
    pub enum TlsVersion {
        /// TLS 1.2 and 1.3.
        Tls12 = "1.2",
        /// TLS 1.3 alone.
        Tls13 = "1.3",
    }
}

section! {
    /// TLS instead of plain HTTP on the main listener. The files are read again when they change and on
    /// `SIGHUP`; connections go on.
    pub struct TlsSection {
        /// Enables TLS on the main listener.
        pub enabled: bool = false,
        /// PEM file with the certificate chain.
        pub cert_path: String = String::new(),
        /// PEM file with the private key.
        pub key_path: String = String::new(),
        /// The oldest version of TLS that is spoken.
        pub min_version: TlsVersion = TlsVersion::Tls12,
        /// Speaks HTTP/2 with clients that ask for it.
        pub http2: bool = true,
        /// PEM file with the authorities of client certificates. The admin API then needs a certificate of
        /// one of them and its key; other paths do not. Empty: no caller needs one.
        pub client_ca_path: String = String::new(),
    }
}

impl TlsSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        const CLIENT_CA: &str = "server.tls.client_ca_path";
        if !self.enabled {
            if !self.client_ca_path.is_empty() {
                diagnostics.refuse(CLIENT_CA, "works with server.tls.enabled alone; set it to true");
            }
            if !self.cert_path.is_empty() || !self.key_path.is_empty() {
                diagnostics.note(
                    "server.tls.enabled: clients are served in plain text, although server.tls names a certificate \
                     or a key; set it to true",
                );
            }
            return;
        }
        let mut require_file = |key: &str, path: &str| {
            if !Path::new(path).is_file() {
                diagnostics.refuse(key, format!("needed with server.tls.enabled: no PEM file at {path:?}"));
            }
        };
        require_file("server.tls.cert_path", &self.cert_path);
        require_file("server.tls.key_path", &self.key_path);
        if !self.client_ca_path.is_empty() && !Path::new(&self.client_ca_path).is_file() {
            diagnostics.refuse(CLIENT_CA, format!("no PEM file at {:?}", self.client_ca_path));
        }
    }

    /// Returns `true` if the admin API needs a client certificate.
    #[must_use]
    pub fn requires_client_certificate(&self) -> bool {
        self.enabled && !self.client_ca_path.is_empty()
    }
}
