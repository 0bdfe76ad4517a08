//! Package receipts: which versions of which packages a server has taken.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::ServiceError;
use crate::field::FieldError;
use crate::time::Timestamp;
use crate::validate::unknown_keys;

/// Maximum length of the name of a package, in characters.
pub const MAX_PACKAGE_NAME: usize = 128;
/// Maximum length of the version of a package, in characters.
const MAX_VERSION: usize = 64;
/// Maximum length of the content hash of a package, in characters.
const MAX_HASH: usize = 128;
/// Maximum number of entities of one kind in an inventory. No import takes more.
const MAX_INVENTORY: usize = 1000;

/// The progress of a package version on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReceiptState {
    /// An apply has begun and has not reported its end.
    Staged,
    /// An apply has ended: everything in the package is stored and active.
    Applied,
}

impl ReceiptState {
    /// Returns the name in requests, responses and the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Applied => "applied",
        }
    }

    /// Parses a name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Staged, Self::Applied].into_iter().find(|state| state.name() == name)
    }
}

/// The keys of the entities in a package version, by which a later version finds what it no longer has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageInventory {
    /// Names of connectors.
    #[serde(default)]
    pub connectors: Vec<String>,
    /// Ids of workflows.
    #[serde(default)]
    pub workflows: Vec<String>,
    /// Ids of channels.
    #[serde(default)]
    pub channels: Vec<String>,
    /// Ids of plugins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<String>,
}

/// The receipt of a package version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageReceipt {
    /// The name of the package.
    pub name: String,
    /// The version of the package.
    pub version: String,
    /// The hash of its content.
    pub content_hash: String,
    /// Its progress.
    pub state: ReceiptState,
    /// The principal that wrote the receipt last.
    pub principal: String,
    /// Time of the first apply.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// The entities of the package, if the apply sent them.
    pub inventory: Option<PackageInventory>,
}

impl PackageReceipt {
    /// Returns the newest applied receipt of a package, which is the version that it has on the server. `receipts` are
    /// sorted by their last change, newest first.
    pub fn current(receipts: &[Self]) -> Option<&Self> {
        receipts.iter().find(|receipt| receipt.state == ReceiptState::Applied)
    }
}

/// A receipt to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReceipt {
    /// The name of the package.
    pub name: String,
    /// The version of the package.
    pub version: String,
    /// The hash of its content.
    pub content_hash: String,
    /// Its progress.
    pub state: ReceiptState,
    /// The entities of the package, if the apply sends them.
    pub inventory: Option<PackageInventory>,
}

impl NewReceipt {
    /// The members of a body, and behind them those of a read that have no effect.
    const MEMBERS: [&'static str; 8] =
        ["version", "content_hash", "state", "inventory", "name", "principal", "created_at", "updated_at"];

    /// Reads the body of a request about the package `name`.
    ///
    /// # Errors
    /// Every field that is missing, of a wrong type, too long, or holds a character that is not allowed.
    pub fn parse(name: &str, body: &Value) -> Result<Self, Vec<FieldError>> {
        let Value::Object(members) = body else {
            return Err(vec![FieldError::type_mismatch("body", "object", body)]);
        };
        let mut errors = unknown_keys(members, "body", &Self::MEMBERS, &[]);
        errors.extend(check_package_name("name", name));
        let version = text(members, "version", &mut errors);
        let content_hash = text(members, "content_hash", &mut errors);
        let state = text(members, "state", &mut errors);
        errors.extend(version.and_then(|text| check_package_version("body.version", text)));
        errors.extend(content_hash.and_then(|text| check_label("body.content_hash", text, MAX_HASH, 1)));
        let parsed_state = state.and_then(ReceiptState::parse);
        if state.is_some() && parsed_state.is_none() {
            errors.push(FieldError::invalid("body.state", "use staged or applied"));
        }
        let inventory = inventory(members, &mut errors);
        match (version, content_hash, parsed_state) {
            (Some(version), Some(content_hash), Some(state)) if errors.is_empty() => Ok(Self {
                name: name.to_owned(),
                version: version.to_owned(),
                content_hash: content_hash.to_owned(),
                state,
                inventory,
            }),
            _ => Err(errors),
        }
    }

    /// Checks that this receipt may take the place of the stored one of the same version.
    ///
    /// # Errors
    /// 409 if the stored version was applied with other content, or would go back to `staged`.
    pub fn check_replacement(&self, stored: Option<&PackageReceipt>) -> Result<(), ServiceError> {
        let Some(stored) = stored.filter(|stored| stored.state == ReceiptState::Applied) else {
            return Ok(());
        };
        let Self { name, version, .. } = self;
        if stored.content_hash != self.content_hash {
            return Err(ServiceError::conflict(format!(
                "version '{version}' of package '{name}' was applied with other content ({}); a version never changes, \
                 so give this content a new one",
                stored.content_hash
            )));
        }
        if self.state == ReceiptState::Staged {
            return Err(ServiceError::conflict(format!(
                "version '{version}' of package '{name}' was applied already and cannot go back to staged"
            )));
        }
        Ok(())
    }
}

fn text<'b>(members: &'b Map<String, Value>, key: &str, errors: &mut Vec<FieldError>) -> Option<&'b str> {
    match members.get(key) {
        None | Some(Value::Null) => errors.push(FieldError::required(format!("body.{key}"))),
        Some(Value::String(text)) => return Some(text),
        Some(other) => errors.push(FieldError::type_mismatch(format!("body.{key}"), "string", other)),
    }
    None
}

/// Returns the reason why no server takes a package of this name.
pub fn check_package_name(path: &str, name: &str) -> Option<FieldError> {
    check_label(path, name, MAX_PACKAGE_NAME, 0)
}

/// Returns the reason why no server takes a package of this version.
pub fn check_package_version(path: &str, version: &str) -> Option<FieldError> {
    check_label(path, version, MAX_VERSION, 0)
}

/// Checks a name, a version or a hash: letters, digits, `.`, `_`, `-`, and at most `colons` colons.
fn check_label(path: &str, text: &str, limit: usize, colons: usize) -> Option<FieldError> {
    let length = text.chars().count();
    if length > limit {
        return Some(FieldError::too_long(path, limit, length, "characters"));
    }
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b':');
    let has_colons = text.bytes().filter(|byte| *byte == b':').count();
    if text.is_empty() || has_colons > colons || !text.bytes().all(is_allowed) {
        let rule = if colons == 0 {
            "use letters, digits, '.', '_' and '-'"
        } else {
            "use letters, digits, '.', '_', '-' and one ':', as in sha256:…"
        };
        return Some(FieldError::invalid(path, rule).with_got(text));
    }
    None
}

/// The members of an inventory.
const INVENTORY: [&str; 4] = ["connectors", "workflows", "channels", "plugins"];

fn inventory(members: &Map<String, Value>, errors: &mut Vec<FieldError>) -> Option<PackageInventory> {
    let value = members.get("inventory").filter(|value| !value.is_null())?;
    let Value::Object(lists) = value else {
        errors.push(FieldError::type_mismatch("body.inventory", "object", value));
        return None;
    };
    errors.extend(unknown_keys(lists, "body.inventory", &INVENTORY, &[]));
    let mut names = |kind: &str| {
        let path = format!("body.inventory.{kind}");
        let Some(list) = lists.get(kind) else { return Vec::new() };
        let Value::Array(items) = list else {
            errors.push(FieldError::type_mismatch(path, "array", list));
            return Vec::new();
        };
        if items.len() > MAX_INVENTORY {
            errors.push(FieldError::too_long(path, MAX_INVENTORY, items.len(), "entries"));
            return Vec::new();
        }
        let mut names = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match item {
                Value::String(name) if name.len() <= 255 && !name.contains('\0') => names.push(name.clone()),
                other => {
                    errors.push(FieldError::type_mismatch(format!("{path}[{index}]"), "name", other));
                }
            }
        }
        names
    };
    Some(PackageInventory {
        connectors: names("connectors"),
        workflows: names("workflows"),
        channels: names("channels"),
        plugins: names("plugins"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::field_code::FieldCode;

    fn receipt(hash: &str, state: ReceiptState) -> PackageReceipt {
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        PackageReceipt {
            name: "orders".into(),
            version: "1".into(),
            content_hash: hash.into(),
            state,
            principal: "anonymous".into(),
            created_at: now,
            updated_at: now,
            inventory: None,
        }
    }

    fn incoming(hash: &str, state: &str) -> NewReceipt {
        let body = json!({"version": "1", "content_hash": hash, "state": state});
        NewReceipt::parse("orders", &body).unwrap()
    }

    #[test]
    fn applied_version_keeps_its_content_and_its_state() {
        use ReceiptState::{Applied, Staged};
        for (stored, hash, state, is_accepted) in [
            (None, "a", "staged", true),
            (None, "a", "applied", true),
            (Some(receipt("a", Staged)), "b", "staged", true),
            (Some(receipt("a", Staged)), "b", "applied", true),
            (Some(receipt("a", Applied)), "a", "applied", true),
            (Some(receipt("a", Applied)), "a", "staged", false),
            (Some(receipt("a", Applied)), "b", "applied", false),
            (Some(receipt("a", Applied)), "b", "staged", false),
        ] {
            let checked = incoming(hash, state).check_replacement(stored.as_ref());
            assert_eq!(checked.is_ok(), is_accepted, "{stored:?} {hash} {state}");
            assert!(checked.err().is_none_or(|error| error.status() == 409));
        }
    }

    #[test]
    fn every_wrong_field_is_named() {
        let paths = |body: &Value| {
            let errors = NewReceipt::parse("orders", body).unwrap_err();
            errors.into_iter().map(|error| (error.path, error.code)).collect::<Vec<_>>()
        };
        let path = |path: &str, code| (path.to_owned(), code);
        assert_eq!(
            paths(&json!({"version": 1, "state": "done", "contents": "x"})),
            [
                path("body.contents", FieldCode::UnknownField),
                path("body.version", FieldCode::TypeMismatch),
                path("body.content_hash", FieldCode::Required),
                path("body.state", FieldCode::Invalid),
            ]
        );
        for (member, bad, code) in [
            ("version", "a b".to_owned(), FieldCode::Invalid),
            ("version", String::new(), FieldCode::Invalid),
            ("version", "1".repeat(65), FieldCode::TooLong),
            ("version", "1:2".to_owned(), FieldCode::Invalid),
            ("content_hash", "a:b:c".to_owned(), FieldCode::Invalid),
            ("content_hash", "h".repeat(129), FieldCode::TooLong),
        ] {
            let mut body = json!({"version": "1", "content_hash": "sha256:00", "state": "staged"});
            body[member] = bad.clone().into();
            assert_eq!(paths(&body), [path(&format!("body.{member}"), code)], "{bad}");
        }
        let good = json!({"version": "1", "content_hash": "sha256:00", "state": "staged"});
        assert_eq!(NewReceipt::parse("ä", &good).unwrap_err()[0].path, "name");
        assert!(NewReceipt::parse(&"n".repeat(128), &good).is_ok());
        assert!(NewReceipt::parse(&"n".repeat(129), &good).is_err());
    }

    #[test]
    fn shown_receipt_can_be_sent_back() {
        let mut shown = json!({"name": "orders", "version": "1", "content_hash": "sha256:00", "state": "applied",
            "principal": "anonymous", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"});
        shown["inventory"] = json!({"connectors": ["c"], "channels": [], "plugins": ["p"]});
        let parsed = NewReceipt::parse("orders", &shown).unwrap().inventory.unwrap();
        assert_eq!((parsed.connectors, parsed.plugins), (vec!["c".to_owned()], vec!["p".to_owned()]));
        shown["inventory"] = json!({"workflow": [], "channels": [1]});
        assert_eq!(NewReceipt::parse("orders", &shown).unwrap_err().len(), 2);
    }

    #[test]
    fn the_current_version_is_the_newest_applied_one() {
        let receipts = [receipt("b", ReceiptState::Staged), receipt("a", ReceiptState::Applied)];
        assert_eq!(PackageReceipt::current(&receipts).unwrap().content_hash, "a");
        assert_eq!(PackageReceipt::current(&receipts[..1]), None);
    }
}
