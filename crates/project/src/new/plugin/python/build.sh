#!/bin/sh
# Makes plugin.wasm of component.py and what it imports. With stubs for WASI the component imports nothing, as a plugin
# must.
set -eu
cd "$(dirname "$0")"
componentize-py -d wit -w plugin componentize --stub-wasi component -o plugin.wasm
