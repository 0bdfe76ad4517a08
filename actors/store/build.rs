//! Computes the checksums of the embedded migrations, and rebuilds the crate when one changes.

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
        writeln!(source, "const {}: &[(&str, &str)] = &{checksums:?};", backend.to_uppercase())?;
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("checksums.rs"), source)?;
    Ok(())
}

/// Returns the names of the migrations in a directory with their checksums, in order.
fn checksums(directory: &Path) -> Result<Vec<(String, String)>, Box<dyn Error>> {
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
        checksums.push((migration.file_name().to_string_lossy().into_owned(), checksum));
    }
    checksums.sort();
    Ok(checksums)
}
