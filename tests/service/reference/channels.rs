//! The tables of `docs/channels.md`: every key of a channel's config. The page above them is written by hand.

use std::fmt::Write as _;

use svc_model::config::reference::{BLOCKS, BlockReference, KeyReference};

use super::{assert_golden, docs, table};

/// Ends the part of the page that is written by hand.
const MARK: &str = "<!-- What follows is made from the code. -->\n";

fn heading(block: &BlockReference) -> String {
    match (block.path, block.form) {
        ("", _) => "`config`".to_owned(),
        (path, "") => format!("`{path}`"),
        (path, form) => format!("`{path}` with `{}`", form.trim_matches(['{', '}'])),
    }
}

fn row(key: &KeyReference) -> Vec<String> {
    let default = match key.default {
        _ if key.required => "**required**".to_owned(),
        "" => "–".to_owned(),
        default => format!("`{default}`"),
    };
    vec![format!("`{}`", key.name), key.kind.to_owned(), default, key.description.to_owned()]
}

#[test]
fn channel_tables_are_made_from_config_reference() {
    let page = std::fs::read_to_string(docs("channels.md")).unwrap();
    let (own, _) = page.split_once(MARK).expect("the page says where its tables begin");
    let mut page = format!("{own}{MARK}\n## Every key\n");
    for block in &BLOCKS {
        let _ = write!(page, "\n### {}\n\n", heading(block));
        table(&mut page, &["Key", "Type", "Default", "Meaning"], block.keys.iter().map(row));
    }
    assert_golden("channels.md", &page);
}
