#!/bin/sh
# Makes plugin.wasm. The target has no operating system, so that the component imports nothing, as a plugin must.
set -eu
cd "$(dirname "$0")"
cargo build --release --target wasm32-unknown-unknown
wasm-tools component new target/wasm32-unknown-unknown/release/PLUGIN_NAME.wasm -o plugin.wasm
