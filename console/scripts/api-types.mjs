// Makes `src/api/schema.d.ts` from the OpenAPI document that a server binary prints.
//
//   node scripts/api-types.mjs ../target/debug/svc-server [--check]
//
// With `--check` nothing is written; the exit status is 1 if the file differs.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = join(root, "src", "api", "schema.d.ts");
const options = process.argv.slice(2);
const server = options.find((option) => !option.startsWith("--")) ?? join(root, "..", "target", "debug", "svc-server");

const printed = execFileSync(server, ["dump-openapi"], { encoding: "utf8", maxBuffer: 64 << 20 });
const nodes = await openapiTS(JSON.parse(printed), { alphabetize: true });
const text = `// Made by \`npm run api-types\` from the OpenAPI document of the server. Do not edit.\n\n${astToString(nodes)}`;

if (options.includes("--check")) {
  if (readFileSync(target, "utf8") !== text) {
    console.error("src/api/schema.d.ts lags behind the API: run `npm run api-types`.");
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
