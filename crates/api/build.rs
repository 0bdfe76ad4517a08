//! Unpacks the files of the documentation page from the archive that a crate carries: nothing is downloaded. A build
//! without the feature `docs` has no page.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    writeln!(io::stdout(), "cargo:rerun-if-changed=build.rs")?;
    #[cfg(feature = "docs")]
    page::unpack()?;
    Ok(())
}

#[cfg(feature = "docs")]
mod page {
    use std::fs::File;
    use std::io::{self, Cursor};
    use std::path::PathBuf;

    use zip::ZipArchive;

    /// The files that the page loads.
    const FILES: [&str; 3] = ["favicon-32x32.png", "swagger-ui-bundle.js", "swagger-ui.css"];

    pub(crate) fn unpack() -> io::Result<()> {
        let directory = out_directory()?;
        let mut archive = ZipArchive::new(Cursor::new(utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED))?;
        for name in FILES {
            let path = find_path(&archive, name)?;
            io::copy(&mut archive.by_name(&path)?, &mut File::create(directory.join(name))?)?;
        }
        Ok(())
    }

    /// Returns the path of a file of the distribution, which lies below a folder named by its version.
    fn find_path(archive: &ZipArchive<Cursor<&[u8]>>, name: &str) -> io::Result<String> {
        for path in archive.file_names() {
            let path = path?;
            if path.split('/').skip(1).eq(["dist", name]) {
                return Ok(path.into_owned());
            }
        }
        Err(io::Error::other(format!("the archive has no {name}")))
    }

    fn out_directory() -> io::Result<PathBuf> {
        std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| io::Error::other("OUT_DIR is not set"))
    }
}
