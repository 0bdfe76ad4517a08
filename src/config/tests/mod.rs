//! Tests of the configuration as a whole.

mod loading;
mod overrides;
mod printing;
mod reloading;
mod rules;

use super::{Config, ConfigError, parse};

fn environment(variables: &[(&str, &str)]) -> Vec<(String, String)> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn read(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    parse("svc.toml", text, &environment(variables)).map(|loaded| loaded.config)
}

fn problems(text: &str, variables: &[(&str, &str)]) -> Vec<String> {
    match read(text, variables) {
        Ok(_) => Vec::new(),
        Err(error) => error.problems.iter().map(ToString::to_string).collect(),
    }
}
