// The acts on one run: run it again, cancel it, requeue its dead letter.

import { signal } from "@preact/signals";
import { act, api } from "../../api/client.ts";
import type { DeadLetterSummary, Trace } from "../../api/types.ts";
import { fillPath, go } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Prose } from "../../ui/content.tsx";
import { ask } from "../../ui/dialog.tsx";

const t = texts.runView;

const ENDED = ["completed", "failed", "cancelled"];

/** Returns whether a run has ended. */
export const hasEnded = (trace: Trace): boolean => ENDED.includes(trace.status);

/** Returns the reason for which a run cannot be run again, or null. */
export function whyNoRerun(trace: Trace, letter: DeadLetterSummary | undefined): string | null {
  if (!hasEnded(trace)) return t.notEnded;
  return letter === undefined ? null : t.letterWaits;
}

/** Returns the reason for which a run cannot be cancelled, or null. */
export function whyNoCancel(trace: Trace): string | null {
  if (hasEnded(trace)) return t.hasEnded;
  if (trace.mode === "cron") return t.cancelOccurrence;
  return trace.mode === "async" ? null : t.cancelAcceptedOnly;
}

function parsePayload(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

/** Asks for the version and the payload, and runs the input once more. */
export function askForRerun(trace: Trace, payload: unknown): void {
  const version = signal<"current" | "same" | "number">("current");
  const number = signal(trace.workflow_version ?? 1);
  const isEdited = signal(false);
  const text = signal(payload === undefined ? "{}" : JSON.stringify(payload, null, 2));
  const choose = (value: "current" | "same" | "number", label: string) => (
    <label class="check" key={value}>
      <input type="radio" name="rerun-version" checked={version.value === value} onChange={() => (version.value = value)} />
      {label}
    </label>
  );
  const Fields = () => (
    <>
      <fieldset class="run-fields">
        <legend>{t.version}</legend>
        {choose("current", t.versionCurrent)}
        {choose("same", t.versionSame(trace.workflow_version))}
        <span class="row">
          {choose("number", t.versionNumber)}
          <input
            class="input number"
            type="number"
            min={1}
            aria-label={t.versionNumber}
            value={number.value}
            onInput={(event) => {
              number.value = Math.max(1, Number(event.currentTarget.value) || 1);
              version.value = "number";
            }}
          />
        </span>
      </fieldset>
      <label class="check">
        <input type="checkbox" checked={isEdited.value} onChange={(event) => (isEdited.value = event.currentTarget.checked)} />
        {payload === undefined ? t.otherPayloadUnknown : t.otherPayload}
      </label>
      {isEdited.value && (
        <textarea
          class="input"
          rows={10}
          spellcheck={false}
          aria-label={t.payload}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      )}
    </>
  );
  ask({
    title: t.rerun,
    text: t.rerunText,
    fields: <Fields />,
    confirm: t.rerun,
    disabled: () => (isEdited.value && parsePayload(text.value) === null ? t.notJson : null),
    run: async () => {
      const edited = isEdited.value ? parsePayload(text.value) : null;
      const body = {
        version: version.value === "number" ? number.value : version.value,
        ...(edited === null ? {} : { payload: edited.value }),
      };
      const params = { path: { id: trace.id } };
      const { body: answer } = await act(t.rerunDone, api.POST("/api/v1/admin/traces/{id}/rerun", { params, body: body }));
      go(fillPath("/runs/:id", { id: answer.data.trace_id }));
    },
  });
}

/** Asks, and cancels accepted work. */
export function askForCancel(trace: Trace, done: () => void): void {
  const report = signal(false);
  const Fields = () => (
    <label class="check">
      <input type="checkbox" checked={report.value} onChange={(event) => (report.value = event.currentTarget.checked)} />
      <span>
        <Prose text={t.report} />
      </span>
    </label>
  );
  ask({
    title: t.cancel,
    text: t.cancelText,
    fields: <Fields />,
    confirm: t.cancel,
    isDanger: true,
    run: () => {
      const params = { path: { id: trace.id }, query: report.value ? { report: true } : {} };
      return act(t.cancelDone, api.POST("/api/v1/admin/traces/{id}/cancel", { params })).then(done);
    },
  });
}

/** The buttons of the acts. */
export function RunActs(props: { trace: Trace; letter: DeadLetterSummary | undefined; payload: unknown; reload: () => void }) {
  const { trace, letter, payload, reload } = props;
  const requeue = () => {
    const params = { path: { id: letter?.id ?? "" } };
    return act(t.requeueDone, api.POST("/api/v1/admin/trace-dlq/{id}/requeue", { params })).then(reload);
  };
  return (
    <>
      {letter !== undefined && (
        <Button icon="rerun" acts onClick={requeue} title={t.requeueText}>
          {t.requeue}
        </Button>
      )}
      {!hasEnded(trace) && (
        <Button icon="stop" acts disabled={whyNoCancel(trace)} onClick={() => askForCancel(trace, reload)}>
          {t.cancel}
        </Button>
      )}
      <Button icon="play" acts disabled={whyNoRerun(trace, letter)} onClick={() => askForRerun(trace, payload)}>
        {t.rerun}
      </Button>
    </>
  );
}
