import assert from "node:assert/strict";
import { test } from "node:test";
import { diffTexts, foldSame, stableJson } from "../src/core/diff.ts";
import { cliOptions, filterParameters, readChips, readTyped, toggleValue } from "../src/core/filters.ts";
import { formatBytes, formatCompact, formatRate, formatShare, isRunId, shellQuote } from "../src/core/format.ts";
import { fuzzyFind, scoreText } from "../src/core/fuzzy.ts";
import { nameKey } from "../src/core/keys.ts";
import { addPoint, addToMinutes } from "../src/core/live-store.ts";
import { fillPath, matchPath } from "../src/core/router.ts";
import { EventParser } from "../src/core/sse.ts";
import { formatDistance, formatDuration, formatInstant, formatShort } from "../src/core/time.ts";
import { addressOf } from "../src/api/client.ts";

test("path matches its pattern and gives its parameters", () => {
  assert.deepEqual(matchPath("/runs/:id", "/runs/a%2Fb"), { id: "a/b" });
  assert.deepEqual(matchPath("/", "/"), {});
  assert.equal(matchPath("/runs/:id", "/runs"), null);
  assert.equal(matchPath("/runs/:id", "/runs/%E0%A4%A"), null);
  assert.equal(fillPath("/runs/:id", { id: "a/b" }), "/runs/a%2Fb");
});

test("events are complete whatever the pieces", () => {
  const text = ": hello\nid: 7\nevent: changes\ndata: {\"a\":\ndata: 1}\n\r\nid: 8\r\ndata: x\r\n\r\n: beat\n\n";
  for (let size = 1; size < text.length; size++) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
    assert.deepEqual(events, [
      { id: "7", type: "changes", data: '{"a":\n1}' },
      { id: "8", type: "message", data: "x" },
    ]);
  }
});

test("durations and distances have the units that matter", () => {
  const shown = [0, 0.25, 3.456, 42, 1234, 65_000, 3_600_000, 90_061_000].map(formatDuration);
  assert.deepEqual(shown, ["0 ms", "250 µs", "3.5 ms", "42 ms", "1.23 s", "1 min 5 s", "1 h", "1 d 1 h"]);
  assert.equal(formatDuration(null), "–");
  assert.equal(formatDistance(0, 1500), "now");
  assert.equal(formatDistance(0, 3 * 3_600_000), "3 h");
});

test("instants of today are shown without their day", () => {
  const present = Date.parse("2026-11-29T16:00:00Z");
  assert.equal(formatInstant(present, true), "2026-11-29 16:00:00");
  assert.equal(formatShort(present - 1000, present, true), "15:59:59");
  assert.equal(formatShort(present - 86_400_000, present, true), "11-28 16:00");
  assert.equal(formatShort(present - 400 * 86_400_000, present, true), "2025-10-25 16:00");
});

test("numbers are short", () => {
  assert.deepEqual([999, 1000, 1234, 45_678, 2_500_000].map(formatCompact), ["999", "1k", "1.2k", "46k", "2.5M"]);
  assert.equal(formatRate(0.04), "0.04/s");
  assert.equal(formatShare(0.0004), "< 0.1 %");
  assert.equal(formatBytes(3.25 * 1024 * 1024), "3.3 MiB");
});

test("shell arguments are quoted if they have to be", () => {
  assert.equal(shellQuote("error_group=3f"), "error_group=3f");
  assert.equal(shellQuote("it's"), `'it'\\''s'`);
  assert.ok(isRunId("0190a1b2-0000-7000-8000-000000000000"));
});

test("fuzzy search puts the better match first", () => {
  const names = ["orders-archive", "nightly-orders", "card-offers"];
  assert.deepEqual(fuzzyFind(names, "orders", (name) => name).map((match) => match.item), ["orders-archive", "nightly-orders"]);
  assert.equal(scoreText("orders", "xyz"), null);
  assert.deepEqual(scoreText("run now", "rn")?.places, [0, 2]);
});

test("typed text is a word or its value", () => {
  const words = [{ name: "status", hint: "", values: ["failed"] }];
  assert.equal(readTyped("status:fai", words).word?.name, "status");
  assert.equal(readTyped("status:fai", words).text, "fai");
  assert.equal(readTyped("nothing:x", words).word, null);
});

test("chips are the words of the address", () => {
  const words = [{ name: "status", hint: "" }, { name: "channel", hint: "" }];
  const query = new URLSearchParams("channel=a,b&status=failed&range=1h");
  assert.deepEqual(readChips(query, words), [{ word: "status", values: ["failed"] }, { word: "channel", values: ["a", "b"] }]);
  assert.deepEqual(filterParameters(query, words), { status: "failed", channel: "a,b" });
  assert.equal(toggleValue("a,b", "a", true), "b");
  assert.equal(toggleValue("a", "b", false), "b");
  assert.equal(cliOptions({ error_group: "3f", since: "-1h" }), "--error-group=3f --since=-1h");
  assert.equal(cliOptions({ channel: "a b; it's" }), "--channel='a b; it'\\''s'");
});

test("comparison shows what was removed and added", () => {
  const lines = diffTexts(stableJson({ a: 1, b: [1, 2], c: 0 }), stableJson({ c: 0, a: 2, b: [1, 2, 3] }));
  const changed = lines.filter((line) => line.kind !== "same").map((line) => `${line.kind} ${line.text.trim()}`);
  assert.deepEqual(changed, ['removed "a": 1,', 'added "a": 2,', "removed 2", "added 2,", "added 3"]);
  const folded = foldSame(diffTexts("1\n2\n3\n4\n5\n6\n7\n8\n9", "1\n2\n3\n4\n5\n6\n7\n8\nX"), 1);
  assert.deepEqual(folded.map((line) => line.kind), ["gap", "same", "removed", "added"]);
  assert.equal(folded[0]?.hidden, 7);
});

test("equal values have no difference", () => {
  assert.equal(stableJson({ a: { y: 1, x: 2 } }), stableJson({ a: { x: 2, y: 1 } }));
  assert.ok(diffTexts("a\nb", "a\nb").every((line) => line.kind === "same"));
});

test("keys are named with their modifiers", () => {
  const press = (key: string, more: Partial<KeyboardEvent> = {}) =>
    nameKey({ key, metaKey: false, ctrlKey: false, altKey: false, shiftKey: false, ...more });
  assert.equal(press("j"), "j");
  assert.equal(press("?", { shiftKey: true }), "?");
  assert.equal(press("X", { shiftKey: true }), "Shift+x");
  assert.equal(press("k", { ctrlKey: true }), "Mod+k");
});

test("series are bounded and minutes are means of their seconds", () => {
  const traffic = { requests: 2, errors: 1, refused: 0, p50_ms: null, p99_ms: 4 };
  let seconds = { times: [] as number[], requests: [] as number[], errors: [] as number[], p99_ms: [] as (number | null)[] };
  for (let at = 1; at <= 130; at++) seconds = addPoint(seconds, at, traffic, 120);
  assert.equal(seconds.times.length, 120);
  assert.equal(addPoint(seconds, 130, traffic, 120), seconds);
  const minutes = addToMinutes({ times: [], requests: [], errors: [], p99_ms: [] }, seconds, 130, 10);
  assert.deepEqual(minutes, { times: [120], requests: [2], errors: [1], p99_ms: [4] });
});

test("address of a request has its parameters escaped and lists joined", () => {
  const params = { path: { id: "a/b c" }, query: { status: ["failed", "pending"], q: "x&y", limit: 5, cursor: undefined } };
  assert.equal(addressOf("/api/v1/admin/traces/{id}", params), "http://localhost/api/v1/admin/traces/a%2Fb%20c?status=failed%2Cpending&q=x%26y&limit=5");
  assert.equal(addressOf("/health"), "http://localhost/health");
});
