// Serves `dist` as the server does, in front of a running server, for work on the console:
//
//   npm run build && node scripts/serve.mjs --server http://127.0.0.1:8080 --port 4000 --base /console

import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { extname, join, normalize } from "node:path";
import { dirname } from "node:path";
import { pipeline } from "node:stream";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const option = (name, fallback) => {
  const place = process.argv.indexOf(`--${name}`);
  return place < 0 ? fallback : process.argv[place + 1];
};
const server = new URL(option("server", "http://127.0.0.1:8080"));
const base = option("base", "/console");

const TYPES = { ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html; charset=utf-8" };
const POLICY = [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'", "font-src 'self'",
  "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
].join("; ");

function forward(incoming, outgoing) {
  const options = { hostname: server.hostname, port: server.port, path: incoming.url, method: incoming.method };
  const passed = request({ ...options, headers: { ...incoming.headers, host: server.host } }, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    // An end of the server ends what it was sending, and an end of the reader what it was asked.
    pipeline(answer, outgoing, () => undefined);
  });
  passed.on("error", () => outgoing.destroy());
  outgoing.on("close", () => passed.destroy());
  incoming.pipe(passed);
}

function serve(path, outgoing) {
  if (path.startsWith("/assets/")) {
    try {
      const bytes = readFileSync(join(root, "dist", normalize(path)));
      outgoing.writeHead(200, { "content-type": TYPES[extname(path)] ?? "text/plain", "cache-control": "public, max-age=31536000, immutable" });
      outgoing.end(bytes);
    } catch {
      outgoing.writeHead(404).end();
    }
    return;
  }
  const page = readFileSync(join(root, "dist", "index.html"), "utf8").replaceAll("__BASE__", base);
  outgoing.writeHead(200, { "content-type": TYPES[".html"], "content-security-policy": POLICY, "cache-control": "no-store" });
  outgoing.end(page);
}

createServer((incoming, outgoing) => {
  const { pathname } = new URL(incoming.url, "http://localhost");
  if (pathname === base || pathname.startsWith(`${base}/`)) serve(pathname.slice(base.length), outgoing);
  else forward(incoming, outgoing);
}).listen(Number(option("port", "4000")), "127.0.0.1", () => console.log(`http://127.0.0.1:${option("port", "4000")}${base}`));
