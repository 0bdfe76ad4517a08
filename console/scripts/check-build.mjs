// Builds the console twice, and compares every byte.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

function buildAndDigest() {
  execFileSync(process.execPath, [join(root, "scripts", "build.mjs")], { stdio: "inherit" });
  const dist = join(root, "dist");
  const files = readdirSync(dist, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath ?? entry.path, entry.name)).sort();
  return paths.map((path) => `${path.slice(dist.length)} ${createHash("sha256").update(readFileSync(path)).digest("hex")}`).join("\n");
}

const [first, second] = [buildAndDigest(), buildAndDigest()];
if (first !== second) {
  console.error("Two builds of the console differ:");
  const known = new Set(first.split("\n"));
  for (const line of second.split("\n")) if (!known.has(line)) console.error(`  ${line}`);
  process.exit(1);
}
