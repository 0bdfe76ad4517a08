// Reads and acts about one node.

import type { ConnectorCalls, ChannelStats, DrainedNode, EffectiveConfig, GuardTrialRequest, GuardTrialResult } from "./node-types.ts";
import { act, api, type Done, read } from "./client.ts";
import type { ApiProblem } from "./problem.ts";

/** Reads the refusals of a channel that the node has counted. */
export const readChannelStats = async (id: string, signal: AbortSignal): Promise<ChannelStats> =>
  (await read(api.GET("/api/v1/admin/channels/{id}/stats", { params: { path: { id } }, signal }))).data;

/** Tries a request against the guards of a channel; it takes nothing and runs nothing. */
export const tryRequest = (id: string, body: GuardTrialRequest, done: string): Promise<Done<{ data: GuardTrialResult }>> =>
  act(done, api.POST("/api/v1/admin/channels/{id}/test", { params: { path: { id } }, body }));

/** Reads the last calls of a connector. */
export const readConnectorCalls = async (id: string, signal: AbortSignal): Promise<ConnectorCalls> =>
  (await read(api.GET("/api/v1/admin/connectors/{id}/calls", { params: { path: { id } }, signal }))).data;

/** Reads the configuration in effect. */
export const readConfiguration = async (signal: AbortSignal): Promise<EffectiveConfig> => (await read(api.GET("/api/v1/admin/config", { signal }))).data;

/** Begins the end of a node. */
export const drainNode = (node: string, done: string): Promise<Done<{ data: DrainedNode }>> =>
  act(done, api.POST("/api/v1/admin/nodes/drain", { params: { query: { node } } }));

/** Returns whether a problem means that the node is too old to have the endpoint. */
export const isAbsent = (problem: ApiProblem | undefined): boolean => problem?.status === 404 || problem?.status === 405;
