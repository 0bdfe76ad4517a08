// Drives a server with the types of openapi-typescript and the client openapi-fetch: node check.js URL KEY.
import assert from 'node:assert/strict';
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

const [url, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url!, headers: { 'x-api-key': key! } });

const workflow: components['schemas']['NewWorkflow'] = {
  workflow_id: 'ts-greeting',
  name: 'Greeting',
  tags: ['typescript'],
  tasks: [
    { id: 'parse', name: 'Parse', function: { name: 'parse_json', input: { source: 'payload', target: 'input' } } },
    {
      id: 'greet',
      name: 'Greet',
      function: {
        name: 'map',
        input: { mappings: [{ path: 'data.text', logic: { cat: ['Hello, ', { var: 'data.input.name' }] } }] },
      },
    },
  ],
};
const channel: components['schemas']['NewChannel'] = {
  channel_id: 'ts-greetings',
  name: 'ts-greetings',
  channel_type: 'sync',
  protocol: 'rest',
  methods: ['POST'],
  route_pattern: '/ts-greetings',
  workflow_id: 'ts-greeting',
};
const active = { status: 'active' } as const;
const ofWorkflow = { params: { path: { id: 'ts-greeting' } } };
const ofChannel = { params: { path: { id: 'ts-greetings' } } };

// Create.
const created = await client.POST('/api/v1/admin/workflows', { body: workflow });
assert.equal(created.response.status, 201);
assert.ok(created.data && 'workflow_id' in created.data.data, 'the answer of a create is a workflow');
assert.equal(created.data.data.status, 'draft');
assert.equal((await client.POST('/api/v1/admin/channels', { body: channel })).response.status, 201);
const again = await client.POST('/api/v1/admin/workflows', { body: workflow });
assert.equal(again.error?.error.code, 'CONFLICT');

// Activate: a trial first.
const trial = await client.PATCH('/api/v1/admin/workflows/{id}/status', {
  params: { ...ofWorkflow.params, query: { dry_run: true } },
  body: active,
});
assert.ok(trial.data && 'valid' in trial.data.data && trial.data.data.valid, 'the trial finds nothing');
const activated = await client.PATCH('/api/v1/admin/workflows/{id}/status', { ...ofWorkflow, body: active });
assert.ok(activated.data && 'version' in activated.data.data);
assert.equal(activated.data.data.version, 1);
const opened = await client.PATCH('/api/v1/admin/channels/{id}/status', { ...ofChannel, body: active });
assert.equal(opened.response.status, 200);

// Call, at once and later.
const byName = { params: { path: { channel: 'ts-greetings' } } };
const run = await client.POST('/api/v1/data/{channel}', { ...byName, body: { name: 'Ada' } });
const result = run.data as components['schemas']['RunResponse'];
assert.equal(result.status, 'ok');
assert.equal((result.data as { text: string }).text, 'Hello, Ada');
const accepted = await client.POST('/api/v1/data/{channel}/async', { ...byName, body: { name: 'Ada' } });
assert.ok(accepted.data, 'the submission is accepted');
let trace;
do {
  trace = await client.GET('/api/v1/admin/traces/{id}', { params: { path: { id: accepted.data.trace_id } } });
  assert.ok(trace.data, 'the trace is stored with the submission');
} while (trace.data.data.status === 'pending' || trace.data.data.status === 'running');
assert.equal(trace.data.data.status, 'completed');

// List.
const page = await client.GET('/api/v1/admin/workflows', { params: { query: { tag: 'typescript', limit: 10 } } });
assert.deepEqual(page.data?.data.map((row) => row.workflow_id), ['ts-greeting']);
assert.equal(page.data?.total, 1);
assert.ok((await client.GET('/api/v1/admin/functions')).data?.data.some((row) => row.name === 'map'));

// Delete: what is used stays.
const refused = await client.DELETE('/api/v1/admin/workflows/{id}', ofWorkflow);
assert.equal(refused.error?.error.code, 'CONFLICT');
assert.equal((await client.DELETE('/api/v1/admin/channels/{id}', ofChannel)).response.status, 204);
assert.equal((await client.DELETE('/api/v1/admin/workflows/{id}', ofWorkflow)).response.status, 204);
assert.equal((await client.GET('/api/v1/admin/workflows/{id}', ofWorkflow)).error?.error.code, 'NOT_FOUND');
console.log('created, activated, called, listed and deleted');
