// Signs with the providers' JavaScript libraries.

import { createHmac } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { sign, verify } from "@octokit/webhooks-methods";
import Stripe from "stripe";

const require = createRequire(import.meta.url);
const { verifySlackRequest } = require("@slack/bolt/dist/receivers/verify-request.js");
require("@shopify/shopify-api/adapters/node");
const { shopifyApi, ApiVersion } = require("@shopify/shopify-api");
const { getHmac } = require("@shopify/shopify-api/test-helpers");
const { AwsLambdaReceiver } = require("@zoom/rivet/users");

const [, , inputsFile, golden] = process.argv;
const inputs = JSON.parse(readFileSync(inputsFile, "utf8"));
const version = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8")).version;

const raw = (body) => (body.repeat ? body.repeat[0].repeat(body.repeat[1]) : body.text);

/** Every body with three of the secrets, each time at another instant. */
function* cases() {
  let number = 1;
  for (const body of inputs.bodies) {
    for (let time = 0; time < 3; time++) {
      const secret = inputs.secrets[number % inputs.secrets.length];
      const offset = inputs.offsets[Math.floor(number / 2) % inputs.offsets.length];
      number++;
      yield { secret, stamp: inputs.now + offset, body };
    }
  }
}

function write(name, origin, config, vectors) {
  writeFileSync(`${golden}/${name}.json`, JSON.stringify({ origin, config, vectors }, null, 1) + "\n");
  console.log(`${name}: ${vectors.length} vectors`);
}

const vector = (secret, body, headers) => ({ secret, now: inputs.now, headers, body });

const must = (holds, what) => {
  if (!holds) throw new Error(what);
};

function stripe() {
  const webhooks = new Stripe("sk_test_unused").webhooks;
  return [...cases()].map(({ secret, stamp, body }) => {
    const payload = raw(body);
    const header = webhooks.generateTestHeaderString({ payload, secret, timestamp: stamp });
    return vector(secret, body, { "stripe-signature": header });
  });
}

/** The library verifies only; a vector is what it takes. */
function slack() {
  return [...cases()].map(({ secret, stamp, body }) => {
    const signature = createHmac("sha256", secret).update(`v0:${stamp}:${raw(body)}`).digest("hex");
    const headers = { "x-slack-request-timestamp": String(stamp), "x-slack-signature": `v0=${signature}` };
    const at = inputs.now * 1000;
    verifySlackRequest({ signingSecret: secret, body: raw(body), headers, nowMilliseconds: at });
    return vector(secret, body, headers);
  });
}

async function github() {
  const vectors = [];
  const published = {
    ...vector("It's a Secret to Everybody", { text: "Hello, World!" }, {
      "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    }),
    published: "the provider's documentation, Validating webhook deliveries",
  };
  must(await verify(published.secret, "Hello, World!", published.headers["x-hub-signature-256"]), "published");
  vectors.push(published);
  for (const { secret, body } of cases()) {
    if (raw(body) === "") continue; // The library refuses to sign nothing.
    const signature = await sign(secret, raw(body));
    must(await verify(secret, raw(body), signature), "github");
    vectors.push(vector(secret, body, { "x-hub-signature-256": signature }));
  }
  return vectors;
}

/** Signed by the library's test helper, and taken by the library's own check. */
async function shopify() {
  const vectors = [];
  for (const { secret, body } of cases()) {
    const api = shopifyApi({
      apiKey: "unused",
      apiSecretKey: secret,
      apiVersion: Object.values(ApiVersion).at(-1),
      hostName: "app.test",
      isEmbeddedApp: false,
      logger: { log: () => {} },
    });
    const hmac = getHmac(raw(body), secret);
    const headers = {
      "x-shopify-hmac-sha256": hmac,
      "x-shopify-topic": "orders/create",
      "x-shopify-shop-domain": "shop.test",
      "x-shopify-api-version": "2025-01",
      "x-shopify-webhook-id": "1",
    };
    if (raw(body) !== "") {
      const rawRequest = { method: "POST", url: "/", headers };
      const checked = await api.webhooks.validate({ rawBody: raw(body), rawRequest, rawResponse: {} });
      must(checked.valid, `shopify: ${JSON.stringify(checked)}`);
    }
    vectors.push(vector(secret, body, { "x-shopify-hmac-sha256": hmac }));
  }
  return vectors;
}

/** The library verifies only, and only JSON it can write again byte by byte. */
async function zoom() {
  const vectors = [];
  const { debug, info, log } = console;
  console.debug = console.info = console.log = () => {}; // The library tells every event it gets.
  for (let number = 0; number < 40; number++) {
    const secret = inputs.secrets[number % inputs.secrets.length];
    const stamp = inputs.now + inputs.offsets[number % inputs.offsets.length];
    const text = JSON.stringify({
      event: "meeting.started",
      payload: { account_id: `A${number}`, object: { topic: "Žofie 🐎 ".repeat(number), id: number } },
      event_ts: stamp * 1000,
    });
    const signature = createHmac("sha256", secret).update(`v0:${stamp}:${text}`).digest("hex");
    const headers = { "x-zm-request-timestamp": String(stamp), "x-zm-signature": `v0=${signature}` };
    const handler = new AwsLambdaReceiver({ webhooksSecretToken: secret }).start();
    const answer = await handler({ body: text, headers, isBase64Encoded: false }, {});
    must(answer.statusCode === 200, `zoom: ${JSON.stringify(answer)}`);
    vectors.push(vector(secret, { text }, headers));
  }
  Object.assign(console, { debug, info, log });
  return vectors;
}

write("stripe-node", `npm stripe ${version("stripe")}, webhooks.generateTestHeaderString`, { preset: "stripe" }, stripe());
write("slack-node", `npm @slack/bolt ${version("@slack/bolt")}, taken by verifySlackRequest`, { preset: "slack" }, slack());
write(
  "github",
  `npm @octokit/webhooks-methods ${version("@octokit/webhooks-methods")}, sign, taken by verify`,
  { preset: "github" },
  await github(),
);
write(
  "shopify",
  `npm @shopify/shopify-api ${version("@shopify/shopify-api")}, test-helpers getHmac, taken by webhooks.validate`,
  { preset: "shopify" },
  await shopify(),
);
write("zoom-node", `npm @zoom/rivet ${version("@zoom/rivet")}, taken by AwsLambdaReceiver`, { preset: "zoom" }, await zoom());
