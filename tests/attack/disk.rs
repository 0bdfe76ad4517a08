//! A disk that fills up under the database.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use svc_testkit::server::{ServerProcess, wait_until};

use crate::Attack;
use crate::target::{AttackTarget, serve_echo};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "disk",
        text: "on a full disk /readyz and /health say so, and no more once there is room",
        before: "200 and ok while every write is refused",
    },
    attack,
);

/// A file system of a few megabytes; gone when dropped.
struct SmallDisk {
    directory: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts it; `None` if this user may not.
    fn mount() -> io::Result<Option<Self>> {
        let directory = tempfile::tempdir()?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=16m", "tmpfs"])
            .arg(directory.path())
            .output()
            .is_ok_and(|output| output.status.success());
        Ok(mounted.then_some(Self { directory }))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Takes all the room that is left.
    fn fill(&self) -> io::Result<()> {
        let mut file = File::create(self.file("filler"))?;
        for size in [1 << 16, 1 << 10, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
        Ok(())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(self.directory.path()).status();
        drop(unmounted);
    }
}

fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let Some(disk) = SmallDisk::mount()? else {
        return Ok(AttackOutcome::not_run("this user may not mount a small disk"));
    };
    let url = format!("sqlite:{}", disk.file("svc.db").display());
    let server = target.launch()?.env("SVC_STORAGE__URL", &url).start()?;
    serve_echo(&mut server.client(), "echo", &json!({}))?;
    disk.fill()?;
    let mut refused = 0;
    let is_reported = wait_until(Duration::from_secs(20), || {
        refused += usize::from(write(&server)? == 503);
        Ok(state(&server)? == (503, "degraded".to_owned()))
    })?;
    fs::remove_file(disk.file("filler"))?;
    let recovered = wait_until(Duration::from_secs(30), || {
        Ok(state(&server)? == (200, "ok".to_owned()) && write(&server)? == 202)
    })?;
    let figure = format!("{refused} writes refused; told: {is_reported}; recovered by itself: {recovered}");
    Ok(AttackOutcome::new(is_reported && recovered && refused > 0, figure))
}

fn write(server: &ServerProcess) -> io::Result<u16> {
    let pad = "x".repeat(100_000);
    Ok(server.client().json("POST", "/api/v1/data/echo/async", &json!({"pad": pad}))?.status)
}

fn state(server: &ServerProcess) -> io::Result<(u16, String)> {
    let ready = server.client().get("/readyz")?.status;
    let health = server.client().get("/health")?.json();
    Ok((ready, health["status"].as_str().unwrap_or_default().to_owned()))
}
