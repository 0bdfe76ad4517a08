//! Digests of caller input: fixed size, collision-resistant.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// The first 16 bytes of a SHA-256.
pub(crate) type Digest = [u8; 16];

/// Computes the digest of bytes.
pub(crate) fn digest_bytes(bytes: &[u8]) -> Digest {
    let mut hash = DigestBuilder::default();
    hash.0.update(bytes);
    hash.finish()
}

/// Renders a digest as hexadecimal text.
pub(crate) fn hex(digest: Digest) -> String {
    format!("{:032x}", u128::from_be_bytes(digest))
}

/// Builds the digest of several values. Every part is tagged with its kind and length, so that different
/// sequences of parts have different digests.
#[derive(Clone, Default)]
pub(crate) struct DigestBuilder(Sha256);

impl DigestBuilder {
    pub(crate) fn text(&mut self, text: &str) {
        self.write_tag(b's', text.len());
        self.0.update(text.as_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.write_tag(b'b', bytes.len());
        self.0.update(bytes);
    }

    /// Takes in a JSON value: the order of keys does not matter, nor do blanks, which parsing has removed.
    /// Numbers differ when they are written differently after parsing: `1` and `1.0` are two values, because
    /// a workflow can distinguish them; `1e2` and `100.0` are one.
    pub(crate) fn json(&mut self, value: &Value) {
        match value {
            Value::Null => self.0.update(b"n"),
            Value::Bool(value) => self.0.update(if *value { b"t" } else { b"f" }),
            Value::Number(number) => {
                let text = number.to_string();
                self.write_tag(b'#', text.len());
                self.0.update(text.as_bytes());
            }
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.write_tag(b'[', items.len());
                items.iter().for_each(|item| self.json(item));
            }
            Value::Object(members) => self.members(members),
        }
    }

    /// Takes in the members of an object, in the order of their keys.
    pub(crate) fn members(&mut self, members: &Map<String, Value>) {
        self.entries(members.iter().collect());
    }

    /// Takes in some members of an object as if they were all of it.
    pub(crate) fn entries(&mut self, mut members: Vec<(&String, &Value)>) {
        self.write_tag(b'{', members.len());
        members.sort_unstable_by_key(|(key, _)| *key);
        for (key, value) in members {
            self.text(key);
            self.json(value);
        }
    }

    /// Takes in a value that may be missing, which is not the same as null.
    pub(crate) fn optional(&mut self, value: Option<&Value>) {
        match value {
            None => self.0.update(b"-"),
            Some(value) => {
                self.0.update(b"+");
                self.json(value);
            }
        }
    }

    pub(crate) fn finish(self) -> Digest {
        let whole = self.0.finalize();
        std::array::from_fn(|index| whole[index])
    }

    fn write_tag(&mut self, kind: u8, length: usize) {
        self.0.update([kind]);
        self.0.update((length as u64).to_be_bytes());
    }
}
