// A server of its own for each file of cases: a folder, a port, a database, three keys.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, openSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { eventually } from "./wait.mjs";

/** The keys of the server. */
export const KEYS = {
  full: "full-0123456789abcdef0123456789abcdef",
  readOnly: "read-0123456789abcdef0123456789abcdef",
  wrong: "none-0123456789abcdef0123456789abcdef",
};

/** Returns a port of 127.0.0.1 that is free now. */
export async function freePort() {
  const listener = createServer();
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address();
  listener.close();
  await once(listener, "close");
  return port;
}

const list = (keys) => `[${keys.map(([name, key]) => `{ name = ${JSON.stringify(name)}, key = ${JSON.stringify(key)} }`).join(", ")}]`;

/** A server under test. */
export class Server {
  #process = null;

  static async start(settings = {}) {
    const server = new Server();
    server.folder = mkdtempSync(join(tmpdir(), "svc-console-"));
    server.settings = settings;
    for (const [path, document] of Object.entries(settings.project ?? {})) server.save(path, document);
    for (let times = 1; ; times++) {
      server.port = await freePort();
      server.url = `http://127.0.0.1:${server.port}`;
      server.configure();
      try {
        await server.begin();
        return server;
      } catch (error) {
        // A port that was free may be taken a moment later.
        if (times === 5 || !/in use/i.test(error.message)) throw error;
      }
    }
  }

  /** Writes the configuration, with the full keys that are valid from the next start or reload on. */
  configure(full = [["ada", KEYS.full]]) {
    const lines = [
      "[server]", 'host = "127.0.0.1"', `port = ${this.port}`, `shutdown_drain_secs = ${this.settings.drainSecs ?? 0}`,
      "[storage]", `url = ${JSON.stringify(this.settings.database ?? "sqlite:svc.db")}`,
      "[admin_auth]", "enabled = true", `api_keys = ${list(full)}`, `read_only_api_keys = ${list([["grace", KEYS.readOnly]])}`,
      "[metrics]", "enabled = true",
      "[trace_queue]", "dlq_retry_enabled = false",
      ...(this.settings.toml ?? []),
    ];
    writeFileSync(join(this.folder, "svc.toml"), `${lines.join("\n")}\n`);
  }

  /** Saves a document of the project that the server watches. */
  save(path, document) {
    const file = join(this.folder, "project", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(document, null, 2));
  }

  /** Starts the process, and waits until it serves. A server with a project watches it, and asks for no key. */
  async begin() {
    const log = openSync(join(this.folder, "server.log"), "a");
    const how = this.settings.project === undefined ? ["-c", "svc.toml"] : ["dev", "project", "--port", String(this.port)];
    this.#process = spawn(process.env.SVC_SERVER, how, { cwd: this.folder, stdio: ["ignore", log, log] });
    const died = once(this.#process, "exit").then(() => "died");
    const ready = eventually("the server answers", async () => (await fetch(`${this.url}/readyz`).catch(() => null))?.ok, 30_000);
    if ((await Promise.race([ready, died])) === "died") throw new Error(`the server did not start:\n${this.log().slice(-2000)}`);
  }

  /** The id of the process. */
  get pid() {
    return this.#process.pid;
  }

  /** Whether the process has ended by itself. */
  get hasEnded() {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  signal(name) {
    this.#process.kill(name);
  }

  /** Has the process read its configuration again. */
  reload() {
    this.signal("SIGHUP");
  }

  /** Ends the process: at once by SIGKILL, else as an operator does. */
  async end(signal = "SIGTERM") {
    if (this.#process === null) return;
    const ended = this.#process.exitCode === null && this.#process.signalCode === null ? once(this.#process, "exit") : null;
    this.#process.kill(signal);
    await ended;
    this.#process = null;
  }

  /** Ends the process, and removes its folder. */
  async remove() {
    await this.end("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }

  log() {
    return readFileSync(join(this.folder, "server.log"), "utf8");
  }

  /** Sends a request to the server with the full key. Returns its status and its body. */
  async send(method, path, body, headers = {}) {
    const answer = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${KEYS.full}`, "content-type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, body: text.startsWith("{") ? JSON.parse(text) : null };
  }

  /** Sends a request that has to succeed. Returns its body. */
  async ask(method, path, body, headers) {
    const answer = await this.send(method, path, body, headers);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  get(path) {
    return this.ask("GET", path);
  }
}
