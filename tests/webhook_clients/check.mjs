// Usage: check.mjs URL FILE. Signs webhooks with the libraries for JavaScript, and has them judge those of FILE, which the
// service signed. The secrets are in the environment.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { sign, verify } from "@octokit/webhooks-methods";
import "@shopify/shopify-api/adapters/node";
import { ApiVersion, shopifyApi } from "@shopify/shopify-api";
import bolt from "@slack/bolt";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";

const [url, file] = process.argv.slice(2);
const { GITHUB_SECRET, SHOPIFY_SECRET, SLACK_SECRET, STANDARD_SECRET, STRIPE_SECRET } = process.env;
const stripe = new Stripe("sk_test_unused");
const shopify = shopifyApi({
  apiKey: "unused",
  apiSecretKey: SHOPIFY_SECRET,
  hostName: "shop.example",
  apiVersion: ApiVersion.October25,
  isEmbeddedApp: false,
  logger: { log: () => {} },
});

async function send(channel, body, headers) {
  const answer = await fetch(`${url}/api/v1/data/webhooks/${channel}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  return [answer.status, await answer.json()];
}

/** Sends a signed body, then the same with another byte, which is refused. */
async function checkChannel(channel, body, headers) {
  const [status, answer] = await send(channel, body, headers);
  assert.equal(status, 202, JSON.stringify(answer));
  const [refused, error] = await send(channel, `${body} `, headers);
  assert.deepEqual([refused, error.error.code], [401, "UNAUTHORIZED"]);
}

const event = JSON.stringify({ id: "evt-js", object: "event", type: "charge.succeeded", data: { object: { place: "Žofín" } } });
const now = new Date();
await checkChannel("standard", event, {
  "webhook-id": "msg-js",
  "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
  "webhook-signature": new Webhook(STANDARD_SECRET).sign("msg-js", now, event),
});
await checkChannel("stripe", event, {
  "stripe-signature": stripe.webhooks.generateTestHeaderString({ payload: event, secret: STRIPE_SECRET }),
});
await checkChannel("github", event, {
  "x-hub-signature-256": await sign(GITHUB_SECRET, event),
  "x-github-event": "push",
  "x-github-delivery": "d-js",
});

/** Returns what the library of a provider makes of a body: true where it accepts it. */
const judges = {
  standard_webhooks: (body, headers) => accepts(() => new Webhook(STANDARD_SECRET).verify(body, headers)),
  stripe: (body, headers) =>
    accepts(() => stripe.webhooks.constructEvent(body, headers["stripe-signature"], STRIPE_SECRET)),
  github: (body, headers) => verify(GITHUB_SECRET, body, headers["x-hub-signature-256"]),
  slack: (body, headers) =>
    accepts(() => bolt.verifySlackRequest({
      signingSecret: SLACK_SECRET,
      body,
      headers: {
        "x-slack-signature": headers["x-slack-signature"],
        "x-slack-request-timestamp": Number(headers["x-slack-request-timestamp"]),
      },
    })),
  shopify: async (body, headers) => {
    const rawRequest = { method: "POST", url: "/", headers };
    return (await shopify.webhooks.validate({ rawBody: body, rawRequest, rawResponse: {} })).valid;
  },
};

function accepts(check) {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}

const sent = JSON.parse(readFileSync(file, "utf8"));
const judged = [];
for (const { name, headers, body, secrets } of sent) {
  if (secrets) {
    for (const secret of secrets) new Webhook(secret).verify(body, headers);
  } else {
    assert.equal(await judges[name](body, headers), true, name);
    assert.equal(await judges[name](`${body} `, headers), false, name);
  }
  judged.push(name);
}
assert.deepEqual(judged, [...Object.keys(judges), "customer", "customer", "customer"]);
console.log("the libraries for JavaScript sign for the channels, and accept what the service signs");
