//! Settings whose feature this version does not have. Ignoring them would weaken or mislead, so that they prevent the
//! start. The change that adds a feature deletes its line here.

use super::Config;
use super::problem::Diagnostics;

struct Unavailable {
    key: &'static str,
    asked_for: fn(&Config) -> bool,
    remedy: &'static str,
}

const UNAVAILABLE: &[Unavailable] = &[Unavailable {
    key: "storage.url",
    asked_for: |c| c.storage.url.starts_with("mysql:"),
    remedy: "use sqlite: or postgres://",
}];

/// Refuses settings that ask for a missing feature.
pub(crate) fn check(config: &Config, diagnostics: &mut Diagnostics) {
    for item in UNAVAILABLE.iter().filter(|item| (item.asked_for)(config)) {
        diagnostics.refuse(item.key, format!("not available in this version; {}", item.remedy));
    }
}

/// Returns the keys of the list.
#[cfg(test)]
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    UNAVAILABLE.iter().map(|item| item.key)
}
