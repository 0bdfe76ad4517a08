//! The trust in packages and plugins: the keys whose signatures count, and the rule that one is needed.

use svc_auth::{FileVerifyingKey, verify_file};

use crate::config::{PackageTrustSection, PluginTrustSection};

/// The keys that packages, or the components of plugins, are signed with.
#[derive(Debug)]
pub(crate) struct PackageTrust {
    keys: Vec<FileVerifyingKey>,
    is_required: bool,
    /// The word for what is signed.
    subject: &'static str,
}

impl PackageTrust {
    /// Reads the keys of the settings.
    ///
    /// # Errors
    /// The first entry that is no key, with the setting.
    pub(crate) fn read(section: &PackageTrustSection) -> Result<Self, String> {
        let keys = read_keys("packages", &section.public_keys)?;
        Ok(Self { keys, is_required: section.required, subject: "package" })
    }

    /// Reads the keys of plugins.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) fn read_for_plugins(section: &PluginTrustSection) -> Result<Self, String> {
        let keys = read_keys("plugins", &section.public_keys)?;
        Ok(Self { keys, is_required: section.required, subject: "plugin" })
    }

    /// Checks the signature of a package. One that is there must fit if keys are set; none will do unless it is
    /// required.
    ///
    /// # Errors
    /// The reason why the package is not trusted.
    pub(crate) fn check(&self, content: &[u8], signature: Option<&str>) -> Result<(), String> {
        let subject = self.subject;
        match signature {
            Some(line) if self.is_required || !self.keys.is_empty() => verify_file(&self.keys, content, line)
                .map_err(|problem| format!("The {subject} is not trusted: {problem}")),
            None if self.is_required => {
                Err(format!("The {subject} is not trusted: it has no signature ({subject}s.trust.required)"))
            }
            _ => Ok(()),
        }
    }
}

/// Reads the keys of `{section}.trust`.
fn read_keys(section: &str, public_keys: &[String]) -> Result<Vec<FileVerifyingKey>, String> {
    let read = |(index, pem): (usize, &String)| {
        FileVerifyingKey::from_pem(pem)
            .map_err(|problem| format!("{section}.trust.public_keys: entry {}: {problem}", index + 1))
    };
    public_keys.iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use openssl::pkey::PKey;
    use svc_auth::FileSigningKey;

    use super::*;

    #[test]
    fn signature_must_fit_and_be_there_if_required() {
        let key = PKey::generate_ed25519().unwrap();
        let text = |pem: Vec<u8>| String::from_utf8(pem).unwrap();
        let public = text(key.public_key_to_pem().unwrap());
        let private = text(key.private_key_to_pem_pkcs8().unwrap());
        let line = FileSigningKey::from_pem(&private).unwrap().sign(b"{}").unwrap();
        let trust = |public_keys: &[&String], required: bool| {
            let public_keys = public_keys.iter().map(|pem| (*pem).clone()).collect();
            PackageTrust::read(&PackageTrustSection { public_keys, required }).unwrap()
        };
        for (trust, content, signature, is_trusted) in [
            (trust(&[], false), b"{}", None, true),
            (trust(&[], false), b"[]", Some(line.as_str()), true),
            (trust(&[&public], false), b"{}", None, true),
            (trust(&[&public], false), b"[]", Some(line.as_str()), false),
            (trust(&[&public], true), b"{}", Some(line.as_str()), true),
            (trust(&[&public], true), b"{}", None, false),
            (trust(&[], true), b"{}", Some(line.as_str()), false),
        ] {
            assert_eq!(trust.check(content, signature).is_ok(), is_trusted, "{trust:?} {signature:?}");
        }
        let refused = PackageTrustSection { public_keys: vec![private], required: false };
        let refused = PackageTrust::read(&refused).unwrap_err();
        assert!(refused.contains("public_keys: entry 1") && refused.contains("private key"), "{refused}");
    }
}
