// The address of the service with TLS, `https://shop.example` to browsers, in front of nodes that take turns; and the
// provider.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const FOLDER = process.env.SVC_CERTIFICATES;
const PROVIDER = fileURLToPath(new URL("../peers/oidc", import.meta.url));
const file = (name) => join(FOLDER, name);

/** Starts the address in front of these nodes. `/x` is `/api/v1/data/x` of a node. */
export async function openSite(nodes) {
  const site = { served: [], withheld: null };
  const server = createServer({ cert: readFileSync(file("shop.pem")), key: readFileSync(file("shop.key")) });
  server.on("request", (incoming, outgoing) => {
    const address = `https://shop.example${incoming.url}`;
    if (site.withheld !== null && incoming.url.includes("/callback")) {
      site.withheld.push(address);
      outgoing.writeHead(200, { "content-type": "text/plain" }).end("withheld");
      return;
    }
    const node = site.served.length % nodes.length;
    if (!incoming.url.includes("favicon")) site.served.push({ node, path: incoming.url.split("?")[0] });
    const { headers, method, url } = incoming;
    const forwarded = request(`${nodes[node].url}/api/v1/data${url}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on("error", () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  site.port = server.address().port;
  site.stop = () => server.close().closeAllConnections();
  return site;
}

/** Starts the provider. */
export async function startProvider() {
  const child = spawn(PROVIDER, ["600", file("provider.pem"), file("provider.key")], { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(createInterface(child.stdout), "line");
  return { issuer: line.replace("ready ", ""), stop: () => child.stdin.end() };
}
