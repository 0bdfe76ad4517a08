// An occurrence of a schedule: what became of it and why, and the run that it led to.

import { signal } from "@preact/signals";
import { act, api, read } from "../../api/client.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { href } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Callout, CommandLine, Facts, LoadState, Panel, RunLink, ViewBody, ViewHead, WorkflowLink } from "../../ui/content.tsx";
import { ask } from "../../ui/dialog.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import type { ViewProps } from "../registry.ts";

const t = texts.runView;

const EVERY = 3000;
const OPEN = ["pending", "claimed", "running"];
const CAN_RETRY = ["failed", "skipped_misfire", "skipped_singleton", "cancelled"];

function askForRetry(id: string, done: () => void): void {
  const version = signal<"current" | "same">("current");
  const choose = (value: "current" | "same", label: string) => (
    <label class="check">
      <input type="radio" name="retry-version" checked={version.value === value} onChange={() => (version.value = value)} />
      {label}
    </label>
  );
  const Fields = () => (
    <fieldset class="run-fields">
      <legend>{t.version}</legend>
      {choose("current", t.versionCurrent)}
      {choose("same", t.versionSame(null))}
    </fieldset>
  );
  ask({
    title: t.retry,
    text: t.retryText,
    fields: <Fields />,
    confirm: t.retry,
    run: () => {
      const params = { path: { id } };
      const body = version.value === "same" ? { version: "same" as const } : undefined;
      return act(t.retryDone, api.POST("/api/v1/admin/cron/occurrences/{id}/retry", { params, body: body })).then(done);
    },
  });
}

function askForCancel(id: string, done: () => void): void {
  const params = { path: { id } };
  ask({
    title: t.cancel,
    text: t.cancelOccurrenceText,
    confirm: t.cancel,
    isDanger: true,
    run: () => act(t.cancelDone, api.POST("/api/v1/admin/cron/occurrences/{id}/cancel", { params })).then(done),
  });
}

/** The view of an occurrence. */
export default function Occurrence({ parameters }: ViewProps) {
  const id = parameters["id"] ?? "";
  const params = { path: { id } };
  const loaded = useLoad(`occurrence ${id}`, (cancelled) => read(api.GET("/api/v1/admin/cron/occurrences/{id}", { params, signal: cancelled })), { every: EVERY });
  const row = loaded.data?.data;
  const why = useLoad(row === undefined ? null : `why ${row.channel_id} ${row.scheduled_for} ${row.status}`, (cancelled) =>
    read(api.GET("/api/v1/admin/channels/{id}/why", { params: { path: { id: row?.channel_id ?? "" }, query: { at: row?.scheduled_for ?? "" } }, signal: cancelled })),
  );
  useKeys([{ keys: "r", does: texts.keys.reload, group: texts.keys.groups.view, run: loaded.reload }]);
  const parents = [{ text: texts.views.runs, to: href("/runs", { kind: "occurrences" }) }];
  if (row === undefined) {
    return (
      <>
        <ViewHead title={texts.views.occurrence} parents={parents} />
        <ViewBody><LoadState of={loaded} lines={5} /></ViewBody>
      </>
    );
  }
  const isOpen = OPEN.includes(row.status);
  const explanation = why.data?.data;
  return (
    <>
      <ViewHead title={row.channel_name} parents={parents} note={<Status of={row.status} />}>
        {isOpen ? (
          <Button icon="stop" acts onClick={() => askForCancel(id, loaded.reload)}>
            {t.cancel}
          </Button>
        ) : (
          <Button icon="rerun" acts disabled={CAN_RETRY.includes(row.status) ? null : t.noRetry} onClick={() => askForRetry(id, loaded.reload)}>
            {t.retry}
          </Button>
        )}
      </ViewHead>
      <ViewBody>
        {explanation && (
          <Callout {...(isOpen ? { kind: "run" as const } : {})} role="status">
            {explanation.sentence}
          </Callout>
        )}
        {row.error_message !== null && explanation?.sentence.includes(row.error_message) !== true && <Callout kind={row.status === "failed" ? "bad" : "warn"}>{row.error_message}</Callout>}
        <div class="grid">
          <Panel title={t.facts}>
            <Facts
              facts={[
                [t.id, <code class="breaks">{row.id}</code>],
                [t.channel, <a class="link" href={href("/runs", { channel: row.channel_name })}>{row.channel_name}</a>],
                [t.due, <Moment at={row.scheduled_for} as="full" />],
                [t.trigger, row.trigger],
                [t.run, row.trace_id && <RunLink id={row.trace_id} />],
                [t.started, row.started_at && <Moment at={row.started_at} as="full" />],
                [t.completed, row.completed_at && <Moment at={row.completed_at} as="full" />],
                [t.attempt, String(row.attempt)],
                [t.workflow, row.workflow_id && <WorkflowLink id={row.workflow_id} version={null} />],
                [t.versionOfChannel, String(row.executing_version ?? row.channel_version)],
                [t.claimedBy, row.claimed_by],
                [t.claimedUntil, row.claimed_until && <Moment at={row.claimed_until} as="full" />],
                [t.key, row.singleton_key],
                [t.cancelledBy, row.cancelled_by],
              ]}
            />
          </Panel>
          {explanation && (
            <Panel title={t.schedule}>
              <div class="stack">
                <Facts
                  facts={[
                    [t.previous, explanation.previous && <Moment at={explanation.previous.scheduled_for} as="full" />],
                    [t.next, explanation.next && <Moment at={explanation.next} as="full" />],
                    [t.position(explanation.position ?? 0), explanation.position === undefined ? null : String(explanation.position)],
                    [t.clock, explanation.clock.is_off ? t.clockOff(explanation.clock.offset_ms) : null],
                  ]}
                />
                <CommandLine command={`svc-cli why ${row.channel_id} --at ${row.scheduled_for}`} />
              </div>
            </Panel>
          )}
        </div>
      </ViewBody>
    </>
  );
}
