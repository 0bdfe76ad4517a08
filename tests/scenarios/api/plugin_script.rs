//! The requests of the transcript about plugins.

use super::KEY;
use super::recorder::{Recorder, Shown};

const PLUGINS: &str = "/api/v1/admin/plugins";

/// Sends the requests of plugins.
pub(super) fn plugins(recorder: &mut Recorder) {
    let base = PLUGINS;
    // The header of a component alone: it is stored, and fails to load.
    let tax = r#"{"manifest": {"abi": "svc:plugin@1.0.0", "name": "tax", "version": "1.0.0", "functions": [
        {"name": "vat", "description": "Adds the value-added tax"}]}, "component": "AGFzbQ0AAQA="}"#;
    recorder.send("POST", &format!("{base}?dry_run=true"), tax);
    recorder.send("POST", base, tax);
    recorder.send("POST", base, tax);
    recorder.send("POST", base, r#"{"manifest": {"name": "Tax"}, "component": ""}"#);
    recorder.send("PUT", &format!("{base}/tax"), tax);
    recorder.send("GET", &format!("{base}?limit=5"), "");
    recorder.send("GET", &format!("{base}/tax"), "");
    recorder.send("GET", &format!("{base}/export?id=tax"), "");
    recorder.read(&format!("{base}/tax/impact"), Shown::Head);
    let batch = format!("[{tax}, {}, 1]", tax.replace("\"tax\"", "\"rates\""));
    recorder.send("POST", &format!("{base}/import?on_conflict=new_version&dry_run=true"), &batch);
    recorder.send("POST", &format!("{base}/import?on_conflict=new_version"), &batch);
    recorder.send("DELETE", &format!("{base}/rates"), "");
    recorder.send("PATCH", &format!("{base}/tax/status"), r#"{"status": "archived"}"#);
    recorder.send("PATCH", &format!("{base}/tax/status?dry_run=true"), r#"{"status": "active"}"#);
    // The body has the state of the compilation, which goes on meanwhile.
    let admin = [("x-api-key", KEY)];
    recorder.send_as("PATCH", &format!("{base}/tax/status"), r#"{"status": "active"}"#, &admin, Shown::Head);
    recorder.send("DELETE", &format!("{base}/tax"), "");
    recorder.send("PATCH", &format!("{base}/tax/status"), r#"{"status": "archived"}"#);
    recorder.send("DELETE", &format!("{base}/tax"), "");
    recorder.send("GET", &format!("{base}/tax"), "");
}
