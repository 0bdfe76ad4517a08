// A system that the service calls: it answers, fails, or never answers.

import { once } from "node:events";
import { createServer } from "node:http";
import { EVERYTHING } from "./hostile.mjs";

/** Starts the system; `/held` never answers, `/fails` answers 503. */
export async function startUpstream() {
  const server = createServer((request, response) => {
    if (request.url.startsWith("/held")) return;
    const status = request.url.startsWith("/fails") ? 503 : 200;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ text: EVERYTHING }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
