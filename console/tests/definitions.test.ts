import assert from "node:assert/strict";
import { test } from "node:test";
import { meanRates } from "../src/core/channel-rates.ts";
import { changedFixed, documentOf, markOf, parseDocument, placeIssues, textOf, updateOf } from "../src/core/definitions/documents.ts";
import { cursorAt, nodeAt, placeOfField, readPlaces, valueOf } from "../src/core/definitions/places.ts";
import { findReferences, stepsOf, touchedBy } from "../src/core/definitions/references.ts";
import { stubsOf } from "../src/core/definitions/trials.ts";
import { chosenVersions } from "../src/ui/versions.tsx";
import { entryOf, guardsOf, settingsLine, stateOf } from "../src/views/channels/guards.ts";
import { fits } from "../src/views/channels/rows.ts";
import { untilOf } from "../src/views/channels/until.ts";
import { completionsAt, hintAt } from "../src/views/editor/assist.ts";
import { schemasAt, valuesAt } from "../src/views/editor/schema.ts";
import { canaryOf, figuresOf, judge, quantile } from "../src/views/workflows/figures.ts";
import { figuresOfTasks } from "../src/views/workflows/stats.ts";
import { splitAt } from "../src/views/workflows/source.tsx";
import { END, failuresByTask, flatten, graphOf, outcomesByTask, readTasks, START } from "../src/views/workflows/tasks.ts";

const task = (id: string, more: object = {}) => ({ id, name: id, function: { name: "map", input: {} }, ...more });

test("places of a valid text have its values", () => {
  const text = `{"a": [1, {"b": "x\\"y"}], "c": null}`;
  assert.deepEqual(valueOf(readPlaces(text)), JSON.parse(text));
  const node = nodeAt(readPlaces(text), ["a", 1, "b"]);
  assert.equal(text.slice(node?.from, node?.to), `"x\\"y"`);
});

test("places of an unfinished text keep what is there", () => {
  const value = valueOf(readPlaces(`{"a": {"name": "map", "inp`));
  assert.deepEqual(value, { a: { name: "map", inp: undefined } });
  assert.equal(readPlaces("  "), null);
  assert.deepEqual(valueOf(readPlaces(`[1, , 2}`)), [1, 2]);
});

test("places of deep and broken texts end", () => {
  for (const text of ["[".repeat(5000), "{".repeat(5000), `{"a":`.repeat(3000), `]]}}::,,"`, `{"a" "b" 1 :}`]) assert.ok(readPlaces(text) !== undefined);
});

test("cursor in a name lists the names taken", () => {
  const text = `{"a": 1, "b": 2}`;
  const cursor = cursorAt(readPlaces(text), text.indexOf(`"b"`) + 1);
  assert.deepEqual({ isName: cursor?.isName, taken: cursor?.taken, hasValue: cursor?.hasValue }, { isName: true, taken: ["a"], hasValue: true });
});

test("cursor behind a colon is at a value", () => {
  const text = `{"f": {"name": }}`;
  const cursor = cursorAt(readPlaces(text), text.indexOf(": }") + 2);
  assert.deepEqual([cursor?.isName, cursor?.path], [false, ["f", "name"]]);
});

test("field of a finding is found in the text", () => {
  const text = `{"tasks": [{"id": "a", "function": {"name": "nope"}}], "priority": "x"}`;
  const at = (field: string) => {
    const place = placeOfField(readPlaces(text), field, ["workflow", "body"]);
    return text.slice(place?.from, place?.to);
  };
  assert.equal(at("tasks[0].function.name"), `"nope"`);
  assert.equal(at("workflow.tasks[0].function"), `"function"`);
  assert.equal(at("body.priority"), `"x"`);
  assert.equal(at("tasks[0].function.input.url"), `"function"`);
  assert.equal(at("(root)"), "{");
  const name = placeOfField(readPlaces(text), "priority", [], true);
  assert.equal(text.slice(name?.from, name?.to), `"priority"`);
});

test("field with dots in its name is found", () => {
  const text = `{"config": {"a.b": {"c": 1}}}`;
  const place = placeOfField(readPlaces(text), "channel.config.a.b.c", ["channel"]);
  assert.equal(text.slice(place?.from, place?.to), "1");
});

test("document leaves out what the service adds", () => {
  const row = { workflow_id: "w", name: "W", description: null, condition: true, tasks: [], tags: [], priority: 0, continue_on_error: false, version: 3, status: "draft" };
  assert.deepEqual(documentOf("workflow", row), { workflow_id: "w", name: "W", tasks: [] });
});

test("update clears what the document lacks", () => {
  const update = updateOf("workflow", { workflow_id: "w", name: "W", tasks: [] });
  assert.deepEqual(update, { name: "W", tasks: [], description: null, condition: true, continue_on_error: false, loop: null, priority: 0, tags: [] });
});

test("text escapes signs that turn its direction", () => {
  const text = textOf("workflow", { workflow_id: "w", name: "a\u202egnp", tasks: [] });
  assert.ok(text.includes("a\\u202egnp") && !text.includes("\u202e"));
  assert.deepEqual(JSON.parse(text).name, "a\u202egnp");
});

test("changed id is named as fixed", () => {
  assert.deepEqual(changedFixed("channel", { channel_id: "b", protocol: "rest" }, { channel_id: "a", protocol: "rest" }), ["channel_id"]);
});

test("findings are sorted by their places", () => {
  const text = `{\n"name": "",\n"x": 1}`;
  const issues = { errors: [{ field: "workflow.x", message: "unknown" }], warnings: [{ field: "workflow.name", message: "blank" }] };
  const placed = placeIssues(text, readPlaces(text), issues);
  assert.deepEqual(placed.map((issue) => [issue.line, issue.severity]), [[2, "warning"], [3, "error"]]);
  assert.ok(markOf(placed).every((mark) => mark.to > mark.from));
});

test("text that is no object is no document", () => {
  assert.ok("problem" in parseDocument("[]") && "problem" in parseDocument("{") && "document" in parseDocument("{}"));
});

test("dependents are followed upwards and one step down", () => {
  const channel = (id: string, workflow: string, config = {}) => ({ channel_id: id, name: `${id}-name`, workflow_id: workflow, config });
  const call = { id: "t", function: { name: "channel_call", input: { channel: "b-name" } } };
  const all = findReferences(
    [channel("a", "outer", { on_failure: "b-name" }), channel("b", "inner"), channel("c", "other")],
    [
      { workflow_id: "outer", name: "Outer", tasks: [{ id: "g", tasks: [call] }] },
      { workflow_id: "inner", name: "Inner", tasks: [{ id: "q", function: { name: "http_call", input: { connector: "crm" } } }] },
      { workflow_id: "other", name: "Other", tasks: [] },
    ],
  );
  const touched = touchedBy(all, "workflow inner", 50);
  assert.deepEqual(touched.nodes.map((node) => `${node.kind} ${node.id}`).sort(), ["channel a", "channel b", "connector crm", "workflow inner", "workflow outer"]);
  assert.equal(touchedBy(all, "workflow inner", 2).leftOut, 3);
});

test("connector is found by its name, in tasks and in the config of channels", () => {
  const workflow = { workflow_id: "w", name: "w", tasks: [{ id: "q", function: { name: "http_call", input: { connector: "crm" } } }] };
  const channel = { channel_id: "c", name: "c", workflow_id: null, config: { cache: { connector: "store" }, rate_limit: { connector: "gone" }, tags: ["store"] } };
  const all = findReferences([channel], [workflow], [{ id: "1", name: "crm" }, { id: "2", name: "store" }]);
  assert.deepEqual(all.references.map(({ from, to }) => `${from} > ${to}`), ["channel c > connector 2", "channel c > connector gone", "workflow w > connector 1"]);
  assert.deepEqual(touchedBy(all, "connector 2", 50).nodes.map((node) => node.name).sort(), ["c", "store"]);
});

test("circle of calls is followed once", () => {
  const all = findReferences(
    [{ channel_id: "a", name: "a", workflow_id: "w", config: {} }],
    [{ workflow_id: "w", name: "w", tasks: [{ function: { name: "channel_call", input: { channel: "a" } } }] }],
  );
  assert.equal(touchedBy(all, "channel a", 50).nodes.length, 2);
});

test("stubs answer for each named system", () => {
  const call = (name: string, input: object) => ({ function: { name, input } });
  const tasks = [call("http_call", { connector: "crm" }), { tasks: [call("db_read", { connector: "shop" }), call("channel_call", { channel: { var: "x" } })] }];
  assert.deepEqual(stubsOf(tasks), { http_call: { crm: {} }, db_read: { shop: [] }, channel_call: { "*": {} } });
});

test("steps of every list are found", () => {
  const call = (connector: string) => ({ id: connector, function: { name: "http_call", input: { connector } } });
  const group = { id: "g", tasks: [call("a")], on_error: [call("b")], finally: [call("c")] };
  const workflow = { workflow_id: "w", name: "w", loop: { over: [], setup: [call("d")] }, tasks: [group] };
  const used = findReferences([], [workflow]).references.map((reference) => reference.to);
  assert.deepEqual(used.sort(), ["connector a", "connector b", "connector c", "connector d"]);
  assert.deepEqual(stubsOf(stepsOf(workflow)), { http_call: { d: {}, a: {}, b: {}, c: {} } });
  assert.equal(stepsOf({ tasks: [group], loop: null }).length, 1);
});

test("rates are the mean of seconds", () => {
  const second = (requests: number, p99: number | null) => [{ channel: "a", requests, errors: 1, refused: 0, p99_ms: p99 }];
  const rate = meanRates([second(4, 10), [], second(2, null), []]).get("a");
  assert.deepEqual(rate, { requests: 1.5, errors: 0.5, refused: 0, p99_ms: 10 });
});

test("guards are in the order of a request", () => {
  const guards = guardsOf({ backpressure: { max: 1 }, auth: { mode: "hmac" }, validation_logic: true }, undefined);
  assert.deepEqual(guards.map((guard) => guard.name), ["auth", "backpressure"]);
});

test("schema is a guard within the block of the request", () => {
  const guards = guardsOf({ validation_logic: { "==": [1, 1] }, request: { mode: "accept", schema: { type: "object" } } }, undefined);
  assert.deepEqual(guards.map((guard) => [guard.name, guard.settings]), [["request.schema", "type object"], ["validation_logic", "== [2]"]]);
  assert.deepEqual(guardsOf({ request: { mode: "accept" } }, undefined), []);
});

test("refusals outside of guards are shown last", () => {
  const refusal = (guard: string, count: number) => ({ guard, status: 401, reason: `r${count}`, explanation: "", count, last_seen: "" });
  const stats = { channel: "a", node: "n", served: true, version: 1, quarantined: null, guards: ["auth"], free_permits: null, since: null, refusals: [refusal("body", 1), refusal("auth", 2), refusal("auth", 5)] };
  const guards = guardsOf({ auth: {} }, stats);
  assert.deepEqual(guards.map((guard) => [guard.name, guard.refused, guard.isSet]), [["auth", 7, true], ["body", 1, false]]);
  assert.equal(guards[0]?.reasons[0]?.count, 5);
});

test("settings of a guard fit a line", () => {
  assert.equal(settingsLine({ mode: "api_key", keys: ["a", "b"], jwt: { a: 1 } }), "mode api_key, keys [2], jwt {…}");
  assert.ok(settingsLine({ a: "x".repeat(9999) }).length <= 160);
});

test("state of a channel names what hinders it", () => {
  const channel = { name: "a", status: "active", version: 1, active_version: 1 };
  assert.equal(stateOf({ ...channel, paused: {} }, new Set(["a"])), "quarantined");
  assert.equal(stateOf({ ...channel, paused: {} }, new Set()), "paused");
  assert.equal(stateOf({ name: "a", status: "draft", version: 1 }, new Set(["a"])), "draft");
  assert.equal(stateOf({ ...channel, status: "draft", version: 2 }, new Set()), "active");
});

test("filter of channels joins its words", () => {
  const channel = { name: "Orders", channel_id: "o-1", tags: ["shop"], protocol: "rest", workflow_id: "w" };
  assert.ok(fits(channel, "active", { q: "ORD", tag: "shop", state: "paused,active", protocol: "rest" }));
  assert.ok(!fits(channel, "active", { tag: "bank" }) && !fits(channel, "draft", { state: "active" }));
});

test("entry of a channel follows its transport", () => {
  const channel = { protocol: "rest", methods: ["GET", "POST"], route_pattern: "/a", topic: null, transport_config: {} };
  assert.equal(entryOf(channel), "GET, POST /a");
  assert.equal(entryOf({ ...channel, protocol: "cron", transport_config: { schedule: "* * * * *", timezone: "UTC" } }), "* * * * * UTC");
});

test("end of a pause is a span or a time", () => {
  assert.equal(untilOf("15m", 0), "1970-01-01T00:15:00.000Z");
  assert.equal(untilOf("", 0), null);
  assert.equal(untilOf("nonsense", 0), null);
  assert.ok(untilOf("2026-11-30T08:00", 0)?.startsWith("2026-11-"));
});

const SCHEMA = {
  $defs: {
    shared: { type: "object", required: ["$from"] },
    input: { type: "object", properties: { url: { type: "string", description: "the address" }, method: { enum: ["GET", "POST"] } }, required: ["url"] },
    task: {
      type: "object",
      properties: { name: { enum: ["call", "log"], description: "the function" }, input: { type: "object" } },
      allOf: [{ if: { properties: { name: { enum: ["call"] } }, required: ["name"] }, then: { properties: { input: { $ref: "#/$defs/input" } } } }],
    },
  },
  if: { $ref: "#/$defs/shared" },
  else: { type: "object", properties: { tasks: { type: "array", items: { $ref: "#/$defs/task" } }, on: { type: "boolean", default: false } } },
};
const NAMES = { channels: ["orders"], workflows: ["w"], connectors: ["crm"] };

test("names follow the chosen function", () => {
  const text = `{"tasks": [{"name": "call", "input": {"u`;
  const found = completionsAt(SCHEMA, text, text.length, NAMES);
  assert.deepEqual(found?.options.map((option) => option.displayLabel), ["url", "method"]);
  assert.equal(found?.options[0]?.apply, `"url": ""`);
});

test("values are those of the schema", () => {
  const text = `{"tasks": [{"name": "call", "input": {"method": `;
  assert.deepEqual(completionsAt(SCHEMA, text, text.length, NAMES)?.options.map((option) => option.label), [`"GET"`, `"POST"`]);
  assert.deepEqual(valuesAt(schemasAt(SCHEMA, {}, ["on"])), [true, false]);
});

test("values of references are names of definitions", () => {
  const text = `{"input": {"connector": `;
  assert.deepEqual(completionsAt({}, text, text.length, NAMES)?.options.map((option) => option.label), [`"crm"`]);
});

test("hint has the text of the schema", () => {
  const text = `{"tasks": [{"name": "call", "input": {"url": "x"}}]}`;
  assert.equal(hintAt(SCHEMA, text, text.indexOf("url") + 1)?.text, "the address\nstring");
});

test("schema that refers to itself ends", () => {
  const circular = { $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }], items: { $ref: "#/$defs/a" } } }, $ref: "#/$defs/a" };
  assert.ok(Array.isArray(schemasAt(circular, [[[]]], [0, 0])));
});

test("graph shows conditions of groups and ends", () => {
  const graph = graphOf({ tasks: [task("a"), { id: "g", condition: { "!": 1 }, terminal: true, tasks: [task("b")] }, task("c")] });
  const flows = graph.flows.map((flow) => `${flow.from.trim()}-${flow.to.trim()} ${flow.kind}`);
  assert.deepEqual(flows, ["start-a next", "a-g next", "g-b then", "b-end next", "g-c else", "c-end next"]);
});

test("terminal task with a condition lets others pass", () => {
  const flows = graphOf({ tasks: [task("a", { terminal: true, condition: { var: "x" } }), task("b")] }).flows;
  assert.deepEqual(flows.map((flow) => [flow.from, flow.to, flow.kind]), [[START, "a", "next"], ["a", END, "then"], ["a", "b", "else"], ["b", END, "next"]]);
});

test("graph shows members at once, and what follows a failure", () => {
  const group = { id: "g", parallel: true, tasks: [task("a"), task("b")], on_error: [task("note")], finally: [task("close")] };
  const graph = graphOf({ tasks: [group], loop: { over: [1], setup: [task("load")] } });
  assert.deepEqual(graph.tasks.map((one) => [one.id, one.isParallel]), [["load", false], ["g", true], ["a", false], ["b", false], ["note", false], ["close", false]]);
  const flows = graph.flows.map((flow) => `${flow.from.trim()}-${flow.to.trim()} ${flow.kind}`);
  assert.deepEqual(flows, ["start-load next", "load-g next", "g-a next", "g-b next", "g-note failed", "a-close next", "b-close next", "note-close next", "close-end next", "end-g again"]);
  assert.equal(readTasks([task("a", { for_each: { over: [1], into: "data.x" } })])[0]?.isFanOut, true);
});

test("loop leads back to the first task", () => {
  const graph = graphOf({ tasks: [task("a")], loop: { max: 3 } });
  assert.deepEqual(graph.flows.at(-1), { from: END, to: "a", kind: "again" });
});

test("tasks of strange documents are read", () => {
  assert.deepEqual(readTasks("x"), []);
  assert.equal(readTasks([null, 1, { function: 7 }, { id: 5, tasks: [{}] }]).length, 2);
  assert.equal(flatten(readTasks([{ id: "g", tasks: [task("a")] }]))[1]?.path.join("."), "tasks.0.tasks.0");
});

test("outcome of a group follows its members", () => {
  const tasks = flatten(readTasks([{ id: "g", tasks: [task("a"), task("b")] }]));
  const outcomes = outcomesByTask(tasks, [{ task_id: "a", result: "skipped" }, { task_id: "b", result: "executed" }, { task_id: "b", result: "executed" }], new Set(["b"]));
  assert.deepEqual([...outcomes], [["a", "skipped"], ["b", "failed"], ["g", "executed"]]);
});

test("failures are summed by task", () => {
  assert.deepEqual([...failuresByTask([{ task: "a", count: 2 }, { task: "a", count: 3 }, { task: null, count: 9 }])], [["a", 5]]);
});

test("source is split at whole lines", () => {
  const text = `{\n  "tasks": [\n    {"id": "a"}\n  ]\n}`;
  assert.deepEqual(splitAt(text, ["tasks", 0]), [`{\n  "tasks": [\n`, `    {"id": "a"}`, `\n  ]\n}`]);
  assert.deepEqual(splitAt(text, ["tasks", 7]), [text, "", ""]);
});

test("canary needs two active versions", () => {
  const version = (number: number, status: string, rollout_percentage: number) => ({ version: number, status, rollout_percentage });
  assert.equal(canaryOf([version(2, "draft", 100), version(1, "active", 100)]), null);
  const canary = canaryOf([version(1, "active", 75), version(3, "draft", 100), version(2, "active", 25)]);
  assert.deepEqual([canary?.canary.version, canary?.stable.version, canary?.share], [2, 1, 25]);
});

test("canary is judged by enough runs", () => {
  const run = { status: "completed", duration_ms: 10, error_code: null };
  const figures = (completed: number, failed: number, ms = 10) => figuresOf({ completed, failed, running: 7 }, [{ ...run, duration_ms: ms }]);
  assert.equal(judge(figures(5, 5), figures(1000, 0)), "few");
  assert.equal(judge(figures(80, 20), figures(1000, 0)), "worse");
  assert.equal(judge(figures(99, 1), figures(990, 10)), "fine");
  assert.equal(judge(figures(100, 0, 90), figures(100, 0, 10)), "slower");
  assert.equal(figures(3, 1).errorShare, 0.25);
  assert.equal(figuresOf({}, []).errorShare, null);
});

test("quantile is a value of the list", () => {
  assert.equal(quantile([5, 1, 9, 3], 0.5), 3);
  assert.equal(quantile([5, 1, 9, 3], 0.99), 9);
  assert.equal(quantile([], 0.5), null);
});

test("compared versions are the serving and the newest", () => {
  const version = (number: number, status: string) => ({ version: number, status, created_at: "", updated_at: "", content_hash: "" });
  const versions = [version(4, "draft"), version(3, "archived"), version(2, "active"), version(1, "archived")];
  assert.deepEqual(chosenVersions(versions, ["", ""]), [2, 4]);
  assert.deepEqual(chosenVersions(versions, ["", "2"]), [1, 2]);
  assert.deepEqual(chosenVersions(versions, ["99", "x"]), [2, 4]);
  assert.equal(chosenVersions([], ["", ""]), null);
});

test("rate of a task is taken between two looks at one node and version", () => {
  const look = (at: number, runs: number, node = "n", version = 1) => {
    const tasks = [{ task: "a", function: "map", runs, errors: 1, total_ms: runs * 2 }];
    return { at, stats: { workflow_id: "w", version, node, served: true, since: "2026-11-29T10:00:00Z", runs, failed: 0, tasks } };
  };
  assert.deepEqual(figuresOfTasks(look(2000, 30), look(0, 10)).get("a"), { runs: 30, errors: 1, rate: 10, mean: 2 });
  assert.equal(figuresOfTasks(look(2000, 30), null).get("a")?.rate, 0);
  assert.equal(figuresOfTasks(look(2000, 3), look(0, 10)).get("a")?.rate, 0);
  assert.equal(figuresOfTasks(look(2000, 30), look(0, 10, "other")).get("a")?.rate, 0);
  assert.equal(figuresOfTasks(look(2000, 30), look(0, 10, "n", 2)).get("a")?.rate, 0);
  assert.equal(figuresOfTasks(look(2000, 0), null).get("a")?.mean, null);
});
