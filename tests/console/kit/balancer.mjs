// A load balancer in front of nodes: each request goes to the first of them that takes connections.

import { once } from "node:events";
import { createServer, request } from "node:http";

/** Starts the balancer. Returns its address, and the function that ends it. */
export async function startBalancer(nodes) {
  const forward = (incoming, body, outgoing, [first, ...others]) => {
    if (first === undefined) return void outgoing.writeHead(502).end();
    const url = new URL(incoming.url, first.url);
    const passed = request(url, { method: incoming.method, headers: { ...incoming.headers, host: url.host } }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.on("error", () => outgoing.destroy());
      answer.pipe(outgoing);
    });
    passed.on("error", () => (outgoing.headersSent ? outgoing.destroy() : forward(incoming, body, outgoing, others)));
    outgoing.on("close", () => passed.destroy());
    passed.end(body);
  };
  const balancer = createServer(async (incoming, outgoing) => {
    const pieces = await incoming.toArray();
    forward(incoming, Buffer.concat(pieces), outgoing, nodes);
  });
  balancer.listen(0, "127.0.0.1");
  await once(balancer, "listening");
  return {
    url: `http://127.0.0.1:${balancer.address().port}`,
    stop: () => {
      balancer.closeAllConnections();
      balancer.close();
    },
  };
}
