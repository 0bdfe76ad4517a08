// A service with many channels and a million runs on record, written around it by one script of SQL.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { create } from "../kit/seed.mjs";

const ADMIN = "/api/v1/admin";
const count = (name, fallback) => Number(process.env[name] ?? fallback);

/** Channels that serve. */
export const CHANNELS = count("SVC_SPEED_CHANNELS", 5_000);
/** Runs on record. */
export const TRACES = count("SVC_SPEED_TRACES", 1_000_000);
/** Groups of failures. */
const GROUPS = 300;
/** Items of one import. */
const BATCH = 1_000;
/** Activations under way at once. */
const AT_ONCE = 8;

/** The name of a channel. */
export const channelName = (number) => `shop-${number}`;

const channel = (number) => ({
  channel_id: channelName(number), name: channelName(number), channel_type: "sync", protocol: "rest", methods: ["POST"],
  route_pattern: `/shop/${number}`, workflow_id: number % 10 === 0 ? "fails" : "works",
});

/** Creates the channels, a tenth of which fails every message. */
async function createChannels(server) {
  const take = { id: "take", name: "", function: { name: "parse_json", input: { source: "payload", target: "input" } } };
  const fail = { id: "fail", name: "", function: { name: "map", input: { mappings: [{ path: "data.x", logic: { throw: "no stock" } }] } } };
  await create(server, "workflows", { workflow_id: "works", name: "works", tasks: [take] });
  await create(server, "workflows", { workflow_id: "fails", name: "fails", tasks: [take, fail] });
  const channels = Array.from({ length: CHANNELS }, (_, number) => channel(number));
  for (let first = 0; first < CHANNELS; first += BATCH) {
    await server.ask("POST", `${ADMIN}/channels/import`, channels.slice(first, first + BATCH));
  }
  const waiting = channels.values();
  const activate = async () => {
    for (const { channel_id: id } of waiting) {
      await server.ask("PATCH", `${ADMIN}/channels/${id}/status?reload=defer`, { status: "active" });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, activate));
}

/** The numbers from one on, as a table. */
const numbers = (most) => `(WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < ${most}) SELECT n FROM i)`;
const GROUP = `'group-' || ((n / 10) % ${GROUPS})`;

/** Fifty runs a second up to now: a tenth failed, and has a dead letter. None is due, so that the service leaves them alone. */
const SCRIPT = `
PRAGMA synchronous = OFF;
INSERT INTO error_groups (id, channel, workflow_id, task_id, code, message)
SELECT 'group-' || (n - 1), 'shop-' || (n * 10 % ${CHANNELS}), 'fails', 'fail', 'E' || (n % 5), 'the call ' || n || ' failed'
FROM ${numbers(GROUPS)};
INSERT INTO traces (id, channel, channel_id, mode, status, workflow_id, workflow_version, request_id, error_code, error_group,
    error_message, duration_ms, result_json, started_at, completed_at, created_at, updated_at)
SELECT 't' || n, 'shop-' || (n % ${CHANNELS}), 'shop-' || (n % ${CHANNELS}), CASE n % 20 WHEN 0 THEN 'async' ELSE 'sync' END,
    CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'completed' END, CASE n % 10 WHEN 0 THEN 'fails' ELSE 'works' END, 1, 'r' || n,
    CASE n % 10 WHEN 0 THEN 'E' || ((n / 10) % 5) END, CASE n % 10 WHEN 0 THEN ${GROUP} END,
    CASE n % 10 WHEN 0 THEN 'the call failed' END, n % 100,
    '{"data": {"text": "a result of some length, as results are", "total": 150, "items": [1, 2, 3, 4, 5, 6]}}', at, at, at, at
FROM (SELECT n, strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || (n / 50.0) || ' seconds') AS at FROM ${numbers(TRACES)});
INSERT INTO trace_dlq (id, trace_id, channel, payload_json, error_message, retry_count, next_retry_at, error_group, created_at)
SELECT 'l' || id, id, channel, '{}', error_message, CASE WHEN length(error_group) = 9 THEN 5 ELSE 1 END,
    strftime('%Y-%m-%d %H:%M:%f', 'now', '+1 day'), error_group, created_at
FROM traces WHERE status = 'failed' AND mode = 'async';
INSERT INTO error_counts (minute, error_group, failures)
SELECT CAST(strftime('%s', 'now') AS INTEGER) / 60 - minutes.n + 1, 'group-' || (groups.n - 1), 1 + groups.n % 7
FROM ${numbers(60)} minutes, ${numbers(GROUPS)} groups;
PRAGMA wal_checkpoint(TRUNCATE);
`;

/** Fills a service, and starts it again. */
export async function fillWithMany(server) {
  const begun = Date.now();
  await createChannels(server);
  await server.end("SIGTERM");
  execFileSync("sqlite3", ["-bail", join(server.folder, "svc.db")], { input: SCRIPT, stdio: ["pipe", "ignore", "inherit"] });
  await server.begin();
  console.log(`${CHANNELS} channels and ${TRACES} traces on SQLite, written in ${Math.round((Date.now() - begun) / 1000)} s`);
}
