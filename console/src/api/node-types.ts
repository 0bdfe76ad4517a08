// Names for the bodies of endpoints about one node, and of the configuration.

import type { components } from "./schema.d.ts";

type Schemas = components["schemas"];

export type ChannelStats = Schemas["ChannelStats"];
export type RefusalCount = Schemas["RefusalCount"];
export type GuardTrialRequest = Schemas["GuardTrialRequest"];
export type GuardTrialResult = Schemas["GuardTrialResult"];
export type ConnectorCalls = Schemas["ConnectorCalls"];
export type ConnectorCall = Schemas["ConnectorCall"];
export type EffectiveSetting = Schemas["EffectiveSetting"];
export type EffectiveConfig = Schemas["EffectiveConfig"];
export type NodeFigures = Schemas["NodeFigures"];
export type DrainedNode = Schemas["DrainedNode"];
