//! The configuration of the canary test, and what the program says of it.

use svc_testkit::canary::value;
use svc_testkit::server::ServerCommand;
use svc_testkit::vault::FakeVault;

use super::Places;
use super::plant::Plants;
use crate::support::launch;

/// A launch with the configuration file and everything it needs.
pub(super) struct CanarySetup {
    file: String,
    environment: Vec<(String, String)>,
    _directory: tempfile::TempDir,
}

impl CanarySetup {
    pub(super) fn new(plants: &mut Plants, store: &FakeVault, vault_token: &str, shown: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let placed = plants.plant_text("admin key in the environment");
        let (literal, reading) =
            (plants.plant_text("admin key in the file"), plants.plant_text("reading admin key"));
        let (redis, sasl) = (plants.text(), plants.plant_text("kafka.auth.sasl_password"));
        let ssl = plants.plant_text("kafka.extra_config");
        plants.canaries.add("cluster.redis_url", redis.text.as_bytes(), &[]);
        let text = format!(
            "[logging]\nlevel = \"trace\"\nformat = \"json\"\n\
             [server]\nverbose_errors = true\n[metrics]\nenabled = true\n\
             [admin_auth]\nenabled = true\napi_keys = [\"${{ADMIN_KEY}}\", \"{literal}\"]\nread_only_api_keys = [\"{reading}\"]\n\
             [trace_queue]\ndlq_retry_enabled = false\n\
             [cluster]\nredis_url = \"redis://:{}@redis.example\"\n\
             [kafka.auth]\nsasl_password = \"{sasl}\"\n[kafka.extra_config]\n\"ssl.key.password\" = \"{ssl}\"\n\
             [vars]\nshown = \"{shown}\"\n\
             [secrets]\n{}",
            redis.text.replace('/', "%2F").replace('+', "%2B"),
            plants.declared
        );
        let path = directory.path().join("svc.toml");
        std::fs::write(&path, text).unwrap();
        let mut environment = plants.variables.clone();
        environment.extend([
            ("ADMIN_KEY".to_owned(), placed),
            ("VAULT_ADDR".to_owned(), store.url()),
            ("VAULT_TOKEN".to_owned(), vault_token.to_owned()),
            ("SVC_SECRET_UNUSED".to_owned(), plants.plant_text("an unused variable")),
        ]);
        Self { file: path.to_str().unwrap().to_owned(), environment, _directory: directory }
    }

    pub(super) fn launch(&self, args: &[&str]) -> ServerCommand {
        let launch = launch().args(&["-c", &self.file]).args(args);
        self.environment.iter().fold(launch, |launch, (name, value)| launch.env(name, value))
    }

    pub(super) fn variable(&self, name: &str) -> String {
        self.environment.iter().find(|(known, _)| known == name).unwrap().1.clone()
    }

    /// Returns the output of commands and failing starts with the same configuration.
    pub(super) fn offline(&self, plants: &mut Plants, places: &mut Places) {
        for format in ["toml", "json", "summary"] {
            let said = self.launch(&["validate-config", "--format", format]).run_to_end().unwrap();
            assert_eq!(said.status.code(), Some(0), "the configuration is valid");
            places.add("validate-config", text_of(&said));
        }
        let password = value(999, 40).replace(['+', '/'], "x");
        plants.canaries.add("storage.url", password.as_bytes(), &[]);
        let url = format!("postgres://u:{password}@127.0.0.1:1/d?sslmode=disable");
        let wrong = plants.plant_text("an encryption key");
        for (args, name, value) in [
            (&["validate-config"][..], "SVC_STORAGE__URL", url.as_str()),
            (&[][..], "SVC_STORAGE__URL", &url),
            (&[][..], "SVC_STORAGE__CONNECTOR_ENCRYPTION_KEY", &wrong),
            (&[][..], "SVC_SERVER__PORT", "none"),
            (&[][..], "VAULT_TOKEN", "another"),
            (&[][..], "VAULT_ADDR", ""),
        ] {
            let launch = self.launch(args).env("SVC_STORAGE__CONNECT_RETRY_SECS", "0").env(name, value);
            places.add("a start that fails", text_of(&launch.run_to_end().unwrap()));
        }
        let literal = plants.plant_text("a literal in [secrets]");
        let broken = format!("{}.broken", self.file);
        let text = std::fs::read_to_string(&self.file).unwrap() + &format!("literal = \"{literal}\"\n");
        std::fs::write(&broken, &text).unwrap();
        let said = launch().args(&["-c", &broken]).env("ADMIN_KEY", "k").run_to_end().unwrap();
        assert_eq!(said.status.code(), Some(78));
        places.add("a configuration that is refused", text_of(&said));
        std::fs::write(&broken, text.replace("api_keys = [", "api_keys = [[")).unwrap();
        let said = launch().args(&["-c", &broken]).env("ADMIN_KEY", "k").run_to_end().unwrap();
        assert_eq!(said.status.code(), Some(78));
        places.add("a configuration that is refused", text_of(&said));
    }
}

fn text_of(said: &std::process::Output) -> String {
    [&said.stdout[..], &said.stderr].map(String::from_utf8_lossy).concat()
}
