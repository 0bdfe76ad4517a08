// The acts on workflows: activate with a rollout, archive, roll back.

import { act, api, read } from "../../api/client.ts";
import type { Workflow } from "../../api/types.ts";
import { texts } from "../../texts.ts";
import { ask } from "../../ui/dialog.tsx";
import { IssueList } from "../../ui/issues.tsx";
import { rolloutFields } from "../../ui/rollout.tsx";

const t = texts.workflows;

/** Asks for the share of the traffic, and activates the draft. */
export function askForActivation(workflow: Workflow, hasActive: boolean, hasCanary: boolean, done: () => void): void {
  const params = { path: { id: workflow.workflow_id } };
  const { fields, bodyOf } = rolloutFields(hasActive, hasCanary);
  ask({
    title: texts.definitions.activateTitle(workflow.version),
    text: texts.definitions.activateText,
    fields,
    preview: async (cancelled) => {
      const answer = await read(api.PATCH("/api/v1/admin/workflows/{id}/status", { params: { ...params, query: { dry_run: true } }, body: bodyOf(), signal: cancelled }));
      return <IssueList report={answer} />;
    },
    confirm: texts.definitions.activate(workflow.version),
    run: () => act(texts.definitions.activateDone(workflow.version), api.PATCH("/api/v1/admin/workflows/{id}/status", { params, body: bodyOf() })).then(done),
  });
}

/** Asks, and lets no version serve any more. */
export function askForArchival(workflow: Workflow, done: () => void): void {
  const params = { path: { id: workflow.workflow_id } };
  const body = { status: "archived" } as const;
  ask({
    title: t.archiveTitle,
    text: t.archiveText,
    preview: async (cancelled) => {
      const answer = await read(api.PATCH("/api/v1/admin/workflows/{id}/status", { params: { ...params, query: { dry_run: true } }, body, signal: cancelled }));
      return <IssueList report={answer} />;
    },
    confirm: t.archive,
    isDanger: true,
    run: () => act(t.archiveDone, api.PATCH("/api/v1/admin/workflows/{id}/status", { params, body })).then(done),
  });
}

/** Asks, and makes an earlier version serve again. */
export function askForRollback(workflow: Workflow, version: number, done: () => void): void {
  const params = { path: { id: workflow.workflow_id } };
  const body = { to_version: version };
  ask({
    title: texts.definitions.rollbackTitle(version),
    text: texts.definitions.rollbackText,
    preview: async (cancelled) => {
      const answer = await read(api.POST("/api/v1/admin/workflows/{id}/rollback", { params: { ...params, query: { dry_run: true } }, body, signal: cancelled }));
      return <IssueList report={answer} />;
    },
    confirm: texts.definitions.rollback(version),
    run: () => act(texts.definitions.rollbackDone(version), api.POST("/api/v1/admin/workflows/{id}/rollback", { params, body })).then(done),
  });
}
