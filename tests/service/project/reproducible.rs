//! The same sources make the same bytes, whatever surrounds them.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use super::directory::{Directory, PACKAGE, Ran, with_fragment};
use super::kit::Files;

/// A workflow whose text has several lines.
const LETTER: &str = r"workflow_id: letter
name: Letter
tasks:
  - id: write
    name: Write
    function:
      name: map
      input:
        mappings:
          - path: data.text
            logic: |
              Dear all,
              it is late.
";

fn project() -> Files {
    let files = with_fragment();
    (0..12).fold(files, |files, index| {
        let id = format!("w{index}");
        files.file(
            &format!("workflows/{id}.json"),
            json!({"workflow_id": id, "name": id, "tasks": [{"id": "c", "use": "note"}]}),
        )
    })
}

/// Writes the project; `change` gives the text of each file, `order` the order in which they are made.
fn write(files: &Files, change: fn(&str) -> String, order: fn(&mut Vec<(String, String)>)) -> Directory {
    let directory = Directory::new(&Files(Default::default()));
    let mut texts: Vec<_> =
        files.0.iter().map(|(name, document)| (name.clone(), format!("{document:#}\n"))).collect();
    texts.push(("workflows/letter.yaml".to_owned(), LETTER.to_owned()));
    order(&mut texts);
    texts.iter().for_each(|(name, text)| directory.write(&format!("src/{name}"), &change(text)));
    directory
}

fn sorted_directory() -> Directory {
    write(&project(), str::to_owned, |_| {})
}

/// Returns the package that a command line prints.
fn package(directory: &Directory, line: &str) -> String {
    let ran = directory.run(line);
    assert_eq!(ran.code, 0, "{line}: {}", ran.err);
    ran.out
}

#[test]
fn output_is_equal_across_locales_and_zones() {
    let directory = sorted_directory();
    let plain = package(&directory, PACKAGE);
    assert!(plain.contains(r"Dear all,\nit is late.\n"), "{plain}");
    let elsewhere = [("LC_ALL", "tr_TR.UTF-8"), ("LANG", "de_DE.UTF-8"), ("TZ", "Pacific/Kiritimati")];
    assert_eq!(directory.run_in(PACKAGE, &elsewhere).out, plain);
    assert_eq!(directory.run_in(PACKAGE, &[("LC_ALL", "C"), ("TZ", "America/Adak")]).out, plain);
}

#[test]
fn output_is_the_same_however_the_directory_is_named() {
    let directory = sorted_directory();
    let plain = package(&directory, PACKAGE);
    let absolute = directory.path("src");
    std::os::unix::fs::symlink(&absolute, directory.path("link")).unwrap();
    for name in ["./src", "src/", "src/../src", "link", absolute.to_str().unwrap()] {
        assert_eq!(package(&directory, &PACKAGE.replace("src", name)), plain, "{name}");
    }
    let inside = Ran::run(
        Command::new(env!("CARGO_BIN_EXE_svc-server"))
            .args(["compile", ".", "--name", "shop", "--version", "1.0.0"])
            .current_dir(&absolute),
    );
    assert_eq!((inside.code, inside.out), (0, plain));
}

#[test]
fn output_ignores_order_of_file_creation() {
    let plain = package(&sorted_directory(), PACKAGE);
    assert_eq!(package(&write(&project(), str::to_owned, |files| files.reverse()), PACKAGE), plain);
    let mixed =
        write(&project(), str::to_owned, |files| files.sort_by_key(|(name, _)| (name.len(), name.clone())));
    assert_eq!(package(&mixed, PACKAGE), plain);
    // File systems list their entries in orders of their own; the one in memory lists the newest first.
    let memory = Path::new("/dev/shm");
    if let Some(copy) = memory.is_dir().then(|| TempDir::new_in(memory).unwrap()) {
        let copied = Command::new("cp").arg("-r").arg(mixed.path("src")).arg(copy.path()).status().unwrap();
        assert!(copied.success());
        let elsewhere = PACKAGE.replace("src", copy.path().join("src").to_str().unwrap());
        assert_eq!(package(&mixed, &elsewhere), plain);
    }
}

#[test]
fn output_ignores_line_ends_and_byte_marks() {
    let plain = package(&sorted_directory(), PACKAGE);
    let returns = write(&project(), |text| text.replace('\n', "\r\n"), |_| {});
    assert_eq!(package(&returns, PACKAGE), plain);
    let marked = write(&project(), |text| format!("\u{feff}{text}"), |_| {});
    assert_eq!(package(&marked, PACKAGE), plain);
}

#[test]
fn output_is_the_same_under_every_file_mode_mask() {
    let directory = sorted_directory();
    let plain = package(&directory, PACKAGE);
    for mask in ["000", "022", "077"] {
        let binary = env!("CARGO_BIN_EXE_svc-server");
        let line = format!(
            "umask {mask} && {binary} {PACKAGE} -o {mask}.json && {binary} {}",
            "compile src --format dir -o out"
        );
        let ran = Ran::run(Command::new("sh").args(["-c", &line]).current_dir(directory.path("")));
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(fs::read_to_string(directory.path(&format!("{mask}.json"))).unwrap(), plain, "{mask}");
        assert_eq!(directory.list("out").len(), 17, "{:?}", directory.list("out"));
    }
}

#[test]
fn a_compiled_directory_compiles_to_the_same_package() {
    let directory = sorted_directory();
    let plain = package(&directory, PACKAGE);
    assert_eq!(directory.run("compile src --format dir -o out").code, 0);
    assert_eq!(package(&directory, &PACKAGE.replace("src", "out")), plain);
    assert_eq!(directory.run("compile out --format dir -o again").code, 0);
    for name in directory.list("out") {
        let read = |root: &str| fs::read(directory.path(&format!("{root}/{name}"))).unwrap();
        assert!(read("out") == read("again"), "{name}");
    }
}
