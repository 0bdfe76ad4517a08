//! The commands other than starting the server, run on SQLite and on PostgreSQL.

mod connectivity;
mod doctor;
mod earlier;
mod files;
mod health;
mod migrate_storage;
mod preflight;
mod rotate_key;
mod schema;
mod sql_check;

use std::path::Path;
use std::process::Output;

use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::ServerProcess;
use tempfile::TempDir;

use crate::support::{launch, open_database};

/// A database of a test's own.
struct Database {
    url: String,
    postgres: Option<PostgresDatabase>,
    /// The directory of a database in a file.
    directory: TempDir,
}

impl Database {
    fn sqlite() -> Self {
        let directory = TempDir::new().unwrap();
        let url = format!("sqlite:{}", directory.path().join("own.db").display());
        Self { url, postgres: None, directory }
    }

    /// Returns a database of the shared server; `None` without one, which is reported.
    fn postgres() -> Option<Self> {
        let database = Postgres::shared()?.database().unwrap();
        let directory = TempDir::new().unwrap();
        Some(Self { url: database.url().to_owned(), postgres: Some(database), directory })
    }

    /// Runs a command on the database, with a variable more.
    fn run_with(&self, args: &[&str], (name, value): (&str, &str)) -> Output {
        launch().env("SVC_STORAGE__URL", &self.url).env(name, value).args(args).run_to_end().unwrap()
    }

    fn run(&self, args: &[&str]) -> Output {
        self.run_with(args, ("SVC_ENVIRONMENT", "development"))
    }

    fn start(&self) -> ServerProcess {
        launch().env("SVC_STORAGE__URL", &self.url).start().unwrap()
    }

    /// Runs SQL that both kinds of database understand.
    fn execute(&self, sql: &str) {
        if let Some(database) = &self.postgres {
            database.rows(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            return;
        }
        use diesel::connection::SimpleConnection as _;
        let file = self.url.strip_prefix("sqlite:").unwrap();
        open_database(Path::new(file)).batch_execute(sql).unwrap();
    }

    /// Returns the files of the directory of the database.
    fn files(&self) -> usize {
        std::fs::read_dir(self.directory.path()).unwrap().count()
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Makes each case a test of each kind of database.
macro_rules! on_both {
    ($($case:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $case() { super::$case(&crate::commands::Database::sqlite()); })*
        }
        mod postgres {
            $(#[test] fn $case() {
                if let Some(database) = crate::commands::Database::postgres() { super::$case(&database); }
            })*
        }
    };
}
use on_both;
