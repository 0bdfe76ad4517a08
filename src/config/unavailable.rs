//! Settings whose feature this version or this build does not have. Ignoring them would weaken or mislead, so that they
//! prevent the start. The change that adds a feature to the service deletes its line here.

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

/// A setting that needs a cargo feature.
struct FeatureSetting {
    key: &'static str,
    asked_for: fn(&Config) -> bool,
    feature: &'static str,
    is_built: bool,
}

const FEATURE_SETTINGS: [FeatureSetting; 5] = [
    FeatureSetting {
        key: "server.console.enabled",
        asked_for: |c| c.server.console.enabled == Some(true),
        feature: "console",
        is_built: cfg!(feature = "console"),
    },
    FeatureSetting {
        key: "server.docs.enabled",
        asked_for: |c| c.server.docs.enabled == Some(true),
        feature: "docs",
        is_built: cfg!(feature = "docs"),
    },
    FeatureSetting {
        key: "telemetry.logs",
        asked_for: |c| c.telemetry.logs,
        feature: "otlp",
        is_built: cfg!(feature = "otlp"),
    },
    FeatureSetting {
        key: "telemetry.metrics",
        asked_for: |c| c.telemetry.metrics,
        feature: "otlp",
        is_built: cfg!(feature = "otlp"),
    },
    FeatureSetting {
        key: "tracing.enabled",
        asked_for: |c| c.tracing.enabled,
        feature: "otlp",
        is_built: cfg!(feature = "otlp"),
    },
];

impl FeatureSetting {
    /// Returns why a build without the feature refuses this configuration.
    fn refusal(&self, config: &Config) -> Option<String> {
        (!self.is_built && (self.asked_for)(config))
            .then(|| format!("not in this build: it was compiled without the feature '{}'", self.feature))
    }
}

/// Refuses settings that ask for a missing feature.
pub(crate) fn check(config: &Config, diagnostics: &mut Diagnostics) {
    for item in UNAVAILABLE.iter().filter(|item| (item.asked_for)(config)) {
        diagnostics.refuse(item.key, format!("not available in this version; {}", item.remedy));
    }
    for setting in &FEATURE_SETTINGS {
        if let Some(refusal) = setting.refusal(config) {
            diagnostics.refuse(setting.key, refusal);
        }
    }
}

/// Refuses a configuration, made by hand perhaps, that asks for what this build leaves out.
///
/// # Errors
/// A text that names the first such setting and its feature.
pub(crate) fn check_features(config: &Config) -> Result<(), String> {
    let refusal = |setting: &FeatureSetting| {
        setting.refusal(config).map(|refusal| format!("{}: {refusal}", setting.key))
    };
    FEATURE_SETTINGS.iter().find_map(refusal).map_or(Ok(()), Err)
}

/// Returns the keys of the list.
#[cfg(test)]
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    UNAVAILABLE.iter().map(|item| item.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a configuration that asks for everything that needs a feature.
    fn everything() -> Config {
        let mut config = Config::default();
        config.server.console.enabled = Some(true);
        config.server.docs.enabled = Some(true);
        config.tracing.enabled = true;
        config.telemetry.metrics = true;
        config.telemetry.logs = true;
        config
    }

    #[test]
    fn setting_of_a_missing_feature_is_refused() {
        for setting in FEATURE_SETTINGS {
            let missing = FeatureSetting { is_built: false, ..setting };
            let refusal = missing.refusal(&everything()).unwrap();
            assert!(refusal.contains(&format!("without the feature '{}'", missing.feature)), "{refusal}");
            assert_eq!(missing.refusal(&Config::default()), None, "{}", missing.key);
            let built = FeatureSetting { is_built: true, ..missing };
            assert_eq!(built.refusal(&everything()), None, "{}", built.key);
        }
    }

    #[test]
    fn start_checks_features_of_the_build() {
        let is_complete = FEATURE_SETTINGS.iter().all(|setting| setting.is_built);
        assert_eq!(check_features(&everything()).is_ok(), is_complete);
        assert_eq!(check_features(&Config::default()), Ok(()));
    }
}
