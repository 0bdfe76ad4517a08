//! The commands that work without a server: cases, dry runs, and cases made of the traces of a running one.

mod agreement;
mod backtests;
mod commands;
mod mutation;
mod trace_case;

pub(crate) use agreement::repeat_offline;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs a command of the binary under test in a directory, without any configuration of its own.
fn command(directory: &Path, arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_svc-server"));
    let output = command.current_dir(directory).args(arguments).env_clear().output();
    CommandOutput(output.expect("the binary starts"))
}

/// The output of a command that has ended.
struct CommandOutput(Output);

impl CommandOutput {
    fn code(&self) -> Option<i32> {
        self.0.status.code()
    }

    fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout_text())
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout_text(), self.err()))
    }
}

fn write(directory: &Path, file: &str, value: &Value) {
    let path = directory.join(file);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    std::fs::write(path, value.to_string()).expect("a file");
}

fn read(directory: &Path, file: &str) -> Value {
    let text = std::fs::read_to_string(directory.join(file)).expect("the file is there");
    serde_json::from_str(&text).expect("the file is JSON")
}
