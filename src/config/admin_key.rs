//! The keys of the admin API.

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use svc_secrets::{Reference, Secret};
use svc_vault::read_secret_file;

use super::setting::Scalar;

const DIGEST_PREFIX: &str = "sha256:";
const FILE_PREFIX: &str = "file://";
/// Bytes of a digest that identify its key; the id has two digits for each.
const ID: usize = 6;
/// Longest name, in characters.
const NAME: usize = 64;

/// Principals of the audit log without a key: every caller while no key is required, the programs on the machine of the
/// server, and a signal to it.
const OTHERS: [&str; 3] = ["anonymous", "command-line", "signal"];

/// The SHA-256 of a key.
pub type KeyDigest = [u8; 32];

/// A key of the admin API: plain text or a digest, and the name of its holder.
#[derive(Clone, Debug, Default)]
pub struct AdminKey {
    /// The name under which the audit log shows the holder.
    pub name: Option<String>,
    /// The key: plain text, or `sha256:` and 64 hexadecimal digits. In a configuration that was not read from a file or
    /// text, a reference to a file is no key.
    pub key: Secret,
}

impl AdminKey {
    /// Returns a key without a name.
    #[must_use]
    pub fn unnamed(key: &str) -> Self {
        Self { name: None, key: Secret::new(key) }
    }

    /// Puts the content of the file in place of a reference to it.
    ///
    /// # Errors
    /// The reason why the file gives no key, without its content.
    pub(crate) fn read_file(&mut self, lookup: impl Fn(&str) -> Option<String>) -> Result<(), String> {
        if !self.key.expose().starts_with(FILE_PREFIX) {
            return Ok(());
        }
        let Ok(Some(Reference::File { place })) = svc_secrets::parse(self.key.expose()) else {
            return Err(format!(
                "expected {FILE_PREFIX} and an absolute path, or {FILE_PREFIX}$CREDENTIALS_DIRECTORY/ and a name"
            ));
        };
        let key = read_secret_file(&place, lookup).map_err(|error| error.to_string())?;
        if key.expose().trim().is_empty() || key.expose().starts_with(FILE_PREFIX) {
            return Err(format!("{FILE_PREFIX}{place}: the file holds no key"));
        }
        self.key = key;
        Ok(())
    }

    /// Returns the digest; `None` for an empty key, a malformed digest and a file that was not read, which are no keys.
    #[must_use]
    pub fn digest(&self) -> Option<KeyDigest> {
        let key = self.key.expose();
        if key.starts_with(FILE_PREFIX) {
            return None;
        }
        match key.strip_prefix(DIGEST_PREFIX) {
            Some(digits) => hex::decode(digits).ok()?.try_into().ok(),
            None if key.is_empty() => None,
            None => Some(Sha256::digest(key.as_bytes()).into()),
        }
    }

    /// Returns `true` for the prefix of a digest without its digits.
    pub(crate) fn is_malformed(&self) -> bool {
        self.key.expose().starts_with(DIGEST_PREFIX) && self.digest().is_none()
    }

    /// Returns `true` for plain text below a number of characters.
    pub(crate) fn is_shorter_than(&self, characters: usize) -> bool {
        let key = self.key.expose();
        !key.is_empty() && !key.starts_with(DIGEST_PREFIX) && key.chars().count() < characters
    }

    /// Returns the reason why the name cannot be used in the audit log.
    pub(crate) fn name_problem(&self) -> Option<&'static str> {
        let name = self.name.as_deref()?;
        let is_printable = !name.chars().any(char::is_control) && name.trim() == name;
        if name.is_empty() || name.chars().count() > NAME || !is_printable {
            return Some("a name is 1 to 64 printable characters, without blanks at its ends");
        }
        let is_id = name.len() == 2 * ID && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id || OTHERS.contains(&name) || name.starts_with("system:") {
            return Some("this name stands for somebody else in the audit log: choose another one");
        }
        None
    }
}

/// Returns the id of a key: the first 12 hexadecimal digits of its SHA-256, which anyone who has the key can compute, and
/// which do not reveal it.
#[must_use]
pub fn key_id(digest: &KeyDigest) -> String {
    hex::encode(&digest[..ID])
}

impl Scalar for AdminKey {
    const EXPECTED: &'static str = "a string, or a table of `name` and `key`";
    const EMPTY_IS_A_VALUE: bool = true;

    fn from_toml(value: &toml::Value) -> Option<Self> {
        let toml::Value::Table(members) = value else { return value.as_str().map(Self::unnamed) };
        let text = |key: &str| members.get(key).and_then(toml::Value::as_str);
        let (name, key) = (text("name")?, text("key")?);
        (members.len() == 2).then(|| Self { name: Some(name.to_owned()), key: Secret::new(key) })
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(Self::unnamed(text))
    }

    fn to_json(&self) -> Json {
        match &self.name {
            None => self.key.to_json(),
            Some(name) => json!({"name": name, "key": self.key.to_json()}),
        }
    }

    fn to_compared(&self) -> Json {
        json!({"name": self.name, "key": self.key.to_compared()})
    }

    fn schema() -> Json {
        json!({"anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The name under which the audit log shows the holder."},
                    "key": {"type": "string", "description": "The key, or its digest."},
                },
                "required": ["name", "key"],
                "additionalProperties": false,
            },
        ]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_id_is_digest_prefix_in_every_form() {
        let plain = AdminKey::unnamed("correct horse");
        let digest = plain.digest().unwrap();
        let written = AdminKey::unnamed(&format!("sha256:{}", hex::encode(digest)));
        assert_eq!(written.digest(), Some(digest));
        assert_eq!(key_id(&digest), hex::encode(digest)[..12]);
        assert!(AdminKey::unnamed("").digest().is_none() && !AdminKey::unnamed("").is_malformed());
        assert!(AdminKey::unnamed("sha256:abc").is_malformed());
    }

    #[test]
    fn file_that_was_not_read_is_no_key() {
        assert_eq!(AdminKey::unnamed("file:///run/key").digest(), None);
    }

    #[test]
    fn names_that_stand_for_others_are_refused() {
        let named = |name: &str| AdminKey { name: Some(name.to_owned()), ..AdminKey::unnamed("k") };
        for good in ["ci", "Ada Lovelace", "deploy@ci.example", "deadbeef"] {
            assert_eq!(named(good).name_problem(), None, "{good}");
        }
        let long = "x".repeat(65);
        for bad in ["", " ci", "a\nb", &long, "anonymous", "signal", "system:boot", "0123456789ab"] {
            assert!(named(bad).name_problem().is_some(), "{bad:?}");
        }
    }
}
