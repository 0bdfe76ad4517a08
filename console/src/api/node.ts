// Reads and acts about one node, which the committed document of the API does not have yet: once it does, they are calls of
// `api` like all others.

import type { ConnectorCalls, ChannelStats, DrainedNode, EffectiveConfig, GuardTrialRequest, GuardTrialResult } from "./node-types.ts";
import { act, api, type Done, read } from "./client.ts";
import type { ApiProblem } from "./problem.ts";

interface Envelope<T> {
  data: T;
}

interface Options {
  params?: { path?: Record<string, string>; query?: Record<string, unknown> };
  body?: unknown;
  signal?: AbortSignal;
}

type Answer<T> = Promise<{ data?: T; error?: unknown; response: Response }>;

// The client takes the paths of its document alone; these are not in it.
const untyped = api as unknown as Record<"GET" | "POST", <T>(path: string, options: Options) => Answer<Envelope<T>>>;

const get = async <T>(path: string, options: Options): Promise<T> => (await read(untyped.GET<T>(path, options))).data;

/** Reads the refusals of a channel that the node has counted. */
export const readChannelStats = (id: string, signal: AbortSignal): Promise<ChannelStats> =>
  get("/api/v1/admin/channels/{id}/stats", { params: { path: { id } }, signal });

/** Tries a request against the guards of a channel; it takes nothing and runs nothing. */
export const tryRequest = (id: string, body: GuardTrialRequest, done: string): Promise<Done<Envelope<GuardTrialResult>>> =>
  act(done, untyped.POST<GuardTrialResult>("/api/v1/admin/channels/{id}/test", { params: { path: { id } }, body }));

/** Reads the last calls of a connector. */
export const readConnectorCalls = (id: string, signal: AbortSignal): Promise<ConnectorCalls> =>
  get("/api/v1/admin/connectors/{id}/calls", { params: { path: { id } }, signal });

/** Reads the configuration in effect. */
export const readConfiguration = (signal: AbortSignal): Promise<EffectiveConfig> => get("/api/v1/admin/config", { signal });

/** Begins the end of a node. */
export const drainNode = (node: string, done: string): Promise<Done<Envelope<DrainedNode>>> =>
  act(done, untyped.POST<DrainedNode>("/api/v1/admin/nodes/drain", { params: { query: { node } } }));

/** Returns whether a problem means that the node is too old to have the endpoint. */
export const isAbsent = (problem: ApiProblem | undefined): boolean => problem?.status === 404 || problem?.status === 405;
