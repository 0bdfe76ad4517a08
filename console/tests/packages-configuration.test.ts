import assert from "node:assert/strict";
import { test } from "node:test";
import type { EffectiveSetting } from "../src/api/node-types.ts";
import type { PackageReceipt } from "../src/api/types.ts";
import { findOperations, listOperations } from "../src/views/api/operations.ts";
import { findSettings, showValue } from "../src/views/configuration/settings.ts";
import { compareEntry, listEntries, listPackages, stateOf, versionAt } from "../src/views/packages/inventory.ts";

const receipt = (name: string, version: string, state: string, updated_at: string) => ({ name, version, state, updated_at }) as PackageReceipt;

test("packages have their newest applied version", () => {
  const rows = listPackages([
    receipt("b", "2", "staged", "2026-03"), receipt("b", "1", "applied", "2026-02"), receipt("a", "2", "applied", "2026-02"), receipt("a", "1", "staged", "2026-01"),
  ]);
  assert.deepEqual(rows.map((row) => [row.name, row.applied?.version, row.staged?.version, row.versions]), [["a", "2", undefined, 2], ["b", "1", "2", 2]]);
});

test("entries of a package are compared with what is here", () => {
  const entries = listEntries({ inventory: { channels: ["b", "a"], workflows: [], connectors: ["c"], plugins: [] } });
  assert.deepEqual(entries.map((entry) => `${entry.kind} ${entry.id}`), ["channels a", "channels b", "connectors c"]);
  assert.deepEqual(listEntries(null), []);
  const applied = { updated_at: "2026-01-02T00:00:00Z" };
  assert.equal(stateOf(null, applied), "missing");
  assert.equal(stateOf(undefined, applied), "unknown");
  assert.equal(stateOf({ updatedAt: "2026-01-01T00:00:00Z" }, applied), "same");
  assert.equal(stateOf({ updatedAt: "2026-01-03T00:00:00Z" }, applied), "changed");
});

test("settings are found by key, variable and value", () => {
  const settings = [
    { key: "server.port", value: 8080, source: "default", variable: "SVC_SERVER__PORT" },
    { key: "storage.url", value: "postgres://***", source: "environment", variable: null },
  ] as EffectiveSetting[];
  const keys = (search: string, source: string) => findSettings(settings, search, source).map((row) => row.key);
  assert.deepEqual(keys("svc_server", ""), ["server.port"]);
  assert.deepEqual(keys("POSTGRES", ""), ["storage.url"]);
  assert.deepEqual(keys("", "set"), ["storage.url"]);
  assert.deepEqual(keys("", "default"), ["server.port"]);
  assert.deepEqual([showValue(null), showValue([1]), showValue("a")], [null, "[1]", "a"]);
});

test("endpoints of a document are listed", () => {
  const document = { paths: { "/a": { get: { summary: "Lists a", tags: ["x"] }, parameters: [] }, "/b": { post: { deprecated: true } }, "/c": null } };
  const operations = listOperations(document);
  assert.deepEqual(operations.map((row) => `${row.method} ${row.path}`), ["GET /a", "POST /b"]);
  assert.deepEqual(findOperations(operations, "get lists").map((row) => row.path), ["/a"]);
  for (const none of [null, undefined, 3, {}]) assert.deepEqual(listOperations(none), []);
});

test("contents of two packages are the versions that each left", () => {
  const version = (number: number, day: number, hash: string, status = "archived") => ({ version: number, status, created_at: `2026-01-0${day}T00:00:00Z`, content_hash: hash });
  const versions = [version(4, 6, "d", "draft"), version(3, 5, "c", "active"), version(2, 3, "b"), version(1, 1, "a")];
  assert.equal(versionAt(versions, "2026-01-04T00:00:00Z")?.version, 2);
  assert.equal(versionAt(versions, "2026-01-09T00:00:00Z")?.version, 3);
  const applied = (day: number, workflows: string[]) => ({ updated_at: `2026-01-0${day}T00:00:00Z`, inventory: { channels: [], plugins: [], connectors: ["c"], workflows } });
  const entry = { kind: "workflows" as const, id: "w" };
  const [first, second, third] = [applied(2, ["w"]), applied(4, ["w"]), applied(7, [])];
  assert.deepEqual([compareEntry(entry, versions, first, second).old?.version, compareEntry(entry, versions, first, second).fresh?.version], [1, 2]);
  assert.equal(compareEntry(entry, versions, first, second).difference, "changed");
  assert.equal(compareEntry(entry, versions, first, first).difference, "same");
  assert.equal(compareEntry(entry, versions, first, third).difference, "removed");
  assert.equal(compareEntry(entry, versions, third, second).difference, "added");
  assert.equal(compareEntry({ kind: "connectors", id: "c" }, null, first, second).difference, "unknown");
});
