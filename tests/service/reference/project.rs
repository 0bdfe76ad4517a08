//! The table of checks in `docs/project.md`. The page above it is written by hand.

use super::{assert_golden, docs};

/// Ends the part of the page that is written by hand.
const MARK: &str = "<!-- What follows is made from the code. -->\n";

#[test]
fn table_of_checks_is_made_from_the_checks() {
    let page = std::fs::read_to_string(docs("project.md")).unwrap();
    let (own, _) = page.split_once(MARK).expect("the page says where its table begins");
    let page = format!("{own}{MARK}\n## Every check\n\n{}", svc_project::check_table());
    assert_golden("project.md", &page);
}
