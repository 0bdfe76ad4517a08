//! The commands over projects: their output, their exit codes, and what they leave behind.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::process::Command;

use serde_json::{Value, json};

use super::directory::{Directory, PACKAGE, with_fragment};
use super::kit::{CHANNEL, Files, WORKFLOW, note};

#[test]
fn directory_lint_prints_counts_and_fails_on_errors() {
    let directory = Directory::new(&Files::default());
    directory.write("src/tests/a.case.json", "{}");
    directory.write("src/package.json", "{\"name\": \"x\"}");
    let ran = directory.run("lint src --deny-warnings");
    let counts = "1 connector(s), 1 workflow(s), 1 channel(s), 1 shared value(s), 1 fragment(s)";
    assert_eq!((ran.code, ran.out), (0, format!("{counts} — 0 error(s), 0 warning(s)\n")), "{}", ran.err);
    assert!(ran.err.contains("note: package.json: skipped"), "{}", ran.err);
    directory.write(&format!("src/{CHANNEL}"), "{\"protocol\": \"rest\"}");
    let ran = directory.run("lint src");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.err.contains("error: [schema.channel] channel (channels/orders.json): name: "),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("\n        fix: "), "{}", ran.err);
}

#[test]
fn unreadable_file_fails_commands_unless_ignored() {
    for (name, text, message) in [
        ("broken.json", "{", "EOF while parsing an object at line 1 column 1"),
        (
            "deep/merged.yaml",
            "a: &a {b: 1}\nc:\n  <<: *a\n",
            "merge keys are not supported at line 3 column 3",
        ),
        ("indented.yml", "name: x\nconfig:\n  a: 1\n   b: 2\n", " at line 4 "),
        ("typed.yaml", "a: !!int x\n", "\"x\" is no int at line 1 column 10"),
        ("tests/cut.case.json", "{\"workflow\": ", " at line 1 "),
    ] {
        let directory = Directory::new(&Files::default());
        directory.write(&format!("src/{name}"), text);
        for command in ["lint src", PACKAGE] {
            let ran = directory.run(command);
            assert_eq!(ran.code, 1, "{command}: {name}: {}", ran.err);
            let start = format!("error: [project.unreadable] {name}: ");
            let line = ran.err.lines().find(|line| line.starts_with(&start));
            assert!(line.is_some_and(|line| line.contains(message)), "{name}: {}", ran.err);
        }
        directory.write(
            "src/.svcignore",
            "# not ours\nbroken.json\ndeep/\n/indented.yml\n*typed*\ntests/*.json\n",
        );
        for command in ["lint src --deny-warnings", PACKAGE] {
            let ran = directory.run(command);
            assert_eq!((ran.code, ran.err.contains(name)), (0, false), "{command}: {name}: {}", ran.err);
        }
    }
    let directory = Directory::new(&Files::default());
    directory.write("src/.svcignore", "a{b\n[z-\n");
    let ran = directory.run("lint src");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("error: [project.unreadable] .svcignore: line "), "{}", ran.err);
}

#[test]
fn near_definition_is_warned_of_at_its_key() {
    let directory = Directory::new(&Files::default());
    for (text, told) in [
        ("workflow_id: w\nname: w\ntaks: []\n", ":3:1"),
        ("name: c\nchanel_type: sync\n", ":2:1"),
        ("channel_id: c\nname: c\nroute_pattern: /c\n", ":1:1"),
        ("fragment:\n  a: {tasks: []}\n", ":1:1"),
        ("- name: w\n  tasks: []\n", ":2:3"),
        ("channel_id:c\nname:c\nroute_pattern:/c\n", ":1:1"),
        ("name: a case\nworkflow: w.yaml\ninput: {}\n", ":2:1"),
    ] {
        directory.write("src/other.yaml", text);
        let ran = directory.run("lint src --format json");
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        let finding = &report["findings"][0];
        assert_eq!((ran.code, &report["summary"]["warnings"]), (0, &json!(1)), "{text}: {report}");
        assert_eq!(finding["check"], "project.unknown_shape", "{text}: {finding}");
        let place = format!(
            "{}:{}:{}",
            finding["place"]["file"].as_str().unwrap(),
            finding["place"]["line"],
            finding["place"]["column"]
        );
        assert_eq!(place, format!("src/other.yaml{told}"), "{text}: {finding}");
        assert_eq!(directory.run("lint src --deny-warnings").code, 1, "{text}");
        assert_eq!(directory.run(&format!("{PACKAGE} --deny-warnings")).code, 1, "{text}");
    }
}

#[test]
fn denied_warnings_fail_notes_never_do() {
    let files = Files::default().tasks(json!([note("n", &json!({"uper": 1}))]));
    let files = files.set("connectors/shop.json", "/config/connection_string", json!("env://SHOP"));
    let directory = Directory::new(&files);
    let ran = directory.run("lint src");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.err.ends_with("note: [env.reference] SHOP: read by connector 'shop' (connectors/shop.json)\n"),
        "{ran:?}"
    );
    assert_eq!(directory.run("lint src --deny-warnings").code, 1);
    let directory = Directory::new(&files.tasks(json!([note("n", &json!(1))])));
    assert_eq!(directory.run("lint src --deny-warnings").code, 0);
}

#[test]
fn lint_of_file_lists_fields_create_refuses() {
    let directory = Directory::new(&with_fragment().set(WORKFLOW, "/priority", json!("x")));
    let file = format!("lint src/{WORKFLOW}");
    let ran = directory.run(&file);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("- body.priority [TYPE_MISMATCH]: expected integer"), "{}", ran.err);
    assert!(
        ran.err.contains("- tasks[0] [UNCOMPILED_SOURCE]: the fragment call 'note' is not expanded"),
        "{}",
        ran.err
    );
    let ran = directory.run(&format!("{file} --definitions src"));
    assert!(!ran.err.contains("UNCOMPILED_SOURCE") && ran.err.contains("- body.priority"), "{}", ran.err);
    let directory = Directory::new(&with_fragment());
    assert_eq!(directory.run(&format!("{file} --definitions src --deny-warnings")).code, 0);
    directory.write("src/shared/broken.json", "[");
    let ran = directory.run(&format!("{file} --definitions src --deny-warnings"));
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("warning: [shared.unparseable] shared/broken.json: "), "{}", ran.err);
    assert_eq!(directory.run(&format!("lint src/{CHANNEL}")).code, 0);
}

#[test]
fn wrong_arguments_exit_2_missing_inputs_1() {
    let directory = Directory::new(&Files::default());
    for line in [
        "compile src",
        "compile src --name shop",
        "compile src --name shop --version 1.0+build",
        "compile src --name the/shop --version 1",
        "compile src --format dir",
        "compile src --format bulk",
        "lint src --definitions src",
        "lint src/channels/orders.json --requires-channel a",
        "package lint",
        "compile src --format tar",
    ] {
        let ran = directory.run(line);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{line}: {}", ran.err);
    }
    fs::create_dir(directory.path("empty")).unwrap();
    for line in
        ["lint empty", "lint nothing", "compile nothing --name a --version 1", "package lint -f nothing"]
    {
        let ran = directory.run(line);
        assert_eq!(ran.code, 1, "{line}");
        assert!(ran.err.starts_with("Error: "), "{line}: {}", ran.err);
    }
}

#[test]
fn package_on_standard_output_passes_lint() {
    let directory = Directory::new(&with_fragment());
    let ran = directory.run(&format!("{PACKAGE} --requires-channel billing"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("compiled: shared.fragments rewrote 1 document(s)\n"), "{}", ran.err);
    let package: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(package["package"]["svc"], env!("CARGO_PKG_VERSION"));
    assert_eq!(package["workflows"][0]["activate"], true);
    directory.write("p.json", &ran.out);
    let linted = directory.run("package lint -f p.json --deny-warnings");
    assert_eq!(linted.code, 0, "{}", linted.err);
    directory.write("p.json", &ran.out.replace("late", "soon"));
    let linted = directory.run("package lint -f p.json");
    assert_eq!(linted.code, 1);
    assert!(linted.err.contains("error: [package.content_hash] package: "), "{}", linted.err);
    let quiet: Value = serde_json::from_str(&directory.run(&format!("{PACKAGE} --no-activate")).out).unwrap();
    assert_eq!(quiet["workflows"][0].get("activate"), None);
    assert_eq!(quiet["package"]["content_hash"], package["package"]["content_hash"]);
}

#[test]
fn nothing_is_written_for_a_project_that_lint_refuses() {
    let directory = Directory::new(&Files::default().tasks(json!([{"id": "c", "use": "nothing"}])));
    directory.write("p.json", "before");
    for line in [format!("{PACKAGE} -o p.json"), "compile src --format dir -o out".into(), PACKAGE.to_owned()]
    {
        let ran = directory.run(&line);
        assert_eq!(ran.code, 1, "{line}");
        assert!(ran.err.contains("error: [closure.fragment]"), "{}", ran.err);
    }
    assert_eq!(fs::read_to_string(directory.path("p.json")).unwrap(), "before");
    assert!(!directory.path("out").exists());
}

#[test]
fn mirrored_directory_is_replaced_others_are_kept() {
    let directory = Directory::new(&with_fragment());
    let compile = "compile src --format dir -o out/docs";
    let ran = directory.run(compile);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.starts_with("compiled: shared.fragments rewrote 1 document(s)\n1 connector(s)"),
        "{}",
        ran.out
    );
    let files = [".svc-compiled", CHANNEL, "connectors/shop.json", WORKFLOW];
    assert_eq!(directory.list("out/docs"), files);
    let first = fs::read(directory.path(&format!("out/docs/{WORKFLOW}"))).unwrap();
    fs::remove_file(directory.path(&format!("src/{CHANNEL}"))).unwrap();
    assert_eq!(directory.run(compile).code, 0);
    assert_eq!(directory.list("out/docs"), [".svc-compiled", "connectors/shop.json", WORKFLOW]);
    assert_eq!(fs::read(directory.path(&format!("out/docs/{WORKFLOW}"))).unwrap(), first);
    assert_eq!(directory.list("out").len(), 3, "nothing temporary is left");
    assert_eq!(directory.run("lint out/docs").code, 0);
    directory.write("mine/letter.txt", "keep");
    for foreign in ["mine", "src/out", "src"] {
        let ran = directory.run(&format!("compile src --format dir -o {foreign}"));
        assert_eq!(ran.code, 1, "{foreign}");
        assert!(ran.err.contains("Error: "), "{}", ran.err);
    }
    assert_eq!(directory.list("mine"), ["letter.txt"]);
    assert_eq!(directory.run("compile src --format dir -o src/target/out").code, 0);
}

#[test]
fn bulk_output_is_one_import_body_for_each_kind() {
    let directory = Directory::new(&with_fragment());
    assert_eq!(directory.run("compile src --format bulk -o out").code, 0);
    assert_eq!(directory.list("out"), ["channels.json", "connectors.json", "workflows.json"]);
    let read = |kind: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(directory.path(&format!("out/{kind}.json"))).unwrap())
            .unwrap()
    };
    assert_eq!(read("workflows")[0]["tasks"][0]["id"], "c.n");
    assert_eq!(
        (read("channels")[0].get("activate"), read("connectors")[0]["name"].as_str()),
        (None, Some("shop"))
    );
}

#[test]
fn sources_in_yaml_are_compiled_to_json() {
    let directory = Directory::new(&Files::default());
    fs::remove_file(directory.path(&format!("src/{WORKFLOW}"))).unwrap();
    let yaml =
        "workflow_id: orders # the only one\nname: Orders\ntasks:\n  - {id: c, use: note, with: {why: no}}\n";
    directory.write("src/workflows/orders.yaml", yaml);
    let ran = directory.run("compile src --format dir -o out");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let text = fs::read_to_string(directory.path("out/workflows/orders.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["tasks"][0]["function"]["input"]["mappings"][0]["logic"], "no");
}

#[test]
fn output_follows_links_and_writes_devices_directly() {
    let directory = Directory::new(&Files::default());
    directory.write("real/p.json", "before");
    std::os::unix::fs::symlink("real/p.json", directory.path("link.json")).unwrap();
    assert_eq!(directory.run(&format!("{PACKAGE} -o link.json")).code, 0);
    assert!(fs::symlink_metadata(directory.path("link.json")).unwrap().is_symlink());
    let package = fs::read_to_string(directory.path("real/p.json")).unwrap();
    assert_eq!(directory.run(&format!("{PACKAGE} -o -")).out, package);
    assert_eq!(
        directory.list("."),
        [
            "link.json",
            "real/p.json",
            "src/channels/orders.json",
            "src/connectors/shop.json",
            "src/shared/common.json",
            "src/workflows/orders.json"
        ]
    );

    let pipe = directory.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    assert_eq!(directory.run(&format!("{PACKAGE} -o pipe")).code, 0);
    assert_eq!(reader.join().unwrap(), package);
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
fn a_standard_output_that_takes_nothing_is_told() {
    let directory = Directory::new(&Files::default());
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_svc-server"))
        .args(PACKAGE.split(' '))
        .current_dir(directory.path(""))
        .stdout(full)
        .output()
        .unwrap();
    let text = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{text}");
    assert!(text.contains("Error: the output cannot be written\n  Caused by: No space left"), "{text}");
}

#[test]
fn statement_in_a_file_is_compiled_into_its_place() {
    let query = "/tasks/0/function/input/query";
    let named = |target: &str| Files::default().set(WORKFLOW, query, json!({"$sql": target}));
    let compiled = |files: &Files, text: &str| {
        let directory = Directory::new(files);
        directory.write("src/sql/read.sql", text);
        let ran = directory.run(PACKAGE);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let mut package: Value = serde_json::from_str(&ran.out).unwrap();
        package["package"]["content_hash"].take()
    };
    let inline = compiled(&Files::default(), "");
    for text in ["SELECT 1", "-- all of it\nSELECT\n  1;\n", "/* x */ SELECT 1 -- y"] {
        assert_eq!(compiled(&named("../sql/read.sql"), text), inline, "{text}");
    }
    let directory = Directory::new(&named("../sql/read.sql"));
    directory.write("src/sql/read.sql", "DELETE FROM orders");
    let ran = directory.run("lint src");
    assert!(ran.code == 1 && ran.err.contains("[schema.workflow]"), "the statement is checked: {}", ran.err);
    let ran = directory.run(&format!("lint src/{WORKFLOW}"));
    assert!(ran.code == 1 && !ran.err.contains("$sql"), "{}", ran.err);
    for (target, why) in [
        ("../sql/none.sql", "cannot be read"),
        ("../../other.sql", "cannot be read"),
        ("sql", "ends with .sql"),
    ] {
        let ran = Directory::new(&named(target)).run("lint src");
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(ran.err.contains("[project.statement]") && ran.err.contains(why), "{target}: {}", ran.err);
        assert_eq!(ran.err.matches("error: [").count(), 1, "{target}: {}", ran.err);
    }
}
