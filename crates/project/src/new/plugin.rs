//! A small plugin to begin with: its manifest, the interface, a function, and what its language needs for them.

use super::TemplateFile;

/// A language that a new plugin may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginLanguage {
    JavaScript,
    Python,
    Rust,
}

/// Files that every plugin has. `PLUGIN_NAME` is replaced by its name, in all files.
const COMMON: [(&str, &str); 2] =
    [("plugin.toml", include_str!("plugin/plugin.toml")), ("wit/plugin.wit", svc_plugins::WIT)];

const JAVASCRIPT: [(&str, &str); 7] = [
    (".gitignore", include_str!("plugin/javascript/gitignore")),
    ("README.md", include_str!("plugin/javascript/README.md")),
    ("build.js", include_str!("plugin/javascript/build.js")),
    ("package.json", include_str!("plugin/javascript/package.json")),
    ("plugin.js", include_str!("plugin/javascript/plugin.js")),
    ("plugin.test.js", include_str!("plugin/javascript/plugin.test.js")),
    ("svc-plugin.js", include_str!("plugin/javascript/svc-plugin.js")),
];

const PYTHON: [(&str, &str); 8] = [
    (".gitignore", include_str!("plugin/python/gitignore")),
    ("README.md", include_str!("plugin/python/README.md")),
    ("build.sh", include_str!("plugin/python/build.sh")),
    ("component.py", include_str!("plugin/python/component.py")),
    ("plugin.py", include_str!("plugin/python/plugin.py")),
    ("requirements.txt", include_str!("plugin/python/requirements.txt")),
    ("svc_plugin.py", include_str!("plugin/python/svc_plugin.py")),
    ("test_plugin.py", include_str!("plugin/python/test_plugin.py")),
];

const RUST: [(&str, &str); 6] = [
    (".gitignore", include_str!("plugin/rust/gitignore")),
    ("Cargo.toml", include_str!("plugin/rust/Cargo.toml.in")),
    ("README.md", include_str!("plugin/rust/README.md")),
    ("build.sh", include_str!("plugin/rust/build.sh")),
    ("src/lib.rs", include_str!("plugin/rust/lib.rs.in")),
    ("src/svc_plugin.rs", include_str!("plugin/rust/svc_plugin.rs.in")),
];

/// The name of a plugin whose directory has none that can name one.
const DEFAULT_NAME: &str = "slugs";

/// The most characters of the name of a plugin.
const LONGEST_NAME: usize = 63;

/// Returns the files of a new plugin. Characters of `name` that the name of a plugin cannot have become `_`.
pub fn new_plugin(language: PluginLanguage, name: &str) -> Vec<TemplateFile> {
    let name = plugin_name(name);
    let files: &[(&'static str, &str)] = match language {
        PluginLanguage::JavaScript => &JAVASCRIPT,
        PluginLanguage::Python => &PYTHON,
        PluginLanguage::Rust => &RUST,
    };
    let file = |&(path, text): &(&'static str, &str)| TemplateFile {
        path,
        text: text.replace("PLUGIN_NAME", &name),
    };
    COMMON.iter().chain(files).map(file).collect()
}

/// Makes a name of lower-case letters, digits and `_` that begins with a letter.
fn plugin_name(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = name.chars().map(allowed).collect();
    let name = name.trim_matches('_').trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
    match name {
        "" => DEFAULT_NAME.to_owned(),
        name => name.chars().take(LONGEST_NAME).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANGUAGES: [PluginLanguage; 3] =
        [PluginLanguage::JavaScript, PluginLanguage::Python, PluginLanguage::Rust];

    #[test]
    fn files_of_each_language_bear_the_name() {
        for language in LANGUAGES {
            let files = new_plugin(language, "Tax 7");
            let text =
                |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
            assert!(files.iter().all(|file| !file.text.contains("PLUGIN_NAME")), "{language:?}");
            assert!(
                text("plugin.toml").is_some_and(|text| text.contains("name = \"tax_7\"")),
                "{language:?}"
            );
            assert!(text("README.md").is_some_and(|text| text.starts_with("# tax_7\n")), "{language:?}");
            assert!(text("wit/plugin.wit").is_some_and(|text| text.contains("world plugin")), "{language:?}");
        }
    }

    #[test]
    fn the_directory_names_the_plugin() {
        for (name, expected) in [("Tax 7", "tax_7"), ("..", "slugs"), ("7-zip", "zip"), ("eu-vat", "eu_vat")]
        {
            assert_eq!(plugin_name(name), expected, "{name}");
        }
        assert_eq!(plugin_name(&"a".repeat(70)).len(), LONGEST_NAME);
    }
}
