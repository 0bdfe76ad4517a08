//! Computes the checksums of the embedded migrations, reads what they require, and rebuilds the crate when one changes.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script by the environment where to write")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=../../migrations");
    let mut source = String::new();
    for backend in ["sqlite", "postgres"] {
        let checksums = checksums(&Path::new("../../migrations").join(backend))?;
        let backend = backend.to_uppercase();
        writeln!(source, "const {backend}: &[(&str, &str, Option<&str>)] = &{checksums:?};")?;
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("checksums.rs"), source)?;
    Ok(())
}

/// A migration: its name, its checksum, and the version of the migration that it requires.
type EmbeddedMigration = (String, String, Option<String>);

/// Returns the migrations in a directory, in order.
fn checksums(directory: &Path) -> Result<Vec<EmbeddedMigration>, Box<dyn Error>> {
    let mut checksums = Vec::new();
    for migration in fs::read_dir(directory)? {
        let migration = migration?;
        // Line ends are normalized, so that every checkout has the same checksums.
        let sql = fs::read_to_string(migration.path().join("up.sql"))?.replace("\r\n", "\n");
        let digest = Sha256::digest(sql.as_bytes());
        let mut checksum = String::new();
        for byte in digest {
            write!(checksum, "{byte:02x}")?;
        }
        let name = migration.file_name().to_string_lossy().into_owned();
        checksums.push((name, checksum, required_version(&sql)));
    }
    checksums.sort();
    Ok(checksums)
}

/// Returns the version after `-- contract:`, as the record of applied migrations writes it.
fn required_version(sql: &str) -> Option<String> {
    let version = sql.lines().find_map(|line| line.strip_prefix("-- contract:"))?;
    Some(version.trim().replace('-', ""))
}
