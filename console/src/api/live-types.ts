// Events of the live stream, `GET /api/v1/admin/live`.

import type { components } from "./schema.d.ts";

type Schemas = components["schemas"];

export type LiveTraffic = Schemas["LiveTraffic"];
export type LiveChannel = Schemas["LiveChannel"];
export type LiveTreeTotals = Schemas["LiveTreeTotals"];
export type LiveActor = Schemas["LiveActor"];
export type LiveCounts = Schemas["LiveCounts"];
export type LiveRun = Schemas["LiveRun"];
export type LiveSeries = Schemas["LiveSeries"];

/** The data of each type of event. */
export interface LivePayloads {
  /** Everything at one instant. It replaces what came before. */
  picture: Schemas["LivePicture"];
  /** What changed in a second. */
  changes: Schemas["LiveChanges"];
  /** The last event of a stream that the server ends. */
  end: Schemas["LiveEnd"];
}

/** The type of an event. */
export type LiveType = keyof LivePayloads;
