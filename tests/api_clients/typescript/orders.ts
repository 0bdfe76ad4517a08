// Drives examples/orders with the types of openapi-typescript and the client openapi-fetch: node check.js URL TOKEN.
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { paths } from './api.js';

const [url, token] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url!, headers: { authorization: `Bearer ${token}` } });
const orders = '/api/v1/data/orders';
const order = '/api/v1/data/orders/{id}';
const lamps = { item: 'lamp', qty: 2 };

// Take an order, once.
const headers = { 'idempotency-key': 'a-1' };
const created = await client.POST(orders, { body: lamps, headers });
assert.equal(created.response.status, 201);
const id = created.response.headers.get('location')!.split('/').pop()!;
const repeated = await client.POST(orders, { body: lamps, headers });
assert.equal(repeated.response.status, 409);
const invalid = await client.POST(orders, { body: { item: '', qty: 0 } });
assert.equal(invalid.response.status, 422);
assert.match(invalid.response.headers.get('content-type')!, /^application\/problem\+json/);

// Read it.
const params = { path: { id } };
const read = await client.GET(order, { params });
assert.deepEqual({ item: read.data?.item, qty: read.data?.qty, state: read.data?.state }, { ...lamps, state: 'open' });
assert.ok(!Number.isNaN(Date.parse(read.data!.created_at)));
const listed = await client.GET(orders);
assert.deepEqual(listed.data?.items.map((item) => String(item.id)), [id]);
assert.equal(listed.data?.next, undefined);
const stats = await client.GET('/api/v1/data/order-stats');
assert.deepEqual(stats.data?.states, [{ state: 'open', orders: 1, items: 2 }]);

// Cancel it, once.
assert.equal((await client.DELETE(order, { params })).response.status, 204);
assert.equal((await client.DELETE(order, { params })).response.status, 404);
assert.equal((await client.GET(order, { params })).data?.state, 'cancelled');

// A stranger gets nothing.
const stranger = await createClient<paths>({ baseUrl: url! }).GET(order, { params });
assert.equal(stranger.response.status, 401);
assert.equal(stranger.data, undefined);
console.log('the client took, read, listed and cancelled an order');
