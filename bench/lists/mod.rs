//! Lists with a million rows of each kind, and their groups of errors.

mod rows;
mod words;

use std::io;
use std::time::Duration;

use svc_testkit::http::HttpClient;
use svc_testkit::postgres::{Postgres, PostgresDatabase};

use crate::BenchContext;
use crate::cron::sqlite;
use crate::figures::Figure;
use crate::population::expect;
use crate::process::measure_time;
use rows::Dialect;
use words::{AIMS, Aim, WORDS};

/// Times a page is read.
const READS: usize = 101;
const ADMIN: &str = "/api/v1/admin";

/// Measures the lists on each available backend.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let postgres = Postgres::own();
    for backend in std::iter::once(None).chain(postgres.as_ref().map(Some)) {
        let database = match backend {
            Some(server) => Some(server.database().map_err(io::Error::other)?),
            None => None,
        };
        let launch = setting.launch()?;
        let launch = match &database {
            Some(database) => launch.env("SVC_STORAGE__URL", database.url()),
            None => launch,
        };
        let server = launch.start()?;
        let mut client = server.client().keep_alive();
        if client.get(&format!("{ADMIN}/errors"))?.status == 404 {
            println!("Lists: this release has no such filters");
            return Ok(());
        }
        let ((), filled) = measure_time(|| match &database {
            Some(database) => fill_postgres(database),
            None => sqlite(&server.directory().join("svc.db"), &rows::all(Dialect::Sqlite).join(";\n")),
        })?;
        let name = if database.is_some() { "PostgreSQL" } else { "SQLite" };
        println!("Lists with {} rows of each kind, {name}, written in {filled:.0?}", rows::ROWS);
        read_all(setting, &mut client, name)?;
    }
    Ok(())
}

fn fill_postgres(database: &PostgresDatabase) -> io::Result<()> {
    for statement in rows::all(Dialect::Postgres) {
        drop(database.rows(&statement).map_err(io::Error::other)?);
    }
    Ok(())
}

/// Reads each list, and notes the slowest of each aim.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
fn read_all(setting: &BenchContext, client: &mut HttpClient, backend: &str) -> io::Result<()> {
    let mut slowest: Vec<(&'static Aim, f64)> = AIMS.iter().map(|aim| (*aim, 0.0)).collect();
    for word in WORDS {
        let mut times: Vec<Duration> = Vec::with_capacity(READS);
        for _ in 0..READS {
            let path = format!("{ADMIN}{}", word.path);
            times.push(measure_time(|| expect(client.get(&path)?, 200).map(drop))?.1);
        }
        times.sort_unstable();
        let at = |share: usize| times.get(READS * share / 100).map_or(0.0, |time| time.as_secs_f64() * 1e3);
        let (p50, p99) = (at(50), at(99));
        let mark = if p99 < word.aim.most_ms { "" } else { "  MISSED" };
        println!("  {:<44} p50 {p50:>8.2} ms  p99 {p99:>8.2} ms  aim {:>8}{mark}", word.title, word.aim.text);
        for (aim, most) in &mut slowest {
            if aim.work == word.aim.work {
                *most = p99.max(*most);
            }
        }
    }
    setting.note(slowest.into_iter().map(|(aim, most)| {
        Figure::new(format!("{}, slowest p99, {backend}", aim.work), aim.text, format!("{most:.1} ms"))
    }));
    Ok(())
}
