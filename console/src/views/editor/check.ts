// The check of a text: as JSON by the page, as a definition by the service, with the messages of `lint`.

import { api, asDryRun, read } from "../../api/client.ts";
import type { ApiProblem } from "../../api/problem.ts";
import { type Issue, type Kind, parseDocument, updateOf } from "../../core/definitions/documents.ts";
import { isReport } from "../../ui/issues.tsx";
import type { Stored } from "./stored.ts";

/** The result of a check. */
export interface Check {
  state: "checking" | "done" | "failed" | "invalid";
  issues: { errors: readonly Issue[]; warnings: readonly Issue[] };
  problem?: ApiProblem;
}

const NONE = { errors: [], warnings: [] };

/** Checks a text. What has a draft is checked as its change, so that hidden secrets may stay in their places. */
export async function check(kind: Kind, text: string, stored: Stored | null, signal: AbortSignal): Promise<Check> {
  const parsed = parseDocument(text);
  // The editor marks what is no JSON by itself.
  if ("problem" in parsed) return { state: "invalid", issues: NONE };
  const { document } = parsed;
  if (stored?.latest.status === "draft") {
    const options = asDryRun({ params: { path: { id: stored.id } }, body: updateOf(kind, document), signal });
    const answer = kind === "channel" ? await read(api.PUT("/api/v1/admin/channels/{id}", options)) : await read(api.PUT("/api/v1/admin/workflows/{id}", options));
    return { state: "done", issues: isReport(answer.data) ? answer.data : NONE };
  }
  const options = { body: document, signal };
  const answer = kind === "channel" ? await read(api.POST("/api/v1/admin/channels/validate", options)) : await read(api.POST("/api/v1/admin/workflows/validate", options));
  return { state: "done", issues: answer.data };
}
