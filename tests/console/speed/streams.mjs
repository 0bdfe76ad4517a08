// What streams cost the service, and that without viewers nothing is sampled.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { KEYS } from "../kit/server.mjs";
import { eventually } from "../kit/wait.mjs";

const SECONDS = Number(process.env.SVC_SPEED_SECS ?? 60);
const VIEWERS = 5;
/** Percent of one core that the viewers may take. */
const MOST_SHARE = 2;

const pass = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const TICKS = Number(execFileSync("getconf", ["CLK_TCK"]));

/** Returns the seconds of processor time that a process has taken. */
function processorTime(pid) {
  // The name of the program, which may have spaces, ends with the last parenthesis.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  return (user + system) / TICKS;
}

/** Returns the percent of one core that a process takes for a while. */
async function measureShare(pid) {
  const [before, begun] = [processorTime(pid), performance.now()];
  await pass(SECONDS);
  return ((processorTime(pid) - before) / ((performance.now() - begun) / 1000)) * 100;
}

/** Reads the value of a metric without labels. */
async function readMetric(server, name) {
  const { text } = await server.send("GET", "/metrics");
  const value = text.match(new RegExp(`^${name} (.+)$`, "m"))?.[1];
  if (value === undefined) throw new Error(`the service has no metric ${name}`);
  return Number(value);
}

/** Opens a stream and reads it. Returns the function that ends that. */
async function openStream(server) {
  const reading = new AbortController();
  const answer = await fetch(`${server.url}/api/v1/admin/live?history=hour,day`, {
    headers: { authorization: `Bearer ${KEYS.full}` }, signal: reading.signal,
  });
  if (!answer.ok) throw new Error(`the stream answered ${answer.status}`);
  const counted = { bytes: 0 };
  const read = async () => {
    for await (const piece of answer.body) counted.bytes += piece.length;
  };
  void read().catch(() => undefined);
  return { counted, close: () => reading.abort() };
}

/** Measures the streams. */
export async function measureStreams({ server, report }) {
  report.begin(`${VIEWERS} open streams, ${SECONDS} s each`);
  const { pid } = server;
  const sampling = () => readMetric(server, "svc_console_sampling");
  const samples = () => readMetric(server, "svc_console_samples_total");
  await eventually("nothing is sampled", async () => (await sampling()) === 0);
  const before = await samples();
  const idle = await measureShare(pid);
  report.add("samples without viewers", (await samples()) - before, 0);
  report.note(`processor time without viewers: ${idle.toFixed(2)} % of one core`);
  const streams = await Promise.all(Array.from({ length: VIEWERS }, () => openStream(server)));
  let watched;
  try {
    watched = await measureShare(pid);
  } finally {
    for (const { close } of streams) close();
  }
  report.note(`with viewers: ${watched.toFixed(2)} %, ${Math.round(streams[0].counted.bytes / 1024)} KiB for each`);
  report.add("processor time of the viewers", watched - idle, MOST_SHARE, " % of one core");
  await eventually("nothing is sampled any more", async () => (await sampling()) === 0);
}
