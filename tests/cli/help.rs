//! Help, completions, manual pages, the page of the manual.

use std::path::Path;

use crate::support::{CliClient, assert_golden};

#[test]
fn every_command_is_on_the_page_of_the_manual() {
    assert_golden("../../../docs/cli-reference.md", &reference());
}

/// Returns the help of every command, as the manual has it.
fn reference() -> String {
    let mut page = String::from(
        "# Reference of svc-cli\n\nMade from the program; [cli.md](cli.md) introduces it. The commands from config to \
         completions take\nthe [global options](#svc-cli); those of authors, from case to test, have options of \
         their own.\n",
    );
    let mut command = svc_cli::command().max_term_width(110).term_width(110);
    command.build();
    describe(&command, "svc-cli", &mut page);
    page
}

fn describe(command: &clap::Command, path: &str, page: &mut String) {
    let is_root = !path.contains(' ');
    let mut shown = command.clone().bin_name(path);
    if !is_root {
        shown = shown.mut_args(|arg| if arg.is_global_set() { arg.hide(true) } else { arg });
    }
    let help = shown.render_long_help().to_string();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    page.push_str(&format!("\n## {path}\n\n```text\n{}\n```\n", help.join("\n").trim_end()));
    let commands = command.get_subcommands().filter(|command| command.get_name() != "help");
    commands.for_each(|command| describe(command, &format!("{path} {}", command.get_name()), page));
}

#[test]
fn completions_exist_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = CliClient::new().ok(&["completions", shell]);
        let words = ["svc-cli", "benchmark", "dry-run", "compile"];
        assert!(words.iter().all(|word| script.contains(word)), "{shell}");
    }
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let cli = CliClient::new();
    let directory = cli.home().join("man").display().to_string();
    cli.ok(&["man", &directory]);
    for page in ["svc-cli.1", "svc-cli-workflows.1", "svc-cli-workflows-activate.1"] {
        let text = std::fs::read_to_string(Path::new(&directory).join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
}

#[test]
fn version_and_help_need_no_settings() {
    let cli = CliClient::new();
    assert_eq!(cli.ok(&["--version"]), concat!("svc-cli ", env!("CARGO_PKG_VERSION"), "\n"));
    assert!(cli.ok(&["--help"]).contains("workflows"));
    cli.fails(&[], 2);
}

#[test]
fn installation_puts_programs_completions_and_pages_under_a_prefix() {
    let cli = CliClient::new();
    let programs = Path::new(env!("CARGO_BIN_EXE_svc-cli")).parent().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/package/install");
    let root = cli.home().join("root");
    let status =
        std::process::Command::new(script).arg(programs).arg("/opt/svc").env("DESTDIR", &root).status();
    assert!(status.unwrap().success());
    for file in [
        "bin/svc-server",
        "bin/svc-cli",
        "share/man/man1/svc-server.1",
        "share/man/man1/svc-server-lint.1",
        "share/man/man1/svc-cli-send.1",
        "share/man/man1/svc-cli-lint.1",
        "share/man/man1/svc-cli-package-apply.1",
        "share/bash-completion/completions/svc-cli",
        "share/zsh/site-functions/_svc-server",
        "share/fish/vendor_completions.d/svc-cli.fish",
    ] {
        let length =
            std::fs::metadata(root.join("opt/svc").join(file)).map(|metadata| metadata.len()).unwrap_or(0);
        assert!(length > 0, "{file}");
    }
}
