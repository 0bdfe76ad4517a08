//! The parameters `sslmode` and `sslrootcert` of a database URL, with the meanings of libpq.

use std::path::Path;

use percent_encoding::percent_decode_str;
use svc_outbound::{Trust, describe_cause};

/// Anchors of the system, as a value of `sslrootcert`.
const SYSTEM: &str = "system";

/// Encryption of connections to a server, and the check of its certificate. Unix sockets are never encrypted.
#[derive(Clone, Debug)]
pub(crate) enum TlsMode {
    Disable,
    /// `prefer`, and the default: encrypted if the server can, plain otherwise. The certificate is not checked.
    Prefer,
    /// `require`: encrypted, or no connection. The certificate is not checked.
    Require,
    /// `verify-ca`, and `require` with a root certificate: the certificate leads to these anchors.
    VerifyCa(Trust),
    /// `verify-full`: it also names the host.
    VerifyFull(Trust),
}

impl TlsMode {
    /// Returns the value of `sslmode`.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa(_) => "verify-ca",
            Self::VerifyFull(_) => "verify-full",
        }
    }

    /// Takes the parameters out of a URL, of which the driver knows too few, and returns the rest. Reads the file of
    /// `sslrootcert`.
    ///
    /// # Errors
    /// A text that names the parameter and the remedy, never the URL.
    pub(crate) fn take_from(url: &str) -> Result<(String, Self), String> {
        let (base, query) = split_query(url);
        let (mut mode, mut root, mut kept) = (None, None, Vec::new());
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = || percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "sslmode" => mode = Some(value()),
                "sslrootcert" => root = Some(value()),
                "sslnegotiation" if value() == "direct" => {
                    return Err("sslnegotiation=direct is not supported; leave it out".to_owned());
                }
                _ => kept.push(parameter),
            }
        }
        let rest = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
        Ok((rest, Self::parse(mode.as_deref(), root.as_deref())?))
    }

    fn parse(mode: Option<&str>, root: Option<&str>) -> Result<Self, String> {
        match (mode, root) {
            (None | Some("prefer"), None) => Ok(Self::Prefer),
            (Some("disable"), None) => Ok(Self::Disable),
            (Some("require"), None) => Ok(Self::Require),
            (Some("verify-ca"), None) => Ok(Self::VerifyCa(Trust::System)),
            (Some("verify-full"), None) | (None | Some("verify-full"), Some(SYSTEM)) => {
                Ok(Self::VerifyFull(Trust::System))
            }
            (Some("require" | "verify-ca"), Some(file)) if file != SYSTEM => {
                Ok(Self::VerifyCa(read_anchors(file)?))
            }
            (Some("verify-full"), Some(file)) => Ok(Self::VerifyFull(read_anchors(file)?)),
            (Some("require" | "verify-ca"), Some(_)) => {
                Err("sslrootcert=system needs sslmode=verify-full: anybody can get a certificate of a public authority"
                    .to_owned())
            }
            (None | Some("disable" | "prefer"), Some(_)) => {
                Err("sslrootcert has no effect without sslmode=require, verify-ca or verify-full; set one of them"
                    .to_owned())
            }
            (Some(other), _) => Err(format!(
                "sslmode must be disable, prefer, require, verify-ca or verify-full, found '{other}'"
            )),
        }
    }
}

/// Splits a URL at the `?` before its parameters. One in the password is none.
fn split_query(url: &str) -> (&str, &str) {
    let host = url.find('@').unwrap_or(0);
    match url[host..].find('?') {
        Some(at) => (&url[..host + at], &url[host + at + 1..]),
        None => (url, ""),
    }
}

fn read_anchors(file: &str) -> Result<Trust, String> {
    let unusable = |why: String| format!("sslrootcert: {why}: name a PEM file with root certificates");
    match std::fs::read_to_string(Path::new(file)) {
        Ok(pem) if pem.contains("-----BEGIN CERTIFICATE-----") => Ok(Trust::Only(pem)),
        Ok(_) => Err(unusable(format!("no certificate in '{file}'"))),
        Err(error) => Err(unusable(format!("cannot read '{file}' ({})", describe_cause(&error)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(parameters: &str) -> String {
        let url = format!("postgres://svc:a?b@db/svc?{parameters}");
        TlsMode::take_from(&url).map_or_else(|why| why, |(_, mode)| mode.name().to_owned())
    }

    #[test]
    fn modes_are_those_of_libpq() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("root ca.pem");
        std::fs::write(&file, "-----BEGIN CERTIFICATE-----\n").unwrap();
        let root = format!("sslrootcert={}", file.display().to_string().replace(' ', "%20"));
        for (parameters, expected) in [
            ("", "prefer"),
            ("sslmode=prefer", "prefer"),
            ("sslmode=disable", "disable"),
            ("sslmode=require", "require"),
            ("sslmode=verify%2Dca", "verify-ca"),
            ("sslmode=verify-full", "verify-full"),
            ("sslrootcert=system", "verify-full"),
            ("sslmode=verify-full&sslrootcert=system", "verify-full"),
            (&format!("sslmode=require&{root}"), "verify-ca"),
            (&format!("{root}&sslmode=verify-ca"), "verify-ca"),
            (&format!("{root}&sslmode=verify-full"), "verify-full"),
        ] {
            assert_eq!(name(parameters), expected, "{parameters}");
        }
    }

    #[test]
    fn unusable_parameters_are_refused_with_their_remedy() {
        for (parameters, words) in [
            ("sslmode=requier", ["sslmode must be", "'requier'"]),
            ("sslmode=", ["sslmode must be", "verify-full"]),
            ("sslmode=VERIFY-FULL", ["sslmode must be", "verify-full"]),
            ("sslmode=prefer&sslrootcert=system", ["sslrootcert has no effect", "sslmode=require"]),
            ("sslrootcert=/no/such/file", ["sslrootcert has no effect", "sslmode=require"]),
            ("sslmode=require&sslrootcert=system", ["sslrootcert=system", "sslmode=verify-full"]),
            ("sslmode=verify-ca&sslrootcert=/no/such/file", ["sslrootcert", "'/no/such/file'"]),
            ("sslmode=verify-ca&sslrootcert=/dev/null", ["sslrootcert", "no certificate in '/dev/null'"]),
            ("sslnegotiation=direct", ["sslnegotiation=direct", "leave it out"]),
        ] {
            let text = name(parameters);
            assert!(words.iter().all(|word| text.contains(word)), "{parameters}: {text}");
            assert!(!text.contains("a?b"), "{text}");
        }
    }

    #[test]
    fn rest_of_url_is_kept_for_the_driver() {
        for (url, expected) in [
            ("postgres://svc:a?b@db/svc?sslmode=require", "postgres://svc:a?b@db/svc"),
            ("postgres://db/svc?a=1&sslmode=require&b=2", "postgres://db/svc?a=1&b=2"),
            ("postgres://svc:a?b@db/svc", "postgres://svc:a?b@db/svc"),
            ("postgres:///svc?host=/run/postgresql", "postgres:///svc?host=/run/postgresql"),
        ] {
            assert_eq!(TlsMode::take_from(url).map(|(rest, _)| rest), Ok(expected.to_owned()));
        }
    }
}
