//! `docs/errors.md`: the tables of codes.

use svc_engine::ErrorCode;
use svc_model::{Code, CodeEntry, FieldCode};

use super::{assert_golden, table};

fn rows(entries: impl IntoIterator<Item = CodeEntry>) -> Vec<Vec<String>> {
    let row = |entry: CodeEntry| {
        vec![
            format!("`{}`", entry.name),
            entry.status.to_string(),
            entry.cause.to_owned(),
            entry.remedy.to_owned(),
        ]
    };
    entries.into_iter().map(row).collect()
}

fn page() -> String {
    let mut page = include_str!("errors.md").to_owned();
    let head = ["Code", "Status", "Cause", "Remedy"];
    page.push_str("\n## Codes of answers\n\n`error.code` of the body.\n\n");
    table(&mut page, &head, rows(Code::ALL.iter().map(|code| code.entry())));
    page.push_str(
        "\n## Codes of tasks\n\n`errors[].code` of an answer and of a trace, `code` of `metadata._svc_errors`. The status is that of a\n\
         run which the error stopped; see [workflows.md](workflows.md#outcomes).\n\n",
    );
    table(&mut page, &head, rows(ErrorCode::ALL.iter().map(|code| code.entry())));
    page.push_str(
        "\n## Codes of fields\n\n`error.details[].code`, and `code` of the errors of `validate` and of dry runs.\n\n",
    );
    table(
        &mut page,
        &["Code", "Cause", "Remedy"],
        rows(FieldCode::ALL.iter().map(|code| code.entry())).into_iter().map(|mut row| {
            row.remove(1);
            row
        }),
    );
    page
}

#[test]
fn page_of_errors_matches_the_code_tables() {
    assert_golden("errors.md", &page());
}
