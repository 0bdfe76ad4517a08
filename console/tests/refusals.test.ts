import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { credentialHeader, presetName, presetScheme, readHeaders, schemeOf, signRequest } from "../src/views/refusals/sign.ts";
import { sumRefusals } from "../src/views/refusals/sums.ts";

const BODY = '{"a":1}';
const hmac = (text: string, algorithm = "sha256", secret: string | Buffer = "s3cret") => createHmac(algorithm, secret).update(text);

test("presets sign as their providers do", async () => {
  const sign = (name: string) => signRequest(presetScheme(name), "s3cret", {}, BODY, 1700000000);
  assert.equal((await sign("github"))["x-hub-signature-256"], `sha256=${hmac(BODY).digest("hex")}`);
  assert.equal((await sign("shopify"))["x-shopify-hmac-sha256"], hmac(BODY).digest("base64"));
  assert.equal((await sign("webex"))["x-spark-signature"], hmac(BODY, "sha1").digest("hex"));
  const slack = await sign("slack");
  assert.equal(slack["x-slack-request-timestamp"], "1700000000");
  assert.equal(slack["x-slack-signature"], `v0=${hmac(`v0:1700000000:${BODY}`).digest("hex")}`);
  const stripe = await sign("stripe");
  assert.equal(stripe["stripe-signature"], `t=1700000000,v1=${hmac(`1700000000.${BODY}`).digest("hex")}`);
});

test("keys of a channel precede its preset", async () => {
  const scheme = schemeOf({ mode: "hmac", preset: "P4", header: "X-Mine", encoding: "base64url" });
  assert.ok(scheme);
  const headers = await signRequest(scheme, "s3cret", {}, BODY, 1);
  assert.equal(headers["x-mine"], `sha256=${hmac(BODY).digest("base64url")}`);
  assert.equal(schemeOf({ mode: "jwt" }), null);
  assert.equal(schemeOf(undefined), null);
  assert.deepEqual([presetName("P1"), presetName("github"), presetName("constructor"), presetName("P9")], ["zoom", "github", null, null]);
});

test("standard webhooks sign id and time with a decoded key", async () => {
  const key = Buffer.from("0123456789abcdef");
  const scheme = schemeOf({ mode: "hmac", preset: "standard_webhooks" });
  assert.deepEqual(scheme, schemeOf({
    mode: "hmac", header: "webhook-signature", signature_prefix: "v1,", encoding: "base64", timestamp: "webhook-timestamp",
    message: "{header:webhook-id}.{header:webhook-timestamp}.{body}",
  }));
  assert.ok(scheme);
  const headers = await signRequest(scheme, `whsec_${key.toString("base64")}`, { "webhook-id": "m1" }, BODY, 5);
  assert.equal(headers["webhook-signature"], `v1,${hmac(`m1.5.${BODY}`, "sha256", key).digest("base64")}`);
});

test("credentials go into the header of the channel", () => {
  assert.deepEqual(credentialHeader({ mode: "api_key" }, "k"), { authorization: "Bearer k" });
  assert.deepEqual(credentialHeader({ mode: "api_key", header: "X-Key" }, "k"), { "x-key": "k" });
  assert.deepEqual(credentialHeader({ mode: "api_key", header: "X-Key", scheme: "Token" }, "k"), { "x-key": "Token k" });
  assert.deepEqual(credentialHeader(undefined, "k"), {});
});

test("written headers are read line by line", () => {
  assert.deepEqual(readHeaders("A: 1\n\nb:2\na: 3"), { headers: { a: "1, 3", b: "2" }, wrong: null });
  assert.equal(readHeaders("a b: 1").wrong, "a b: 1");
});

test("refusals are summed by status", () => {
  const refusal = (status: number, count: number, last_seen: string) => ({ guard: "auth", reason: "r", explanation: "", status, count, last_seen });
  const sums = sumRefusals([refusal(401, 2, "2026-01-01T00:00:00Z"), refusal(401, 3, "2026-01-03T00:00:00Z"), refusal(503, 1, "2026-01-02T00:00:00Z")]);
  assert.deepEqual(sums, { byStatus: { 401: 5 }, others: 1, total: 6, last: "2026-01-03T00:00:00Z" });
});
