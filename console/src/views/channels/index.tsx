// Channels: what serves, in which state, at which rate, and what fails.

import { useMemo } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { api, read } from "../../api/client.ts";
import type { Channel } from "../../api/types.ts";
import { channelRates, followRates } from "../../core/channel-rates.ts";
import { readChannels } from "../../core/definitions/read.ts";
import { type FilterWord, filterParameters } from "../../core/filters.ts";
import { formatCompact, formatCount, formatRate } from "../../core/format.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, go, href, place, query } from "../../core/router.ts";
import { formatDuration, rangeOf } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/content.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { ListView } from "../../ui/list.tsx";
import { Moment, RangePicker } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import type { Column } from "../../ui/table.tsx";
import { askForManyPauses } from "./acts.tsx";
import { entryOf, stateOf } from "./guards.ts";
import { countByChannel, fits } from "./rows.ts";

const t = texts.channels;

const EVERY = 15_000;
const STATES = ["active", "paused", "quarantined", "draft", "archived"] as const;

interface Row {
  channel: Channel;
  state: string;
  failures: number;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "name",
    title: t.columns.name,
    width: "26%",
    cell: ({ channel, state }) => (
      <span class="row">
        <Status of={state} symbolOnly />
        <span class="clip channels-name" title={channel.description ?? channel.name}>
          {channel.name}
        </span>
        {state !== "active" && <span class="tag channels-state">{texts.definitions.states[state] ?? state}</span>}
      </span>
    ),
  },
  {
    name: "serves",
    title: t.columns.serves,
    width: "20%",
    rank: 2,
    cell: ({ channel }) => (
      <span class="row">
        <span class="clip">{channel.workflow_id ?? "–"}</span>
        <span class="faint">{channel.active_version === undefined ? "" : `v${channel.active_version}`}</span>
        {channel.status === "draft" && channel.active_version !== undefined && <span class="tag">{t.draft(channel.version)}</span>}
      </span>
    ),
  },
  {
    name: "entry",
    title: t.columns.entry,
    rank: 3,
    cell: ({ channel }) => (
      <span class="row">
        <span class="tag">{channel.protocol}</span>
        <code class="clip muted">{entryOf(channel)}</code>
      </span>
    ),
  },
  { name: "rate", title: t.columns.rate, width: "72px", isNumber: true, cell: ({ channel }) => <Rate key={channel.name} of={channel.name} /> },
  {
    name: "failures",
    title: t.columns.failures,
    width: "76px",
    isNumber: true,
    cell: (row) => (row.failures === 0 ? <span class="faint">0</span> : <span class="badge bad" title={formatCount(row.failures)}>{formatCompact(row.failures)}</span>),
  },
  { name: "p99", title: t.columns.p99, width: "82px", isNumber: true, rank: 2, cell: ({ channel }) => <Slowest key={channel.name} of={channel.name} /> },
  { name: "changed", title: t.columns.changed, width: "104px", isNumber: true, rank: 3, cell: ({ channel }) => <Moment at={channel.updated_at} /> },
];

const NO_RATE = formatRate(0);

// Each follows the stream by itself, and is drawn again where its own text changes.
function Rate({ of: name }: { of: string }) {
  const rate = useComputed(() => formatRate(channelRates.value.get(name)?.requests ?? 0)).value;
  return rate === NO_RATE ? <span class="faint">–</span> : <>{rate}</>;
}

function Slowest({ of: name }: { of: string }) {
  return <span class="muted">{useComputed(() => formatDuration(channelRates.value.get(name)?.p99_ms))}</span>;
}

function wordsFor(channels: readonly Channel[]): FilterWord[] {
  const tags = [...new Set(channels.flatMap((channel) => channel.tags))].sort();
  return [
    { name: "state", hint: t.words.state, values: STATES, several: true },
    { name: "q", hint: t.words.name, several: false },
    { name: "tag", hint: t.words.tag, values: tags, several: false },
    { name: "protocol", hint: t.words.protocol, values: ["rest", "http", "kafka", "cron"], several: true },
    { name: "workflow", hint: t.words.workflow, several: false },
  ];
}

/** The view of channels. */
export default function Channels() {
  followRates();
  const range = rangeOf(query("range"));
  const all = useLoad("channels all", readChannels, { every: EVERY });
  const health = useLoad("health", (signal) => read(api.GET("/health", { signal })), { every: EVERY });
  const params = { query: { since: `-${range.name}`, limit: 500 } };
  const errors = useLoad(`channels errors ${range.name}`, (signal) => read(api.GET("/api/v1/admin/errors", { params, signal })), { every: EVERY, keep: true });
  const channels = all.data?.rows ?? [];
  const quarantined = new Set(health.data?.channels?.quarantined.map((row) => row.channel) ?? []);
  const failures = countByChannel(errors.data?.data ?? []);
  const words = useMemo(() => wordsFor(channels), [all.data]);
  const filter = filterParameters(place.value.query, words);
  const rows = channels
    .map((channel): Row => ({ channel, state: stateOf(channel, quarantined), failures: failures.get(channel.name) ?? 0 }))
    .filter((row) => fits(row.channel, row.state, filter));
  const counts: Record<string, number> = {};
  for (const channel of channels) counts[stateOf(channel, quarantined)] = (counts[stateOf(channel, quarantined)] ?? 0) + 1;
  const workflows = [...new Set(channels.map((channel) => channel.workflow_id ?? "").filter(Boolean))].sort();
  const tag = filter["tag"];
  useKeys([{ keys: "r", does: texts.keys.reload, group: texts.keys.groups.list, run: all.reload }]);
  return (
    <ListView
      title={texts.views.channels}
      headNote={all.data && <span class="badge">{formatCount(rows.length)}</span>}
      actions={
        <>
          <RangePicker />
          {tag !== undefined && (
            <Button icon="pause" acts onClick={() => askForManyPauses(tag, all.reload)}>
              <span class="clip channels-pause">{t.pauseTag(tag)}</span>
            </Button>
          )}
          <Button icon="editor" acts onClick={() => go("/new/channel")}>
            {t.create}
          </Button>
        </>
      }
      above={<FilterBar words={words} counts={{ state: counts }} known={{ workflow: workflows, q: channels.map((channel) => channel.name) }} />}
      list={all}
      rows={rows}
      rowKey={(row) => row.channel.channel_id}
      columns={COLUMNS}
      rowAddress={(row) => href(fillPath("/channels/:id", { id: row.channel.channel_id }))}
      note={all.data !== undefined && all.data.leftOut > 0 ? texts.definitions.leftOut(all.data.leftOut) : undefined}
      empty={<Empty icon="channels" text={channels.length === 0 ? t.none : t.noMatch} command={channels.length === 0 ? "svc-cli channels create -f channel.json" : "svc-cli channels list"} />}
    />
  );
}
