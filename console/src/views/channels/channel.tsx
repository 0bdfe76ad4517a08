// A channel: what serves and in which state, its guards with what they refused, its versions, what a change would touch.

import { useSignal } from "@preact/signals";
import { api, apiRoot, read, send } from "../../api/client.ts";
import { readProblem } from "../../api/problem.ts";
import type { Channel } from "../../api/types.ts";
import { documentOf, textOf } from "../../core/definitions/documents.ts";
import { channelRates, followRates } from "../../core/channel-rates.ts";
import { formatCompact, formatCount, formatRate, formatShare } from "../../core/format.ts";
import { useCommands } from "../../core/commands.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, go, href, query, setQuery } from "../../core/router.ts";
import { formatDuration, rangeOf } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Button, CopyButton, Segments } from "../../ui/button.tsx";
import { Callout, CommandLine, Facts, LoadState, Panel, Skeleton, ViewBody, ViewHead } from "../../ui/content.tsx";
import { NodeNote } from "../../ui/node-note.tsx";
import { Dependents } from "../../ui/dependents.tsx";
import { JsonTree } from "../../ui/json.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Moment, RangePicker } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { Versions } from "../../ui/versions.tsx";
import type { ViewProps } from "../registry.ts";
import { askForPause, askForRollback, askForStatus, resume } from "./acts.tsx";
import { type ChannelStats, entryOf, guardsOf, stateOf } from "./guards.ts";
import { GuardPanel } from "./guard-panel.tsx";

const t = texts.channels;

const EVERY = 5000;
const TABS = ["overview", "versions", "definition", "dependents"] as const;
/** Versions of one call. */
const VERSIONS = 50;

const channelText = (version: Channel) => textOf("channel", version);

/** Reads the guards and their counts; null from a service that counts none. */
async function readStats(id: string, signal: AbortSignal): Promise<ChannelStats | null> {
  const response = await send(new Request(`${apiRoot}/api/v1/admin/channels/${encodeURIComponent(id)}/stats`, { signal }));
  const body: unknown = await response.json().catch(() => undefined);
  if (response.status === 404) return null;
  if (!response.ok) throw readProblem(response, body);
  return (body as { data: ChannelStats }).data;
}

async function readChannel(id: string, limit: number, signal: AbortSignal) {
  const params = { path: { id }, query: { limit } };
  const [latest, versions] = await Promise.all([
    read(api.GET("/api/v1/admin/channels/{id}", { params: { path: { id } }, signal })),
    read(api.GET("/api/v1/admin/channels/{id}/versions", { params, signal })),
  ]);
  return { latest: latest.data, versions: versions.data, hasMore: versions.total > versions.data.length };
}

function Figures({ channel, stats }: { channel: Channel; stats: ChannelStats | null }) {
  const range = rangeOf(query("range"));
  const filter = { channel: channel.name, since: `-${range.name}` };
  const params = { query: { ...filter, channel: [channel.name], limit: 1, include_counts: true } };
  const runs = useLoad(`channel runs ${channel.name} ${range.name}`, (signal) => read(api.GET("/api/v1/admin/traces", { params, signal })), { every: EVERY * 2, keep: true });
  const rate = channelRates.value.get(channel.name);
  const counts = Object.entries(runs.data?.counts ?? {});
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const failed = runs.data?.counts?.failed ?? 0;
  const refused = stats?.refusals.reduce((sum, refusal) => sum + refusal.count, 0);
  const figures: readonly (readonly [string, string, string | null, boolean])[] = [
    [t.rate, rate === undefined ? "–" : formatRate(rate.requests), null, false],
    [t.p99, formatDuration(rate?.p99_ms), null, false],
    [t.runs(texts.range.names[range.name] ?? range.name), runs.data === undefined ? "–" : formatCompact(total), href("/runs", filter), false],
    [t.failed, total === 0 ? "–" : formatShare(failed / total), href("/runs", { ...filter, status: "failed" }), failed > 0],
    [t.refused, refused === undefined ? "–" : formatCompact(refused), null, false],
  ];
  return (
    <>
      <div class="figures channels-figures">
        {figures.map(([name, value, to, isBad]) => {
          const inner = (
            <>
              <span class={`value${isBad ? " bad" : ""}`}>{value}</span>
              <span class="name">{name}</span>
            </>
          );
          return to === null ? <div key={name} class="figure">{inner}</div> : <a key={name} class="figure figure-link" href={to}>{inner}</a>;
        })}
      </div>
      <p class="channels-node">
        <NodeNote text={t.ofNode} />
      </p>
    </>
  );
}

function States({ channel, quarantine }: { channel: Channel; quarantine: string | null }) {
  return (
    <>
      {quarantine !== null && (
        <Callout kind="bad" role="status">
          {t.quarantined(quarantine)}
        </Callout>
      )}
      {channel.paused && (
        <Callout kind="warn" icon="pause" role="status">
          <p>{t.pausedFor(channel.paused.reason)}</p>
          <p class="row wraps muted">
            <span>
              {t.pausedBy(channel.paused.by)} <Moment at={channel.paused.since} />
            </span>
            {channel.paused.until === null ? (
              <span>{t.untilResumed}</span>
            ) : (
              <span>
                {t.untilWord} <Moment at={channel.paused.until} /> (<Moment at={channel.paused.until} as="distance" />)
              </span>
            )}
          </p>
        </Callout>
      )}
      {channel.status === "draft" && (
        <Callout kind="run">
          {channel.active_version === undefined ? t.onlyDraft : t.hasDraft(channel.version, channel.active_version)}{" "}
          <a class="link" href={href(fillPath("/channels/:id", { id: channel.channel_id }), { tab: "versions" })}>
            {texts.definitions.compare}
          </a>
        </Callout>
      )}
    </>
  );
}

function Causes({ channel }: { channel: Channel }) {
  const range = rangeOf(query("range"));
  const params = { query: { channel: [channel.name], since: `-${range.name}`, limit: 6 } };
  const errors = useLoad(`channel errors ${channel.name} ${range.name}`, (signal) => read(api.GET("/api/v1/admin/errors", { params, signal })), { every: EVERY * 2, keep: true });
  const groups = errors.data?.data ?? [];
  return (
    <Panel
      title={texts.now.failures}
      note={groups.length > 0 ? <span class="badge">{formatCount(errors.data?.total ?? 0)}</span> : undefined}
      actions={<a class="link" href={href("/runs", { by: "error", channel: channel.name })}>{texts.now.allErrors}</a>}
      flush
    >
      {groups.length === 0 ? (
        <p class="calm">{errors.problem ? errors.problem.message : errors.data === undefined ? <Skeleton lines={2} /> : <Status of="ok" text={texts.now.noErrors} />}</p>
      ) : (
        <ul class="lines">
          {groups.map((group) => (
            <li key={group.group}>
              <a class="line" href={href("/runs", { error_group: group.group })}>
                <span class="badge bad">{formatCompact(group.count)}</span>
                <span class="line-text clip" title={group.message}>
                  {group.task !== null && <strong>{group.task} </strong>}
                  {group.message}
                </span>
                <Moment at={group.last_seen} as="distance" />
              </a>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Setup({ channel }: { channel: Channel }) {
  const { config } = channel;
  const text = (name: string) => (config[name] === undefined || config[name] === null ? null : typeof config[name] === "object" ? <code class="breaks">{JSON.stringify(config[name])}</code> : String(config[name]));
  const failure = config["on_failure"];
  return (
    <Panel title={t.setup}>
      <Facts
        facts={[
          [t.columns.serves, channel.workflow_id !== null && <a class="link" href={href(fillPath("/workflows/:id", { id: channel.workflow_id }))}>{channel.workflow_id}</a>],
          [t.version, channel.active_version === undefined ? t.noVersion : `v${channel.active_version}`],
          [t.columns.entry, <span class="row wraps"><span class="tag">{channel.protocol}</span><code class="breaks">{entryOf(channel)}</code></span>],
          [t.answers, t.types[channel.channel_type]],
          [t.id, <code class="breaks">{channel.channel_id}</code>],
          [t.columns.tags, channel.tags.length > 0 && <span class="row wraps">{channel.tags.map((tag) => <a key={tag} class="tag channels-tag" href={href("/channels", { tag })}><span class="clip">{tag}</span></a>)}</span>],
          [t.timeout, typeof config["timeout_ms"] === "number" ? formatDuration(config["timeout_ms"]) : null],
          [t.onFailure, typeof failure === "string" ? failure : null],
          [t.tracing, text("tracing")],
          [t.columns.changed, <Moment at={channel.updated_at} as="full" />],
          [t.description, channel.description],
        ]}
      />
    </Panel>
  );
}

interface BodyProps {
  latest: Channel;
  versions: readonly Channel[];
  reload: () => void;
  /** Reads older versions, if there are some. */
  more: (() => void) | null;
}

function ChannelBody({ latest, versions, reload, more }: BodyProps) {
  followRates();
  const id = latest.channel_id;
  const stats = useLoad(`channel stats ${id}`, (signal) => readStats(id, signal), { every: EVERY });
  const health = useLoad("health", (signal) => read(api.GET("/health", { signal })), { every: EVERY * 2 });
  const quarantine = health.data?.channels?.quarantined.find((row) => row.channel === latest.name)?.reason ?? null;
  const state = stateOf(latest, new Set(quarantine === null ? [] : [latest.name]));
  const asked = query("tab");
  const tab = TABS.find((name) => name === asked) ?? "overview";
  const serving = versions.find((version) => version.version === latest.active_version);
  const shown = serving ?? latest;
  const isServing = latest.active_version !== undefined;
  const isPaused = latest.paused !== undefined && latest.paused !== null;
  const edit = () => go(fillPath("/edit/:kind/:id", { kind: "channel", id }));
  const pause = () => askForPause(latest, reload);
  const group = texts.keys.groups.view;
  useKeys([
    { keys: "r", does: texts.keys.reload, group, run: () => (reload(), stats.reload()) },
    { keys: "e", does: t.edit, group, run: edit },
    ...TABS.map((name, index) => ({ keys: String(index + 1), does: texts.definitions.tabs[name], group, run: () => setQuery({ tab: name }, { replace: true }) })),
  ]);
  useCommands([
    { text: t.edit, group: texts.palette.here, keys: "e", run: edit },
    ...(isServing ? [isPaused ? { text: t.resume, group: texts.palette.here, run: () => void resume(latest, reload) } : { text: t.pause, group: texts.palette.here, run: pause }] : []),
  ]);
  return (
    <>
      <ViewHead title={latest.name} parents={[{ text: texts.views.channels, to: href("/channels") }]} note={<Status of={state} text={texts.definitions.states[state] ?? state} />}>
        <RangePicker />
        {isPaused ? (
          <Button icon="play" acts onClick={() => resume(latest, reload)}>
            {t.resume}
          </Button>
        ) : (
          <Button icon="pause" acts disabled={isServing ? null : t.notServing} onClick={pause}>
            {t.pause}
          </Button>
        )}
        <Button icon="editor" onClick={edit}>
          {t.edit}
        </Button>
        <Menu
          label={texts.page.more}
          items={[
            { text: t.activate(latest.version), icon: "check", disabled: latest.status === "draft" ? null : t.noDraft, run: () => askForStatus(latest, "active", reload) },
            { text: t.archive, icon: "trash", disabled: isServing ? null : t.notServing, run: () => askForStatus(latest, "archived", reload) },
            { text: t.showRuns, icon: "runs", run: () => go("/runs", { channel: latest.name }) },
          ]}
        />
      </ViewHead>
      <ViewBody>
        <div>
          <Segments label={texts.definitions.parts} options={TABS.map((name) => ({ value: name, text: texts.definitions.tabs[name] }))} value={tab} onChange={(name) => setQuery({ tab: name === "overview" ? null : name })} />
        </div>
        {tab === "overview" && (
          <>
            <States channel={latest} quarantine={quarantine} />
            <Figures channel={latest} stats={stats.data ?? null} />
            <div class="grid channels-grid">
              <GuardPanel guards={guardsOf(shown.config, stats.data ?? undefined)} stats={stats.data} problem={stats.problem} channel={id} />
              <div class="stack channels-side">
                <Causes channel={latest} />
                <Setup channel={{ ...shown, ...(latest.active_version === undefined ? {} : { active_version: latest.active_version }) }} />
              </div>
            </div>
          </>
        )}
        {tab === "versions" && (
          <Versions
            versions={versions}
            textOf={channelText}
            rollback={(version) => askForRollback(latest, version, reload)}
            rollbackDisabled={latest.status === "draft" ? texts.definitions.draftFirst : null}
            more={more}
          />
        )}
        {tab === "definition" && (
          <Panel title={t.definitionOf(shown.version)} actions={<CopyButton text={() => channelText(shown)} />}>
            <JsonTree label={texts.definitions.tabs.definition} value={documentOf("channel", shown)} depth={3} />
            <p class="channels-command">
              <CommandLine command={`svc-cli channels get ${id} -o json`} />
            </p>
          </Panel>
        )}
        {tab === "dependents" && <Dependents kind="channel" id={id} />}
      </ViewBody>
    </>
  );
}

/** The view of a channel. */
export default function ChannelView({ parameters }: ViewProps) {
  const id = parameters["id"] ?? "";
  const limit = useSignal(VERSIONS);
  const loaded = useLoad(`channel ${id} ${limit.value}`, (signal) => readChannel(id, limit.value, signal), { every: EVERY * 2, keep: true });
  if (loaded.data !== undefined && loaded.data.latest.channel_id === id) {
    const more = loaded.data.hasMore ? () => void (limit.value += VERSIONS) : null;
    return <ChannelBody latest={loaded.data.latest} versions={loaded.data.versions} reload={loaded.reload} more={more} />;
  }
  return (
    <>
      <ViewHead title={texts.views.channel} parents={[{ text: texts.views.channels, to: href("/channels") }]} />
      <ViewBody><LoadState of={loaded} lines={6} /></ViewBody>
    </>
  );
}
