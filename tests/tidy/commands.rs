//! Commands that the pages name exist.

use std::collections::BTreeSet;

use crate::{files_with, root};

/// The pages with every command, made from the programs.
const REFERENCES: [&str; 2] = ["docs/cli-reference.md", "docs/server-reference.md"];

/// The programs.
const PROGRAMS: [&str; 2] = ["svc-cli", "svc-server"];

/// Commands in the pages at least: with fewer the check would pass on nothing.
const FEWEST: usize = 200;

/// Returns the code of a line: all of a line of commands, else what is between backticks.
fn code_parts(line: &str) -> Vec<&str> {
    let is_command = line.starts_with("$ ") || PROGRAMS.iter().any(|program| line.starts_with(program));
    if is_command { vec![line] } else { line.split('`').skip(1).step_by(2).collect() }
}

/// Returns each use of a program in a line of a page: the program and the words after it.
fn uses(line: &str) -> Vec<Vec<&str>> {
    let mut uses = Vec::new();
    for part in code_parts(line) {
        let words: Vec<&str> = part.split_whitespace().collect();
        for (at, program) in words.iter().enumerate().filter(|(_, word)| PROGRAMS.contains(word)) {
            let is_name = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            let names = words[at + 1..].iter().take_while(is_name).copied();
            uses.push(std::iter::once(*program).chain(names).collect());
        }
    }
    uses
}

/// Returns the first command of a use that does not exist. Words behind a command without further ones are its
/// arguments.
fn unknown_command(words: &[&str], known: &BTreeSet<String>) -> Option<String> {
    let mut command = (*words.first()?).to_owned();
    for word in &words[1..] {
        let is_group = known
            .range(format!("{command} ")..)
            .next()
            .is_some_and(|other| other.starts_with(&format!("{command} ")));
        if !is_group || word.starts_with('-') {
            return None;
        }
        command = format!("{command} {word}");
        if !known.contains(&command) {
            return Some(command);
        }
    }
    None
}

/// Returns the commands of a reference: its headings.
fn headings(page: &str) -> impl Iterator<Item = String> {
    page.lines().filter_map(|line| Some(line.strip_prefix("## ")?.to_owned()))
}

#[test]
fn commands_in_pages_exist() {
    let read = |page: &str| std::fs::read_to_string(root().join(page)).unwrap_or_default();
    let known: BTreeSet<String> =
        REFERENCES.iter().flat_map(|page| headings(&read(page)).collect::<Vec<_>>()).collect();
    let is_page = |path: &str| {
        let is_place = ["docs/", "examples/", "skills/"].iter().any(|folder| path.starts_with(folder));
        (is_place || !path.contains('/')) && !REFERENCES.contains(&path) && path != "CHANGELOG.md"
    };
    let (mut unknown, mut count) = (Vec::new(), 0);
    for (path, text) in files_with(&[".md"]).into_iter().filter(|(path, _)| is_page(path)) {
        for (number, line) in text.lines().enumerate() {
            for words in uses(line) {
                count += 1;
                let command = unknown_command(&words, &known);
                unknown.extend(command.map(|command| format!("{path}:{}: {command}", number + 1)));
            }
        }
    }
    assert!(unknown.is_empty(), "these commands do not exist: {unknown:#?}");
    assert!(count >= FEWEST, "the check saw {count} commands only");
}

#[test]
fn check_finds_unknown_commands_alone() {
    let known = ["svc-cli", "svc-cli cron", "svc-cli cron list", "svc-cli health", "svc-server"];
    let known: BTreeSet<String> = known.into_iter().map(str::to_owned).collect();
    let find = |line: &str| -> Vec<String> {
        uses(line).iter().filter_map(|words| unknown_command(words, &known)).collect()
    };
    assert_eq!(
        find("call `svc-cli cron lost --all` or `svc-cli nodes`"),
        ["svc-cli cron lost", "svc-cli nodes"]
    );
    assert_eq!(find("$ svc-server -c svc.toml && svc-cli health now; svc-cli cron"), [""; 0]);
}
