// The acts on channels: pause, resume, activate, roll back, archive.

import { signal } from "@preact/signals";
import { act, api, read } from "../../api/client.ts";
import type { Channel } from "../../api/types.ts";
import { texts } from "../../texts.ts";
import { ask } from "../../ui/dialog.tsx";
import { IssueList } from "../../ui/issues.tsx";
import { untilOf } from "./until.ts";

const t = texts.channels;

/** The fields of a pause. */
function pauseFields() {
  const reason = signal("");
  const ends = signal("");
  const Fields = () => (
    <>
      <label class="field">
        <span class="label">{t.reason}</span>
        <input class="input" autofocus required maxLength={512} value={reason.value} placeholder={t.reasonHint} onInput={(event) => (reason.value = event.currentTarget.value)} />
      </label>
      <div class="field">
        <span class="label" id="pause-until">
          {t.until}
        </span>
        <div class="row wraps">
          <div class="segments" role="group" aria-labelledby="pause-until">
            {(["", "15m", "1h", "4h"] as const).map((choice) => (
              <button type="button" key={choice} aria-pressed={ends.value === choice} onClick={() => (ends.value = choice)}>
                {t.untils[choice]}
              </button>
            ))}
          </div>
          <input
            class="input"
            type="datetime-local"
            aria-label={t.untilAt}
            value={ends.value.includes("T") ? ends.value : ""}
            onInput={(event) => (ends.value = event.currentTarget.value)}
          />
        </div>
      </div>
    </>
  );
  const bodyOf = () => {
    const until = untilOf(ends.value, Date.now());
    return { reason: reason.value.trim(), ...(until === null ? {} : { until }) };
  };
  return { fields: <Fields />, disabled: () => (reason.value.trim() === "" ? t.reasonMissing : null), bodyOf };
}

/** Asks for a reason and an end, and pauses a channel. */
export function askForPause(channel: Channel, done: () => void): void {
  const { fields, disabled, bodyOf } = pauseFields();
  ask({
    title: t.pauseTitle(channel.name),
    text: t.pauseText,
    fields,
    confirm: t.pause,
    disabled,
    run: () => act(t.pauseDone(channel.name), api.POST("/api/v1/admin/channels/{id}/pause", { params: { path: { id: channel.channel_id } }, body: bodyOf() })).then(done),
  });
}

/** Asks for a reason and an end, and pauses all channels with a label. */
export function askForManyPauses(tag: string, done: () => void): void {
  const { fields, disabled, bodyOf } = pauseFields();
  const count = signal(0);
  ask({
    title: t.pauseTag(tag),
    text: t.pauseText,
    fields,
    preview: async (cancelled) => {
      const page = await read(api.GET("/api/v1/admin/channels", { params: { query: { tag, status: ["active"], limit: 1 } }, signal: cancelled }));
      count.value = page.total;
      return <p>{t.pauseCount(page.total)}</p>;
    },
    confirm: () => t.pauseMany(count.value),
    disabled,
    run: () => act(t.pauseManyDone(tag), api.POST("/api/v1/admin/channels/pause", { body: { filter: { tag }, ...bodyOf() } })).then(done),
  });
}

/** Resumes a channel. */
export function resume(channel: Channel, done: () => void): Promise<void> {
  const params = { path: { id: channel.channel_id } };
  return act(t.resumeDone(channel.name), api.POST("/api/v1/admin/channels/{id}/resume", { params, body: {} })).then(done);
}

/** Asks, and changes the status of a channel: its draft serves, or nothing does. */
export function askForStatus(channel: Channel, status: "active" | "archived", done: () => void): void {
  const params = { path: { id: channel.channel_id } };
  const isActivation = status === "active";
  ask({
    title: isActivation ? t.activateTitle(channel.version) : t.archiveTitle,
    text: isActivation ? t.activateText : t.archiveText,
    preview: async (cancelled) => {
      const answer = await read(api.PATCH("/api/v1/admin/channels/{id}/status", { params: { ...params, query: { dry_run: true } }, body: { status }, signal: cancelled }));
      return <IssueList report={answer} />;
    },
    confirm: isActivation ? t.activate(channel.version) : t.archive,
    isDanger: !isActivation,
    run: () => act(isActivation ? t.activateDone(channel.version) : t.archiveDone, api.PATCH("/api/v1/admin/channels/{id}/status", { params, body: { status } })).then(done),
  });
}

/** Asks, and makes an earlier version serve again. */
export function askForRollback(channel: Channel, version: number, done: () => void): void {
  const params = { path: { id: channel.channel_id } };
  const body = { to_version: version };
  ask({
    title: texts.definitions.rollbackTitle(version),
    text: texts.definitions.rollbackText,
    preview: async (cancelled) => {
      const answer = await read(api.POST("/api/v1/admin/channels/{id}/rollback", { params: { ...params, query: { dry_run: true } }, body, signal: cancelled }));
      return <IssueList report={answer} />;
    },
    confirm: texts.definitions.rollback(version),
    run: () => act(texts.definitions.rollbackDone(version), api.POST("/api/v1/admin/channels/{id}/rollback", { params, body })).then(done),
  });
}
