import assert from "node:assert/strict";
import { test } from "node:test";
import type { Health, Plugin } from "../src/api/types.ts";
import { pluginHash, pluginText } from "../src/core/definitions/documents.ts";
import { findReferences, touchedBy } from "../src/core/definitions/references.ts";
import { placeOf } from "../src/views/audit/entry.ts";
import { findConcerns } from "../src/views/now/attention.ts";
import { compareEntry, hereOfPlugin, listEntries } from "../src/views/packages/inventory.ts";
import { fits, functionsOf, gatherPlugins, rowOf } from "../src/views/plugins/rows.ts";

const VAT = { name: "vat", description: "Adds the tax", input_fields: [{ name: "net", kind: "number", required: true }, { name: "rate", kind: "number" }] };
const plugin = (plugin_id: string, version: number, status: string, more: object = {}) =>
  ({ plugin_id, version, status, digest: `sha256:${version}`, signed: false, manifest: { functions: [VAT] }, created_at: "2026-01-01T00:00:00Z", updated_at: `2026-01-0${version}T00:00:00Z`, ...more }) as Plugin;

test("versions are gathered by plugin, the failed one first", () => {
  const rows = gatherPlugins([
    plugin("ok", 1, "active", { load: "ready" }), plugin("tax", 1, "archived"), plugin("tax", 3, "draft"), plugin("tax", 2, "active", { load: "failed" }), plugin("new", 1, "draft"),
    plugin("slow", 1, "active", { load: "compiling" }),
  ]);
  assert.deepEqual(rows.map((row) => [row.id, row.state, row.serving?.version, row.latest.version]), [
    ["tax", "failed", 2, 3], ["slow", "compiling", 1, 1], ["new", "draft", undefined, 1], ["ok", "ready", 1, 1],
  ]);
  assert.equal(rowOf([]), null);
});

test("functions have the names by which workflows call", () => {
  const found = functionsOf(plugin("tax", 1, "draft"));
  assert.deepEqual(found, [{ name: "tax.vat", description: "Adds the tax", inputs: "net: number, rate?: number" }]);
  assert.deepEqual(functionsOf(plugin("tax", 1, "draft", { manifest: { functions: [null, 1] } })), []);
  const [row] = gatherPlugins([plugin("tax", 1, "draft")]);
  assert.ok(row && fits(row, "TAX") && fits(row, "vat") && !fits(row, "crm"));
});

test("text of a version has manifest, digest and signature", () => {
  const [one, two] = [plugin("tax", 1, "archived"), plugin("tax", 2, "active")];
  assert.deepEqual(JSON.parse(pluginText(one)), { manifest: one.manifest, component: "sha256:1", signed: false });
  assert.notEqual(pluginHash(one), pluginHash(two));
  assert.ok(!pluginText(plugin("tax", 1, "draft", { manifest: { x: "\u202e" } })).includes("\u202e"));
});

test("workflows that call a plugin are found", () => {
  const workflow = (workflow_id: string, name: string) => ({ workflow_id, name: workflow_id, tasks: [{ id: "t", function: { name } }] });
  const all = findReferences([{ channel_id: "c", name: "c", workflow_id: "uses", config: {} }], [workflow("uses", "tax.vat"), workflow("other", "map")]);
  assert.deepEqual(touchedBy(all, "plugin tax", 50).nodes.map((node) => `${node.kind} ${node.id}`).sort(), ["channel c", "plugin tax", "workflow uses"]);
});

test("plugins of a package are compared by their versions", () => {
  const receipt = (day: number, plugins?: string[]) =>
    ({ updated_at: `2026-01-0${day}T00:00:00Z`, inventory: { channels: [], workflows: [], connectors: [], ...(plugins && { plugins }) } }) as unknown as Parameters<typeof compareEntry>[2];
  const [without, before, after] = [receipt(1), receipt(2, ["tax"]), receipt(3, ["tax"])];
  assert.deepEqual(listEntries(without), []);
  assert.deepEqual(listEntries(before), [{ kind: "plugins", id: "tax" }]);
  const versions = [plugin("tax", 2, "active", { created_at: "2026-01-03T00:00:00Z" }), plugin("tax", 1, "archived")].map((version) => ({ ...version, content_hash: pluginHash(version) }));
  const [entry] = listEntries(before);
  assert.ok(entry);
  assert.equal(compareEntry(entry, versions, without, before).difference, "added");
  assert.equal(compareEntry(entry, versions, before, after).difference, "changed");
  assert.deepEqual(hereOfPlugin(versions), { updatedAt: "2026-01-02T00:00:00Z", serves: 2 });
});

test("failed plugin needs attention and leads to its view", () => {
  const health = { components: { engine_reload: "ok" }, plugins: { ready: [], compiling: [], failed: [{ plugin_id: "tax", reason: "no export" }] } } as unknown as Health;
  const [concern] = findConcerns(health, [], null);
  assert.deepEqual([concern?.state, concern?.name, concern?.path], ["failed", "tax", "/plugins/tax"]);
  assert.equal(placeOf({ resource_type: "plugin", resource_id: "tax" })?.path, "/plugins/tax");
});
