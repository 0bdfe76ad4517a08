// Collects the licences of the packages of which code is bundled.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the folder of the package that a bundled file belongs to, or null for a file of ours. */
function packageOf(input) {
  const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
  return match ? match[1] : null;
}

/** Returns one text with name, version and licence of every bundled package, in the order of their names. */
export function collectLicences(root, inputs) {
  const folders = [...new Set(inputs.map(packageOf).filter(Boolean))].sort();
  const parts = folders.map((folder) => {
    const about = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
    const file = readdirSync(join(root, folder)).find((name) => /^licen[cs]e/i.test(name));
    if (!file) throw new Error(`${about.name} has no licence file`);
    const text = readFileSync(join(root, folder, file), "utf8").trim().replaceAll("\r\n", "\n");
    return `${about.name} ${about.version} (${about.license})\n\n${text}\n`;
  });
  return parts.join(`\n${"-".repeat(78)}\n\n`);
}
