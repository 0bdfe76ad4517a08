//! The commands of authors: `svc-cli` has those of `svc-server`, with the same output and exit codes.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{CliClient, CliRun, server_binary};

/// The programs that have the toolkit.
const PROGRAMS: [&str; 2] = ["svc-cli", "svc-server"];

/// Runs a program in a directory, with nothing on its standard input.
fn run_program(program: &str, directory: &Path, line: &str) -> CliRun {
    let output = Command::new(server_binary().with_file_name(program))
        .args(line.split_whitespace())
        .current_dir(directory)
        .env_clear()
        .env("HOME", directory)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    // Usage errors name the program.
    let text = |bytes| {
        let text = String::from_utf8(bytes).unwrap();
        PROGRAMS.iter().fold(text, |text, name| text.replace(name, "PROGRAM"))
    };
    CliRun { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// Returns the exit code, the standard output and the standard error of each line, run one after the other in a directory
/// of its own.
fn run_lines(program: &str, prepare: fn(&Path), lines: &[&str]) -> Vec<CliRun> {
    let directory = tempfile::tempdir().unwrap();
    let created = run_program(program, directory.path(), "new shop");
    assert_eq!(created.code, 0, "{created:?}");
    prepare(&directory.path().join("shop"));
    lines.iter().map(|line| run_program(program, directory.path(), line)).collect()
}

/// Checks that both programs print the same for each line, and end with the expected exit code.
fn assert_same(prepare: fn(&Path), lines: &[(&str, i32)]) {
    let commands: Vec<&str> = lines.iter().map(|(line, _)| *line).collect();
    let [client, server] = PROGRAMS.map(|program| run_lines(program, prepare, &commands));
    for (((line, expected), client), server) in lines.iter().zip(client).zip(server) {
        assert_eq!(client.code, *expected, "{line}: {client:?}");
        assert_eq!((client.code, &client.out), (server.code, &server.out), "{line}");
        assert_eq!(client.err, server.err, "{line}");
    }
}

#[test]
fn both_programs_handle_a_good_project_alike() {
    assert_same(
        |_| {},
        &[
            ("lint shop", 0),
            ("lint shop --deny-warnings --format json", 0),
            ("lint shop --format sarif", 0),
            ("lint shop/workflows/price-order.yaml --definitions shop", 0),
            ("fmt --check shop", 0),
            ("fmt shop", 0),
            ("test shop/tests --definitions shop", 0),
            ("test shop/tests --definitions shop --format junit", 0),
            ("compile shop --name shop --version 1.0.0", 0),
            ("compile shop --name shop --version 1.0.0 -o shop.json", 0),
            ("compile shop --format bulk -o bulk", 0),
            ("package lint -f shop.json", 0),
            ("package lint -f shop.json --format github", 0),
            ("schema", 0),
            ("schema workflow", 0),
            ("schema config", 0),
            ("schema -o schemas", 0),
            ("new other", 0),
        ],
    );
}

#[test]
fn both_programs_refuse_a_faulty_project_alike() {
    let spoil = |shop: &Path| {
        let function =
            r#"{"name": "db_read", "input": {"connector": "none", "query": "DELETE FROM orders"}}"#;
        let task = format!(r#"{{"id": "a", "name": "A", "function": {function}}}"#);
        let mail =
            r#"{"name": "send_email", "input": {"connector": "none", "to": "nobody", "subject": "s"}}"#;
        let mail = format!(r#"{{"id": "m", "name": "M", "function": {mail}}}"#);
        let workflow = format!(r#"{{"workflow_id":"bad","name":"Bad","tasks":[{task},{mail}]}}"#);
        std::fs::write(shop.join("workflows/bad.json"), workflow).unwrap();
        std::fs::write(shop.join("workflows/broken.yaml"), "a: &a {b: 1}\nc:\n  <<: *a\n").unwrap();
        let case = r#"{"workflow": "../workflows/bad.json", "input": 1, "expect": {"data": {"b": 2}}}"#;
        std::fs::write(shop.join("tests/bad.case.json"), case).unwrap();
        std::fs::write(shop.join("trace.json"), r#"{"id": "t", "workflow_id": "bad"}"#).unwrap();
    };
    assert_same(
        spoil,
        &[
            ("lint shop", 1),
            ("lint shop --format json", 1),
            ("lint shop --format github", 1),
            ("lint shop/workflows/bad.json", 1),
            ("lint shop --definitions shop", 2),
            ("lint absent", 1),
            ("fmt --check shop", 1),
            ("test shop/tests --definitions shop", 1),
            ("test shop/tests --definitions shop --format sarif", 1),
            ("test absent", 1),
            ("compile shop --name shop --version 1.0.0 -o shop.json", 1),
            ("compile shop", 2),
            ("case --from-trace absent.json", 1),
            ("case --from-trace shop/trace.json --project absent", 1),
            ("dry-run -w shop/workflows/bad.json -i shop/trace.json", 1),
            ("new shop", 1),
            ("schema nothing", 2),
            ("package lint -f absent.json", 1),
            ("package plan -s http://127.0.0.1:1 -f absent.json", 1),
            ("package apply", 2),
            ("package sign --key absent.pem -f absent.json", 1),
            ("package verify --key absent.pem -f absent.json", 1),
            ("package verify -f absent.json", 2),
        ],
    );
}

#[test]
fn commands_of_authors_need_no_settings() {
    let cli = CliClient::new();
    let directory = cli.home().join(".svc");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("config.toml"), "not = [a setting").unwrap();
    assert!(cli.run(&["workflows", "list"]).code != 0);
    assert!(cli.ok(&["schema", "case"]).contains("$schema"));
}

#[test]
fn client_option_before_author_command_is_refused() {
    let cli = CliClient::new();
    for args in
        [&["-o", "json", "schema"][..], &["--quiet", "schema"], &["--server", "http://h", "lint", "."]]
    {
        assert!(cli.fails(args, 2).contains("behind the command"), "{args:?}");
    }
}

#[test]
fn client_options_stand_before_or_behind_a_command() {
    let cli = CliClient::new();
    let shown = cli.ok(&["config", "show", "-o", "json"]);
    assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok(), "{shown}");
    assert_eq!(cli.ok(&["-o", "json", "config", "show"]), shown);
    assert_eq!(cli.ok(&["config", "-o", "json", "show"]), shown);
    assert_eq!(cli.ok(&["-o", "yaml", "config", "show", "-o", "json"]), shown, "the last one counts");
}
