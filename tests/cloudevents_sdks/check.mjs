// Usage: check.mjs URL FILE. Sends events of the SDK to the channels of check.py, and reads those of FILE.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { CloudEvent, HTTP } from "cloudevents";

const [url, file] = process.argv.slice(2);

async function send(channel, { headers, body }) {
  const answer = await fetch(`${url}/api/v1/data/${channel}`, { method: "POST", headers, body });
  return [answer.status, await answer.json()];
}

const event = new CloudEvent({
  type: "order.placed",
  source: "/shop",
  subject: "order-7",
  tenant: "t-1",
  data: { n: 1 },
  datacontenttype: "application/json",
});
for (const write of [HTTP.binary, HTTP.structured]) {
  const [status, answer] = await send("events", write(event));
  assert.equal(status, 200, JSON.stringify(answer));
  assert.deepEqual(answer.data.payload, { n: 1 });
  const { id, type, source, subject, tenant } = answer.data.event;
  assert.deepEqual([id, type, source, subject, tenant], [event.id, "order.placed", "/shop", "order-7", "t-1"]);
}
const batch = JSON.stringify([event, event.cloneWith({ id: "e-2" })]);
const [status, answer] = await send("arrivals", {
  headers: { "content-type": "application/cloudevents-batch+json" },
  body: batch,
});
assert.deepEqual([status, answer.events.length], [202, 2]);

const sent = JSON.parse(readFileSync(file, "utf8"));
assert.equal(sent.length, 2);
for (const message of sent) {
  const received = HTTP.toEvent(message);
  assert.equal(received.validate(), true);
  assert.deepEqual([received.type, received.source, received.subject], ["order.placed", "/shop", "order-7"]);
  assert.deepEqual(received.data, { n: 7, subject: "order-7" });
}
console.log("the SDK for JavaScript reads and sends the same events");
