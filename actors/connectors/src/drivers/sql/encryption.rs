//! Whether a connection to a database server is encrypted.

/// What a connection string asks for.
///
/// A certificate is never believed unverified: where one is required, it must lead to the trust anchors and name the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// `disable`.
    Never,
    /// `prefer`, and where nothing is said: where the server offers it with a certificate that is believed, else not.
    Preferred,
    /// `require`, `verify-ca`, `verify-full`.
    Required,
}

impl Encryption {
    /// Reads the spellings of PostgreSQL (`verify-full`) and MySQL (`VERIFY_IDENTITY`).
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "disable" | "disabled" => Ok(Self::Never),
            "allow" | "prefer" | "preferred" => Ok(Self::Preferred),
            "require" | "required" | "verify-ca" | "verify-full" | "verify-identity" => Ok(Self::Required),
            _ => Err("use one of disable, prefer, require, verify-full".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spellings_of_both_worlds_are_known() {
        for (name, due) in [
            ("disable", Encryption::Never),
            ("DISABLED", Encryption::Never),
            ("prefer", Encryption::Preferred),
            ("PREFERRED", Encryption::Preferred),
            ("require", Encryption::Required),
            ("verify-full", Encryption::Required),
            ("VERIFY_IDENTITY", Encryption::Required),
        ] {
            assert_eq!(Encryption::named(name), Ok(due), "{name}");
        }
        assert!(Encryption::named("no-verify").is_err());
    }
}
