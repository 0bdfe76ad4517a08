//! Plugins for tests, attacks and measurements: components written as texts, and guests that are built from sources.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::http::HttpClient;
use crate::server::wait_until;

/// Builds a guest, or finds it in the user's cache.
const GUESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/guests");
const PLUGINS: &str = "/api/v1/admin/plugins";
/// Time in which a component is compiled: an engine of JavaScript takes half a minute of a busy machine.
const COMPILE_LIMIT: Duration = Duration::from_secs(300);

/// Makes a component of the world `svc:plugin@1.0.0` whose function has this body, in the text format of WebAssembly.
///
/// The body has the locals `$name`, `$name_length`, `$input` and `$input_length`, and returns the address of a result;
/// 16 is free for one, and the text `NO_RATE` is at 64. It may call itself as `$self`. The global `$called` is 0 in a new
/// instance.
///
/// # Errors
/// The text is not WebAssembly.
pub fn assemble_component(body: &str) -> io::Result<Vec<u8>> {
    const TYPES: &str = r#"(param "function" string) (param "input" string)"#;
    let text = format!(
        r#"(component
        (core module $m
            (memory (export "memory") 1)
            (data (i32.const 64) "NO_RATE")
            (global $called (mut i32) (i32.const 0))
            (global $next (mut i32) (i32.const 4096))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
                (global.set $next (i32.add (local.get $at) (local.get 3)))
                (block $done (loop $grow
                    (br_if $done (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
                    (drop (memory.grow (i32.const 16)))
                    (br $grow)))
                (local.get $at))
            (func $self (export "invoke") (param $name i32) (param $name_length i32)
                (param $input i32) (param $input_length i32) (result i32) {body}))
        (core instance $i (instantiate $m))
        (type $class (enum "input" "internal"))
        (type $error (record (field "code" string) (field "class" $class) (field "message" string)))
        (func $invoke {TYPES} (result (result string (error $error)))
            (canon lift (core func $i "invoke")
                (memory (core memory $i "memory")) (realloc (core func $i "cabi_realloc"))))
        (component $shim
            (type $c (enum "input" "internal"))
            (import "class" (type $c1 (eq $c)))
            (type $e (record (field "code" string) (field "class" $c1) (field "message" string)))
            (import "failure" (type $e1 (eq $e)))
            (import "call" (func $f {TYPES} (result (result string (error $e1)))))
            (export $c2 "error-class" (type $c))
            (type $e2 (record (field "code" string) (field "class" $c2) (field "message" string)))
            (export $e3 "error" (type $e2))
            (export "invoke" (func $f) (func {TYPES} (result (result string (error $e3))))))
        (instance $functions (instantiate $shim
            (with "call" (func $invoke)) (with "class" (type $class)) (with "failure" (type $error))))
        (export "svc:plugin/functions@1.0.0" (instance $functions)))"#
    );
    wat::parse_str(text).map_err(io::Error::other)
}

/// Returns the component of a guest in `javascript`, `python` or `compiled` (C), each with the function `slug`. It is
/// built if it is not in the user's cache.
///
/// # Errors
/// The line that says what is missing.
pub fn build_guest(server: &Path, language: &str) -> io::Result<Vec<u8>> {
    let output = Command::new(GUESTS).arg(server).arg(language).output()?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(
            reason.lines().last().unwrap_or("the guest cannot be built").to_owned(),
        ));
    }
    let folder = String::from_utf8_lossy(&output.stdout);
    fs::read(Path::new(folder.trim()).join("plugin.wasm"))
}

/// Returns the manifest of a plugin with one function, which takes a text.
pub fn describe_plugin(name: &str, function: &str, limits: &Value) -> Value {
    json!({
        "abi": "svc:plugin@1.0.0", "name": name, "version": "1.0.0", "limits": limits,
        "functions": [{"name": function, "description": "Takes a text", "input_fields": [
            {"name": "text", "kind": "string", "required": true},
        ]}],
    })
}

/// Stores a plugin, activates it and waits until its component is compiled.
///
/// # Errors
/// The server refuses it, or does not compile it in time.
pub fn serve_plugin(client: &mut HttpClient, manifest: &Value, component: &[u8]) -> io::Result<()> {
    let document = json!({"manifest": manifest, "component": STANDARD.encode(component)});
    client.json("POST", PLUGINS, &document)?.expect_status(201)?;
    let path = format!("{PLUGINS}/{}", manifest["name"].as_str().unwrap_or_default());
    client.json("PATCH", &format!("{path}/status"), &json!({"status": "active"}))?.expect_status(200)?;
    let is_ready = wait_until(COMPILE_LIMIT, || {
        let versions = client.get(&path)?.json();
        let plugin = &versions["data"][0];
        match plugin["load"].as_str() {
            Some("failed") => {
                Err(io::Error::other(format!("{path} is not loaded: {}", plugin["load_error"])))
            }
            load => Ok(load == Some("ready")),
        }
    })?;
    if is_ready { Ok(()) } else { Err(io::Error::other(format!("{path} was not compiled in time"))) }
}
