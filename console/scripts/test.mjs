// Bundles the tests of pure logic and runs them with the test runner of Node.

import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, "node_modules", ".cache", "console-tests");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const tests = readdirSync(join(root, "tests")).filter((name) => name.endsWith(".test.ts")).sort();
await build({
  absWorkingDir: root,
  entryPoints: tests.map((name) => `tests/${name}`),
  outdir: folder,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  sourcemap: "inline",
  logLevel: "warning",
});
const files = tests.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")));
const run = spawnSync(process.execPath, ["--test", "--enable-source-maps", ...files], { stdio: "inherit" });
process.exit(run.status ?? 1);
