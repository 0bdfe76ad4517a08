//! `docs/expressions.md`: the operators, each with an example.

use std::fmt::Write as _;

use svc_engine::catalogue::operators::{self, MANY, Operator};

use super::{assert_golden, table};

fn operands(operator: &Operator) -> String {
    match (operator.least, operator.most) {
        (least, MANY) => format!("{least} or more"),
        (least, most) if least == most => least.to_string(),
        (least, most) => format!("{least} to {most}"),
    }
}

fn row(operator: &Operator) -> Vec<String> {
    let data = if operator.data.is_empty() { String::new() } else { format!(" over `{}`", operator.data) };
    let result =
        if operator.result.is_empty() { "differs".to_owned() } else { format!("`{}`", operator.result) };
    vec![
        format!("`{}`", operator.name),
        operands(operator),
        operator.description.to_owned(),
        format!("`{}`{data}", operator.example),
        result,
    ]
}

fn page() -> String {
    let mut page = include_str!("expressions.md").to_owned();
    let mut groups: Vec<(&str, Vec<Operator>)> = Vec::new();
    for operator in operators::all() {
        match groups.last_mut() {
            Some((category, group)) if *category == operator.category => group.push(operator),
            _ => groups.push((operator.category, vec![operator])),
        }
    }
    for (category, group) in &groups {
        let (first, rest) = category.split_at(1);
        let _ = write!(page, "\n## {}{rest}\n\n", first.to_uppercase());
        let head = ["Operator", "Operands", "Meaning", "Example", "Result"];
        table(&mut page, &head, group.iter().map(row));
    }
    page
}

#[test]
fn page_of_expressions_matches_the_operators() {
    assert_golden("expressions.md", &page());
}
