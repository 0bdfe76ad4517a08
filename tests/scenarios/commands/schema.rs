//! `schema`: the JSON Schemas of the documents, printed or as files.

use serde_json::Value;

use super::{Database, stderr, stdout};

const KINDS: [&str; 6] = ["channel", "workflow", "connector", "shared", "case", "config"];

#[test]
fn schemas_are_printed_singly_together_or_to_files() {
    let database = Database::sqlite();
    let output = database.run(&["schema"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let all: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let names: Vec<_> = all.as_object().unwrap().keys().collect();
    assert_eq!(names, KINDS);
    let directory = database.directory.path().join("made/.schemas");
    let output = database.run(&["schema", "--output", directory.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for kind in KINDS {
        let one: Value = serde_json::from_str(&stdout(&database.run(&["schema", kind]))).unwrap();
        assert_eq!(one, all[kind], "{kind}");
        assert_eq!(one["$schema"], "https://json-schema.org/draft/2020-12/schema", "{kind}");
        let file = directory.join(format!("{kind}.schema.json"));
        assert!(stdout(&output).contains(file.to_str().unwrap()), "{}", stdout(&output));
        assert_eq!(serde_json::from_str::<Value>(&std::fs::read_to_string(file).unwrap()).unwrap(), one);
    }
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), KINDS.len(), "nothing unfinished is left");
    assert_eq!(database.run(&["schema", "chanel"]).status.code(), Some(2));
    let output = database.run(&["schema", "-o", "/dev/null/schemas"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).starts_with("Error: cannot write"), "{}", stderr(&output));
}
