//! Loads a directory of definitions through the admin API: `workflows/*.json`, then `channels/*.json`, each
//! created and activated.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::http::HttpClient;

/// Creates and activates everything below `directory`, in name order.
///
/// # Errors
/// A file cannot be read, or the server refuses it: the message names the file and carries the response.
pub fn load(client: &mut HttpClient, directory: &Path) -> io::Result<()> {
    for (kind, id) in [("workflows", "workflow_id"), ("channels", "channel_id")] {
        let folder = directory.join(kind);
        if !folder.is_dir() {
            continue;
        }
        let mut files: Vec<_> = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        files.sort_by_key(fs::DirEntry::file_name);
        for file in files {
            let document: Value = serde_json::from_slice(&fs::read(file.path())?)
                .map_err(|error| io::Error::other(format!("{}: {error}", file.path().display())))?;
            create_and_activate(client, kind, id, &document)
                .map_err(|error| io::Error::other(format!("{}: {error}", file.path().display())))?;
        }
    }
    Ok(())
}

/// Creates one definition and activates it; returns its id.
///
/// # Errors
/// The server refuses one of the two steps.
pub fn create_and_activate(
    client: &mut HttpClient,
    kind: &str,
    id_key: &str,
    document: &Value,
) -> io::Result<String> {
    let created = client.json("POST", &format!("/api/v1/admin/{kind}"), document)?;
    if created.status != 201 {
        return Err(io::Error::other(format!("create answered {}: {}", created.status, created.text())));
    }
    let id = created.json()["data"][id_key].as_str().unwrap_or_default().to_owned();
    let path = format!("/api/v1/admin/{kind}/{id}/status");
    let active = client.json("PATCH", &path, &json!({"status": "active"}))?;
    if active.status != 200 {
        return Err(io::Error::other(format!("activate answered {}: {}", active.status, active.text())));
    }
    Ok(id)
}
