//! `docs/server-reference.md`: the help of every command of the server.

use clap::{Command, CommandFactory as _};
use svc::cli::Cli;

use super::assert_golden;

/// Columns of the help.
const WIDTH: usize = 110;

fn describe(command: &Command, path: &str, page: &mut String) {
    let help = command.clone().bin_name(path).render_long_help().to_string();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    page.push_str(&format!("\n## {path}\n\n```text\n{}\n```\n", help.join("\n").trim_end()));
    let commands = command.get_subcommands().filter(|command| command.get_name() != "help");
    commands.for_each(|command| describe(command, &format!("{path} {}", command.get_name()), page));
}

fn page() -> String {
    let mut page = String::from(
        "# Reference of svc-server\n\nMade from the program. [Projects](project.md) and [packages](packages.md) explain the \
         commands of authors, which\n`svc-cli` has too; [backups](backups.md), [upgrade](upgrade.md) and \
         [configuration](configuration.md) those of\noperators.\n",
    );
    let mut command = Cli::command().max_term_width(WIDTH).term_width(WIDTH);
    command.build();
    describe(&command, "svc-server", &mut page);
    page
}

#[test]
fn page_of_commands_has_every_command() {
    assert_golden("server-reference.md", &page());
}
