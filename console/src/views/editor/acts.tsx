// The acts of the editor: save as a draft, activate with a rollout.

import { act, api, read } from "../../api/client.ts";
import { type Kind, updateOf } from "../../core/definitions/documents.ts";
import { texts } from "../../texts.ts";
import { ask } from "../../ui/dialog.tsx";
import { IssueList } from "../../ui/issues.tsx";
import { rolloutFields } from "../../ui/rollout.tsx";
import type { Stored } from "./stored.ts";

const t = texts.editor;

/** Saves a document as a draft: a new definition, the draft that is there, or a new version. Returns the id. */
export async function saveDraft(kind: Kind, stored: Stored | null, document: Record<string, unknown>): Promise<string> {
  if (stored === null) {
    const body = document as never;
    const made =
      kind === "channel"
        ? await act(t.created, api.POST("/api/v1/admin/channels", { body }))
        : await act(t.created, api.POST("/api/v1/admin/workflows", { body }));
    const { data } = made.body as { data: { channel_id?: string; workflow_id?: string } };
    return data.channel_id ?? data.workflow_id ?? "";
  }
  const path = { id: stored.id };
  let version = stored.latest.version;
  let etag = stored.etag;
  if (stored.latest.status !== "draft") {
    const from = { params: { path, header: etag === null ? {} : { "If-Match": etag } }, body: { from_version: version } };
    version += 1;
    const made = kind === "channel" ? await act(t.draftMade(version), api.POST("/api/v1/admin/channels/{id}/versions", from)) : await act(t.draftMade(version), api.POST("/api/v1/admin/workflows/{id}/versions", from));
    version = (made.body as { data: { version: number } }).data.version;
    etag = null;
  }
  const options = { params: { path, header: etag === null ? {} : { "If-Match": etag } }, body: updateOf(kind, document) as never };
  if (kind === "channel") await act(t.saved(version), api.PUT("/api/v1/admin/channels/{id}", options));
  else await act(t.saved(version), api.PUT("/api/v1/admin/workflows/{id}", options));
  return stored.id;
}

/** Asks for the share of the traffic of a workflow, and lets the draft serve. */
export function askForActivation(kind: Kind, stored: Stored, done: () => void): void {
  const path = { id: stored.id };
  const { version } = stored.latest;
  const rollout = kind === "workflow" ? rolloutFields(stored.activeCount > 0, stored.activeCount > 1) : { fields: null, bodyOf: () => ({ status: "active" as const }) };
  const send = (dryRun: boolean, signal?: AbortSignal) => {
    const options = { params: { path, ...(dryRun ? { query: { dry_run: true } as never } : {}) }, body: rollout.bodyOf(), ...(signal ? { signal } : {}) };
    return kind === "channel" ? api.PATCH("/api/v1/admin/channels/{id}/status", options) : api.PATCH("/api/v1/admin/workflows/{id}/status", options);
  };
  ask({
    title: texts.definitions.activateTitle(version),
    text: texts.definitions.activateText,
    fields: rollout.fields,
    preview: async (cancelled) => <IssueList report={(await read(send(true, cancelled) as never)) as never} />,
    confirm: texts.definitions.activate(version),
    run: () => act(texts.definitions.activateDone(version), send(false) as never).then(done),
  });
}
