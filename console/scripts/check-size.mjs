// Compares the sizes of the built console with their bounds, as brotli.

import { readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { outputs } = JSON.parse(readFileSync(join(root, "node_modules", ".cache", "console-build.json"), "utf8"));

const KIB = 1024;
const BOUND_WITHOUT_EDITOR = 120 * KIB;
const BOUND_WITH_EDITOR = 250 * KIB;
/** Files that are loaded with the editor alone: the editor itself, and the view that edits. */
const EDITOR = /node_modules\/(@codemirror|@lezer|style-mod|crelt|w3c-keyname)\/|src\/views\/editor\/index\.tsx/;

let [editor, rest] = [0, 0];
for (const [name, output] of Object.entries(outputs)) {
  const bytes = statSync(join(root, `${name}.br`)).size;
  if (Object.keys(output.inputs).some((input) => EDITOR.test(input))) editor += bytes;
  else rest += bytes;
  if (process.argv.includes("--list")) console.log(`${(bytes / KIB).toFixed(1).padStart(7)} KiB  ${name}`);
}

const shown = (bytes) => `${(bytes / KIB).toFixed(1)} KiB`;
console.log(`without the editor ${shown(rest)} of ${shown(BOUND_WITHOUT_EDITOR)}`);
console.log(`with the editor    ${shown(rest + editor)} of ${shown(BOUND_WITH_EDITOR)}`);
if (rest > BOUND_WITHOUT_EDITOR || rest + editor > BOUND_WITH_EDITOR) {
  console.error("The console is larger than its bound. `node scripts/check-size.mjs --list` names the parts.");
  process.exit(1);
}
