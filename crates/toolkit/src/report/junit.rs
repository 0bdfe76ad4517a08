//! JUnit XML: one suite, a test case for each case.

use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::test_report::{ReportedCase, TestReport};

/// The name of the suite.
const SUITE: &str = "svc-server test";

/// Writes the results. Durations are left out, so that equal results give equal files.
pub(super) fn write(report: &TestReport, out: &mut dyn Write) -> io::Result<()> {
    let (tests, failures) = (report.cases.len().to_string(), report.failure_count().to_string());
    let counts =
        [("name", SUITE), ("tests", tests.as_str()), ("failures", failures.as_str()), ("errors", "0")];
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.create_element("testsuites").with_attributes(counts).write_inner_content(|xml| {
        let suite = xml.create_element("testsuite").with_attributes(counts).with_attribute(("skipped", "0"));
        suite.write_inner_content(|xml| report.cases.iter().try_for_each(|case| write_case(case, xml)))?;
        Ok(())
    })?;
    out.write_all(&xml.into_inner())?;
    writeln!(out)
}

fn write_case(case: &ReportedCase, xml: &mut Writer<Vec<u8>>) -> io::Result<()> {
    let (name, file) = (printable(&case.name), printable(&case.file));
    let attributes = [("classname", file.as_str()), ("name", name.as_str()), ("file", file.as_str())];
    let element = xml.create_element("testcase").with_attributes(attributes);
    if case.failures.is_empty() {
        element.write_empty()?;
        return Ok(());
    }
    element.write_inner_content(|xml| {
        for failure in &case.failures {
            let message = printable(&failure.message);
            let first = message.lines().next().unwrap_or_default();
            let place = failure.place.as_ref();
            let place = place.map(|place| format!("\n{}:{}:{}", place.file, place.line, place.column));
            let text = format!("{message}{}", printable(&place.unwrap_or_default()));
            let element =
                xml.create_element("failure").with_attributes([("message", first), ("type", "expectation")]);
            element.write_text_content(BytesText::new(&text))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Replaces the characters that XML 1.0 cannot hold, not even escaped, and the other control characters, which a terminal
/// would obey.
fn printable(text: &str) -> String {
    let is_allowed = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
    let is_character = |c: char| is_allowed(c) && !matches!(c, '\u{FFFE}' | '\u{FFFF}');
    text.chars().map(|c| if is_character(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}
