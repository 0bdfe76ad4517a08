// The acts of the editor: save as a draft, activate with a rollout.

import { act, api, asDryRun, read } from "../../api/client.ts";
import type { NewChannel, NewWorkflow } from "../../api/types.ts";
import { type Kind, updateOf } from "../../core/definitions/documents.ts";
import { texts } from "../../texts.ts";
import { ask } from "../../ui/dialog.tsx";
import { IssueList } from "../../ui/issues.tsx";
import { rolloutFields } from "../../ui/rollout.tsx";
import type { Stored } from "./stored.ts";

const t = texts.editor;

const idOf = (data: object): string => String("channel_id" in data ? data.channel_id : "workflow_id" in data ? data.workflow_id : "");
const versionOf = (data: object): number | undefined => ("version" in data && typeof data.version === "number" ? data.version : undefined);

/** Saves a document as a draft: a new definition, the draft that is there, or a new version. Returns the id. */
export async function saveDraft(kind: Kind, stored: Stored | null, document: Record<string, unknown>): Promise<string> {
  if (stored === null) {
    // The service checks the members.
    const made =
      kind === "channel"
        ? await act(t.created, api.POST("/api/v1/admin/channels", { body: document as NewChannel }))
        : await act(t.created, api.POST("/api/v1/admin/workflows", { body: document as NewWorkflow }));
    return idOf(made.body.data);
  }
  const path = { id: stored.id };
  let version = stored.latest.version;
  let etag = stored.etag;
  if (stored.latest.status !== "draft") {
    const from = { params: { path, header: etag === null ? {} : { "If-Match": etag } }, body: { from_version: version } };
    version += 1;
    const made = kind === "channel" ? await act(t.draftMade(version), api.POST("/api/v1/admin/channels/{id}/versions", from)) : await act(t.draftMade(version), api.POST("/api/v1/admin/workflows/{id}/versions", from));
    version = versionOf(made.body.data) ?? version;
    etag = null;
  }
  const options = { params: { path, header: etag === null ? {} : { "If-Match": etag } }, body: updateOf(kind, document) };
  if (kind === "channel") await act(t.saved(version), api.PUT("/api/v1/admin/channels/{id}", options));
  else await act(t.saved(version), api.PUT("/api/v1/admin/workflows/{id}", options));
  return stored.id;
}

/** Asks for the share of the traffic of a workflow, and lets the draft serve. */
export function askForActivation(kind: Kind, stored: Stored, done: () => void): void {
  const path = { id: stored.id };
  const { version } = stored.latest;
  const rollout = kind === "workflow" ? rolloutFields(stored.activeCount > 0, stored.activeCount > 1) : { fields: null, bodyOf: () => ({ status: "active" as const }) };
  const optionsOf = () => ({ params: { path }, body: rollout.bodyOf() });
  const preview = async (signal: AbortSignal) => {
    const options = asDryRun({ ...optionsOf(), signal });
    return kind === "channel" ? read(api.PATCH("/api/v1/admin/channels/{id}/status", options)) : read(api.PATCH("/api/v1/admin/workflows/{id}/status", options));
  };
  const activate = async () => {
    const said = texts.definitions.activateDone(version);
    if (kind === "channel") await act(said, api.PATCH("/api/v1/admin/channels/{id}/status", optionsOf()));
    else await act(said, api.PATCH("/api/v1/admin/workflows/{id}/status", optionsOf()));
    done();
  };
  ask({
    title: texts.definitions.activateTitle(version),
    text: texts.definitions.activateText,
    fields: rollout.fields,
    preview: async (cancelled) => <IssueList report={await preview(cancelled)} />,
    confirm: texts.definitions.activate(version),
    run: activate,
  });
}
