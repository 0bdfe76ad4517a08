// The progress of a bulk run that the URL names, on any view.

import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { act, api, read } from "../api/client.ts";
import { useLoad } from "../core/load.ts";
import { query, setQuery } from "../core/router.ts";
import { texts } from "../texts.ts";
import { Button } from "./button.tsx";
import { Status } from "./status.tsx";

const t = texts.runs;
const ENDED = ["aborted", "completed", "failed"];

/** The progress of the bulk run of `bulk` in the URL, with its end. */
export function BulkLine({ ended }: { ended: () => void }) {
  const id = query("bulk");
  const isRunning = useSignal(true);
  const params = { path: { id } };
  const loaded = useLoad(id === "" ? null : `bulk ${id}`, (signal) => read(api.GET("/api/v1/admin/bulk/{id}", { params, signal })), {
    ...(isRunning.value ? { every: 1000 } : {}),
  });
  const run = loaded.data?.data;
  const hasEnded = run !== undefined && ENDED.includes(run.state);
  useEffect(() => {
    isRunning.value = !hasEnded;
    if (hasEnded) ended();
  }, [hasEnded]);
  if (id === "" || run === undefined) return null;
  const total = Math.max(1, run.matched);
  const dealt = run.done + run.failed + run.skipped;
  const abort = () => act(t.aborting, api.POST("/api/v1/admin/bulk/{id}/abort", { params })).then(loaded.reload);
  return (
    <section class="callout run" aria-label={t.progress}>
      <div class="stack grow">
        <div class="row wraps">
          <Status of={run.state} />
          <strong>{t.actions[run.action] ?? run.action}</strong>
          <div class="progress" role="progressbar" aria-label={t.progress} aria-valuenow={dealt} aria-valuemin={0} aria-valuemax={total}>
            <span style={{ width: `${(dealt / total) * 100}%` }} />
          </div>
          <span class="number muted">{t.counts(run.done, run.matched, run.failed, run.skipped)}</span>
          {hasEnded ? (
            <Button kind="plain" icon="close" label={texts.page.close} onClick={() => setQuery({ bulk: null })} />
          ) : (
            <Button kind="danger" icon="stop" acts disabled={run.state === "aborting" ? t.aborting : null} onClick={abort}>
              {t.abort}
            </Button>
          )}
        </div>
        {run.reason !== null && <p class="bad">{run.reason}</p>}
        {run.errors.length > 0 && (
          <details>
            <summary>{t.refused(run.errors.length)}</summary>
            {run.errors.map((error) => (
              <p class="muted breaks" key={error.id}>
                <code>{error.id}</code> {error.message}
              </p>
            ))}
          </details>
        )}
      </div>
    </section>
  );
}
