//! A small project to begin with, and a small plugin.

mod plugin;

pub use plugin::{PluginLanguage, new_plugin};

/// A file of a new project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateFile {
    /// The path within the project, with `/` between its parts.
    pub path: &'static str,
    pub text: String,
}

/// The files of a new project, by their paths. `PROJECT` is replaced by its name.
const TEMPLATE: [(&str, &str); 10] = [
    (".github/workflows/check.yml", include_str!("template/ci/check.yml")),
    (".gitignore", include_str!("template/gitignore")),
    ("README.md", include_str!("template/README.md")),
    ("channels/orders.yaml", include_str!("template/channels/orders.yaml")),
    ("connectors/memory.yaml", include_str!("template/connectors/memory.yaml")),
    ("shared/orders.yaml", include_str!("template/shared/orders.yaml")),
    ("svc.toml", include_str!("template/svc.toml")),
    ("tests/prices-an-order.case.yaml", include_str!("template/tests/prices-an-order.case.yaml")),
    ("tests/refuses-an-order.case.yaml", include_str!("template/tests/refuses-an-order.case.yaml")),
    ("workflows/price-order.yaml", include_str!("template/workflows/price-order.yaml")),
];

/// The name of a project whose directory has none that can name a package.
const DEFAULT_NAME: &str = "orders";

/// Returns the files of a new project. Characters of `name` that a package name should not have become `-`.
pub fn new_project(name: &str) -> Vec<TemplateFile> {
    let name = package_name(name);
    TEMPLATE.map(|(path, text)| TemplateFile { path, text: text.replace("PROJECT", &name) }).to_vec()
}

fn package_name(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(allowed).collect();
    match name.trim_matches('-') {
        "" => DEFAULT_NAME.to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{SourceFile, SourceFormat, format_text};

    #[test]
    fn every_document_is_in_canonical_form() {
        for file in new_project("Shop 7") {
            assert!(!file.text.contains("PROJECT") && file.text.ends_with('\n'), "{}", file.path);
            if let Some(format) = SourceFormat::from_path(Path::new(file.path)) {
                assert!(SourceFile::parse(file.path, format, file.text.clone()).is_ok(), "{}", file.path);
                assert_eq!(format_text(file.path, format, &file.text).unwrap(), file.text, "{}", file.path);
            }
        }
    }

    #[test]
    fn the_directory_names_the_package() {
        for (name, expected) in
            [("Shop 7", "shop-7"), ("..", "orders"), ("café", "caf"), ("orders_eu", "orders-eu")]
        {
            assert_eq!(package_name(name), expected, "{name}");
        }
    }
}
