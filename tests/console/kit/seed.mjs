// What the server under test holds: definitions with hostile names, and runs of every kind.

import { cutToBytes, EVERYTHING, HOSTILE } from "./hostile.mjs";
import { eventually } from "./wait.mjs";

const ADMIN = "/api/v1/admin";
/** Longest name of a definition, in bytes. */
const NAME = 255;

const task = (id, name, input, label = "") => ({ id, name: label, function: { name, input } });
const takePayload = task("take", "parse_json", { source: "payload", target: "input" }, HOSTILE.image);
const fail = task("boom", "map", { mappings: [{ path: "data.x", logic: { throw: EVERYTHING } }] }, HOSTILE.script);
const traced = { tracing: { mode: "sync", task_details: true, keep_input: true } };

/** Creates a definition, and activates it. */
export async function create(server, kind, document) {
  const id = document.workflow_id ?? document.channel_id;
  await server.ask("POST", `${ADMIN}/${kind}`, document);
  await server.ask("PATCH", `${ADMIN}/${kind}/${id}/status`, { status: "active" });
}

/** Serves tasks behind a channel of the same id. */
export async function serve(server, id, tasks, { name = id, config = {}, description = "", tags = [] } = {}) {
  await create(server, "workflows", { workflow_id: id, name, description, tags, tasks });
  await create(server, "channels", {
    channel_id: id, name, description, tags, channel_type: "sync", protocol: "rest", methods: ["POST"],
    route_pattern: `/${id}`, workflow_id: id, config,
  });
}

/** Serves tasks on a schedule. */
export async function schedule(server, id, tasks, { name = id, description = "", ...transport } = {}) {
  await create(server, "workflows", { workflow_id: id, name, description, tasks });
  await create(server, "channels", {
    channel_id: id, name, description, channel_type: "async", protocol: "cron", workflow_id: id,
    transport_config: { schedule: "30 3 * * *", timezone: "Europe/Berlin", payload: { text: EVERYTHING }, ...transport }, config: traced.config,
  });
}

/** Submits work, and returns the id of its trace. */
export async function submit(server, channel, payload = {}) {
  const { trace_id: id } = await server.ask("POST", `/api/v1/data/${encodeURIComponent(channel)}/async`, payload);
  return id;
}

/** Waits until a run has one of these states, and returns its trace. */
export async function comeTo(server, id, ...states) {
  return eventually(`run ${id} is ${states.join(" or ")}`, async () => {
    const { status, body } = await server.send("GET", `${ADMIN}/traces/${id}`);
    return status === 200 && states.includes(body.data.status) && body.data;
  });
}

/** Submits work that fails, waits for its dead letters, and returns the ids of the traces. */
export async function makeLetters(server, channel, count) {
  const total = async () => (await server.get(`${ADMIN}/trace-dlq?limit=1&channel=${channel}`)).total;
  const before = await total();
  const ids = await Promise.all(Array.from({ length: count }, (_, n) => submit(server, channel, { n, text: EVERYTHING })));
  await eventually(`${count} more dead letters`, async () => (await total()) >= before + count);
  return ids;
}

/** The least component: it has no functions, so a node can store and activate it, and cannot use it. */
const COMPONENT = "AGFzbQ0AAQA=";

/** Returns the body of a plugin. */
export const pluginOf = (name, description = "") => ({
  manifest: {
    abi: "svc:plugin@1.0.0", name, version: "1.0.0",
    functions: [{ name: "vat", description, input_fields: [{ name: "net", kind: "number", required: true }, { name: "rate", kind: "number" }] }],
  },
  component: COMPONENT,
});

/** Fills a server with hostile names, texts and payloads. Returns the ids that views are opened with. */
export async function fill(server, upstream) {
  const name = cutToBytes(EVERYTHING, NAME);
  const description = EVERYTHING;
  const tags = [HOSTILE.image, HOSTILE.direction];
  await server.ask("POST", `${ADMIN}/connectors`, {
    id: "crm", name: cutToBytes(`crm ${EVERYTHING}`, NAME), connector_type: "http",
    config: { url: upstream.url, allow_private_urls: true, retry: { max_retries: 0 } },
  });
  const connector = cutToBytes(`crm ${EVERYTHING}`, NAME);
  const call = (path) => task("call", "http_call", { connector, path, timeout_ms: 600_000 }, HOSTILE.direction);
  await serve(server, "hostile", [takePayload, call("/ok")], { name, description, tags, config: traced });
  await serve(server, "broken", [takePayload, fail], { description, tags, config: traced });
  await serve(server, "slow", [call("/held")], { config: { request: { mode: "accept" } } });
  await serve(server, "quiet", [takePayload], { tags });
  await schedule(server, "nightly", [takePayload], { name: cutToBytes(`nightly ${EVERYTHING}`, NAME), description });
  const receipt = { version: "1.0.0", content_hash: `sha256:${"0".repeat(64)}`, state: "staged" };
  await server.ask("PUT", `${ADMIN}/packages/shop`, receipt);
  await server.ask("PUT", `${ADMIN}/packages/shop`, { ...receipt, state: "applied" });
  await server.ask("POST", `${ADMIN}/plugins`, pluginOf("tax", cutToBytes(EVERYTHING.replaceAll(/\p{Cc}/gu, " "), 500)));
  await server.ask("PATCH", `${ADMIN}/plugins/tax/status`, { status: "active" });
  await server.ask("PUT", `${ADMIN}/plugins/tax`, pluginOf("tax"));
  await server.ask("POST", `${ADMIN}/channels/quiet/pause`, { reason: EVERYTHING });
  await server.ask("POST", "/api/v1/data/hostile", { text: EVERYTHING, [EVERYTHING]: [EVERYTHING, { [HOSTILE.script]: 1 }] });
  const letters = await makeLetters(server, "broken", 8);
  await server.ask("POST", `${ADMIN}/channels/nightly/trigger`);
  const occurrence = await eventually("the schedule has run", async () => {
    const { data } = await server.get(`${ADMIN}/cron/occurrences?channel_id=nightly&status=completed`);
    return data[0]?.id;
  });
  return { runs: letters[0], occurrences: occurrence, channels: "hostile", workflows: "hostile", connectors: "crm", packages: "shop", plugins: "tax" };
}
