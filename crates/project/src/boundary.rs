//! The boundary of a set: what it refers to and does not hold, and the versions of the service that it runs on.

use std::collections::BTreeSet;

use semver::{Prerelease, Version, VersionReq};
use serde_json::{Map, Value, json};
use svc_model::nearest;

/// The member of `requires` with the versions of the service.
const SVC: &str = "svc";
/// The members of `requires`.
const MEMBERS: [&str; 3] = ["channels", "connectors", SVC];

/// The channels, the connectors and the service that a set needs from elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boundary {
    /// Names of channels.
    pub channels: BTreeSet<String>,
    /// Names of connectors.
    pub connectors: BTreeSet<String>,
    /// The range of versions of the service, such as `>=0.2, <1`; `None` for any.
    pub svc: Option<String>,
}

impl Boundary {
    /// Creates a boundary that takes every version of the service.
    pub fn new(
        channels: impl IntoIterator<Item = String>,
        connectors: impl IntoIterator<Item = String>,
    ) -> Self {
        let (channels, connectors) = (channels.into_iter().collect(), connectors.into_iter().collect());
        Self { channels, connectors, svc: None }
    }

    /// Reads the member `requires` of a package or a project; what has another form is passed over.
    pub fn from_requires(requires: Option<&Value>) -> Self {
        let member = |member: &str| requires.and_then(|requires| requires.get(member));
        let names = |name: &str| {
            let names = member(name).and_then(Value::as_array);
            names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let svc = member(SVC).and_then(Value::as_str).map(str::to_owned);
        Self { svc, ..Self::new(names("channels"), names("connectors")) }
    }

    /// Returns the member `requires` of a package.
    pub fn to_requires(&self) -> Value {
        let mut requires = Map::new();
        requires.insert("channels".to_owned(), json!(self.channels));
        requires.insert("connectors".to_owned(), json!(self.connectors));
        if let Some(range) = &self.svc {
            requires.insert(SVC.to_owned(), json!(range));
        }
        Value::Object(requires)
    }

    /// Adds another boundary. Its range of versions counts if this one has none.
    #[must_use]
    pub fn union(mut self, other: &Self) -> Self {
        self.channels.extend(other.channels.iter().cloned());
        self.connectors.extend(other.connectors.iter().cloned());
        self.svc = self.svc.or_else(|| other.svc.clone());
        self
    }

    /// Checks that a version of the service is in the range. A pre-release counts as its release.
    ///
    /// # Errors
    /// The required range and the version there is.
    pub fn check_version(&self, version: &str) -> Result<(), String> {
        let Some(range) = &self.svc else { return Ok(()) };
        let required = parse_range(range)?;
        let is_met = Version::parse(version).is_ok_and(|mut running| {
            running.pre = Prerelease::EMPTY;
            required.matches(&running)
        });
        if is_met { Ok(()) } else { Err(format!("requires svc {range}, and the server is {version}")) }
    }
}

/// Checks a range of versions, as `requires.svc` has it.
///
/// # Errors
/// The problem and the expected form.
pub fn check_range(text: &str) -> Result<(), String> {
    parse_range(text).map(drop)
}

fn parse_range(text: &str) -> Result<VersionReq, String> {
    VersionReq::parse(text)
        .map_err(|error| format!("'{text}' is no range of versions such as \">=0.2, <1\": {error}"))
}

/// Returns the problems of a member `requires`, each with its path.
pub(crate) fn requires_problems(requires: Option<&Value>) -> Vec<(String, String)> {
    let Some(requires) = requires else { return Vec::new() };
    let Some(members) = requires.as_object() else {
        return vec![("requires".to_owned(), "expected an object".to_owned())];
    };
    let problem = |key: &str, value: &Value| match key {
        SVC => match value.as_str() {
            Some(range) => check_range(range).err(),
            None => Some("expected a range of versions such as \">=0.2, <1\"".to_owned()),
        },
        "channels" | "connectors" => {
            let is_list = value.as_array().is_some_and(|names| names.iter().all(Value::is_string));
            (!is_list).then(|| "expected an array of names".to_owned())
        }
        other => Some(match nearest(other, MEMBERS) {
            Some(near) => format!("unknown key; did you mean '{near}'?"),
            None => format!("unknown key; known are {}", MEMBERS.join(", ")),
        }),
    };
    let problems = members.iter().map(|(key, value)| (format!("requires.{key}"), problem(key, value)));
    problems.filter_map(|(path, problem)| Some((path, problem?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_keeps_its_boundary() {
        let boundary = Boundary::new(["b".to_owned(), "a".to_owned()], ["c".to_owned()]);
        let requires = boundary.to_requires();
        assert_eq!(requires, json!({"channels": ["a", "b"], "connectors": ["c"]}));
        assert_eq!(Boundary::from_requires(Some(&requires)), boundary);
        assert_eq!(Boundary::from_requires(Some(&json!({"channels": 1}))), Boundary::default());
        let ranged = Boundary { svc: Some(">=0.2, <1".into()), ..boundary };
        assert_eq!(ranged.to_requires()["svc"], ">=0.2, <1");
        assert_eq!(Boundary::from_requires(Some(&ranged.to_requires())), ranged);
    }

    #[test]
    fn range_is_met_by_versions_within_it() {
        let check = |range: &str, version: &str| {
            Boundary { svc: Some(range.to_owned()), ..Boundary::default() }.check_version(version)
        };
        for (range, version, is_met) in [
            (">=0.2, <1", "0.2.0", true),
            (">=0.2, <1", "0.9.7", true),
            (">=0.2, <1", "0.2.0-rc.1", true),
            (">=0.2, <1", "0.1.9", false),
            (">=0.2, <1", "1.0.0", false),
            ("^0.3.1", "0.3.0", false),
            ("*", "7.0.0", true),
            ("*", "unknown", false),
        ] {
            assert_eq!(check(range, version).is_ok(), is_met, "{range} {version}");
        }
        let refused = check(">=2", "1.4.0").unwrap_err();
        assert_eq!(refused, "requires svc >=2, and the server is 1.4.0");
        assert_eq!(Boundary::default().check_version("unknown"), Ok(()));
        assert!(check("two", "1.0.0").unwrap_err().contains("no range"));
    }

    #[test]
    fn problems_of_requires_name_their_place() {
        let paths = |requires: &Value| {
            let problems = requires_problems(Some(requires)).into_iter();
            problems.map(|(path, _)| path).collect::<Vec<_>>()
        };
        assert!(requires_problems(None).is_empty());
        assert!(paths(&json!({"channels": ["a"], "connectors": [], "svc": "^1"})).is_empty());
        assert_eq!(paths(&json!([])), ["requires"]);
        let wrong = json!({"channels": "a", "connectors": [1], "svc": 1, "svcs": "^1"});
        let expected = ["requires.channels", "requires.connectors", "requires.svc", "requires.svcs"];
        assert_eq!(paths(&wrong), expected);
        let misspelt = requires_problems(Some(&json!({"svcs": "^1", "svc": "one"})));
        assert!(misspelt[0].1.contains("'svc'") && misspelt[1].1.contains(">=0.2"), "{misspelt:?}");
    }

    #[test]
    fn union_keeps_the_own_range() {
        let ranged = |range: &str| Boundary { svc: Some(range.to_owned()), ..Boundary::default() };
        let other = Boundary { svc: Some("^2".into()), ..Boundary::new(["a".to_owned()], []) };
        let both = ranged("^1").union(&other);
        assert_eq!((both.svc.as_deref(), both.channels.len()), (Some("^1"), 1));
        assert_eq!(Boundary::default().union(&other), other);
    }
}
