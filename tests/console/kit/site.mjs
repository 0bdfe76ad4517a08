// The page as the server has it, or that of `console/dist` in front of it.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { eventually } from "./wait.mjs";
import { freePort } from "./server.mjs";

const FRONT = fileURLToPath(new URL("../../../console/scripts/serve.mjs", import.meta.url));

/** Returns the address of the page: its origin and its mount path. `stop` ends what was started for it. */
export async function openSite(server) {
  if (process.env.SVC_CONSOLE_FRONT !== "dist") return { origin: server.url, base: "/console", isFront: false, stop: () => undefined };
  const port = await freePort();
  const front = spawn(process.execPath, [FRONT, "--server", server.url, "--port", String(port)], { stdio: "ignore" });
  const origin = `http://127.0.0.1:${port}`;
  await eventually("the page is served", async () => (await fetch(`${origin}/console`).catch(() => null))?.ok);
  return { origin, base: "/console", isFront: true, stop: () => front.kill() };
}
