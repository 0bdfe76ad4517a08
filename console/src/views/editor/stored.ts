// What the service has of a definition: its latest version, the one that serves, and the tag for changes.

import { api, read } from "../../api/client.ts";
import type { Kind } from "../../core/definitions/documents.ts";

/** A version as the editor needs it. */
export interface StoredVersion {
  version: number;
  status: string;
  name: string;
  active_version?: number;
}

/** A stored definition. */
export interface Stored {
  id: string;
  latest: StoredVersion;
  /** The version that serves, if another one is the latest. */
  serving: StoredVersion | undefined;
  /** Number of versions that share the traffic. */
  activeCount: number;
  /** The tag of what was read: a change is refused if the definition is another meanwhile. */
  etag: string | null;
}

/** Versions among which those that serve are looked for. */
const VERSIONS = 20;

/** Reads a definition. */
export async function readStored(kind: Kind, id: string, signal: AbortSignal): Promise<Stored> {
  const params = { path: { id } };
  let etag: string | null = null;
  const keepTag = <T extends { response: Response }>(answer: T): T => {
    etag = answer.response.headers.get("etag");
    return answer;
  };
  const many = { ...params, query: { limit: VERSIONS } };
  const [latest, versions] =
    kind === "channel"
      ? await Promise.all([
          read(api.GET("/api/v1/admin/channels/{id}", { params, signal }).then(keepTag)),
          read(api.GET("/api/v1/admin/channels/{id}/versions", { params: many, signal })),
        ])
      : await Promise.all([
          read(api.GET("/api/v1/admin/workflows/{id}", { params, signal }).then(keepTag)),
          read(api.GET("/api/v1/admin/workflows/{id}/versions", { params: many, signal })),
        ]);
  const rows: readonly StoredVersion[] = versions.data;
  const active = rows.filter((row) => row.status === "active");
  const { active_version: number } = latest.data;
  const serving = number === undefined || number === latest.data.version ? undefined : rows.find((row) => row.version === number);
  return { id, latest: latest.data, serving, activeCount: active.length, etag };
}
