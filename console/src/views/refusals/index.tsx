// Refusals: 401, 403, 409, 429 of each channel by inner reason, and a request to try.

import { useMemo } from "preact/hooks";
import { isAbsent, readChannelStats } from "../../api/node.ts";
import type { ChannelStats, RefusalCount } from "../../api/node-types.ts";
import { asProblem, isAbort } from "../../api/problem.ts";
import type { Channel } from "../../api/types.ts";
import { useCommands } from "../../core/commands.ts";
import { readActiveChannels } from "../../core/definitions/read.ts";
import { formatCount, formatRate, shellQuote } from "../../core/format.ts";
import { useKeys } from "../../core/keys.ts";
import { liveChannels } from "../../core/live-store.ts";
import { useLoad } from "../../core/load.ts";
import { href, query, setQuery } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Absent } from "../../ui/absent.tsx";
import { Button } from "../../ui/button.tsx";
import { Callout, CommandLine, Empty, LoadProblem, Panel, Prose, Skeleton, ViewHead } from "../../ui/content.tsx";
import { SearchBox } from "../../ui/list.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { STATUSES, sumRefusals } from "./sums.ts";
import { Trial } from "./trial.tsx";

const t = texts.refusals;

const EVERY = 4000;
const EVERY_SUMS = 15_000;
/** Channels whose refusals are read for the list: each takes a call. */
const MOST_SUMS = 24;
/** Channels that are listed, those with the most refusals first. */
const MOST_ROWS = 200;
/** Calls at once. */
const AT_ONCE = 4;

interface Row {
  channel: Channel;
  rate: number;
  stats: ChannelStats | null;
}

/** Reads the refusals of some channels; those that cannot be read are left out, unless none can. */
async function readSums(ids: readonly string[], signal: AbortSignal): Promise<Record<string, ChannelStats>> {
  const found: Record<string, ChannelStats> = {};
  const [first, ...rest] = ids;
  if (first === undefined) return found;
  found[first] = await readChannelStats(first, signal);
  const waiting = [...rest];
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        found[id] = await readChannelStats(id, signal);
      } catch (thrown) {
        if (isAbort(thrown) || asProblem(thrown).status === 0) throw thrown;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

const countCell = (count: number | undefined) => (count ? <strong>{formatCount(count)}</strong> : <span class="faint">0</span>);

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "channel",
    title: t.columns.channel,
    cell: ({ channel, stats }) => (
      <span class="row">
        {stats?.quarantined != null && <Status of="quarantined" symbolOnly />}
        <span class="clip refusals-channel">{channel.name}</span>
      </span>
    ),
  },
  { name: "auth", title: t.columns.auth, width: "110px", rank: 3, cell: ({ channel }) => <span class="muted">{modeOf(channel)}</span> },
  { name: "rate", title: t.columns.rate, width: "90px", rank: 2, isNumber: true, cell: ({ rate }) => (rate > 0 ? formatRate(rate) : <span class="faint">–</span>) },
  ...STATUSES.map(
    (status): Column<Row> => ({
      name: String(status),
      title: String(status),
      width: "64px",
      isNumber: true,
      cell: ({ stats }) => (stats === null ? <span class="faint">–</span> : countCell(sumRefusals(stats.refusals).byStatus[status])),
    }),
  ),
  {
    name: "others",
    title: t.columns.others,
    width: "72px",
    rank: 2,
    isNumber: true,
    cell: ({ stats }) => (stats === null ? <span class="faint">–</span> : countCell(sumRefusals(stats.refusals).others)),
  },
  { name: "last", title: t.columns.last, width: "104px", rank: 2, isNumber: true, cell: ({ stats }) => <Moment at={stats === null ? null : sumRefusals(stats.refusals).last} as="distance" /> },
];

const REASONS: readonly Column<RefusalCount>[] = [
  { name: "status", title: t.columns.status, width: "64px", cell: (row) => <span class="number">{row.status}</span> },
  { name: "guard", title: t.columns.guard, width: "170px", rank: 2, cell: (row) => <code title={row.guard}>{row.guard}</code> },
  {
    name: "reason",
    title: t.columns.reason,
    cell: (row) => (
      <span title={row.explanation}>
        <code>{row.reason}</code>{" "}
        <span class="muted">
          <Prose text={row.explanation} />
        </span>
      </span>
    ),
  },
  { name: "count", title: t.columns.count, width: "84px", isNumber: true, cell: (row) => <strong>{formatCount(row.count)}</strong> },
  { name: "last", title: t.columns.last, width: "96px", rank: 2, isNumber: true, cell: (row) => <Moment at={row.last_seen} as="distance" /> },
];

function modeOf(channel: Channel): string {
  const auth = channel.config["auth"] as { mode?: unknown; preset?: unknown } | undefined;
  if (auth === undefined) return "–";
  return [auth.mode, auth.preset].filter((part) => typeof part === "string").join(" ");
}

function Detail({ channel }: { channel: Channel }) {
  const id = channel.channel_id;
  const stats = useLoad(`stats ${id}`, (signal) => readChannelStats(id, signal), { every: EVERY });
  const data = stats.data;
  return (
    <>
      <Panel
        title={t.of(channel.name)}
        flush
        note={data && <span class="faint clip">{t.ofNode(data.node)}</span>}
        actions={<Button kind="plain" icon="close" label={texts.page.close} onClick={() => setQuery({ channel: null })} />}
      >
        {stats.problem && data === undefined && (isAbsent(stats.problem) ? <Absent what={t.statsName} /> : <LoadProblem of={stats} />)}
        {data === undefined && stats.problem === undefined && (
          <div class="panel-body">
            <Skeleton lines={3} />
          </div>
        )}
        {data && (
          <>
            {data.quarantined !== null && (
              <div class="panel-body">
                <Callout kind="bad">{data.quarantined}</Callout>
              </div>
            )}
            <Table
              label={t.of(channel.name)}
              rows={data.refusals}
              rowKey={(row) => `${row.guard} ${row.status} ${row.reason}`}
              columns={REASONS}
              isFree
              empty={<Empty icon="check" text={t.noneOf} command={`svc-cli channels stats ${shellQuote(id)}`} />}
            />
            <div class="panel-body row wraps refusals-order">
              <span class="muted">{t.guards}</span>
              {data.guards.map((guard, index) => (
                <span class="row" key={guard}>
                  {index > 0 && (
                    <span class="faint" aria-hidden="true">
                      →
                    </span>
                  )}
                  <code>{guard}</code>
                </span>
              ))}
              {data.since !== null && (
                <span class="muted">
                  {t.since} <Moment at={data.since} />
                </span>
              )}
              <span class="grow" />
              <CommandLine command={`svc-cli channels stats ${shellQuote(id)}`} />
            </div>
          </>
        )}
      </Panel>
      <Trial key={id} channel={channel} done={stats.reload} />
    </>
  );
}

/** The view of refusals. */
export default function Refusals() {
  const channels = useLoad("channels active", readActiveChannels, { every: 60_000 });
  const search = query("q").toLowerCase();
  const chosenId = query("channel");
  const live = liveChannels.value;
  const rates = useMemo(() => new Map(live.map((row) => [row.channel, row.refused])), [live]);
  const callable = useMemo(() => (channels.data?.rows ?? []).filter((row) => row.protocol === "rest" || row.protocol === "http"), [channels.data]);
  const matching = callable.filter((row) => row.name.toLowerCase().includes(search));
  // Which are read first is decided once, so that the list does not change under the pointer.
  const first = useMemo(() => {
    const refused = new Map(liveChannels.peek().map((row) => [row.channel, row.refused]));
    return [...matching].sort((a, b) => (refused.get(b.name) ?? 0) - (refused.get(a.name) ?? 0) || a.name.localeCompare(b.name)).slice(0, MOST_SUMS);
  }, [callable, search]);
  const ids = first.map((row) => row.channel_id);
  const sums = useLoad(ids.length === 0 ? null : `sums ${ids.join(",")}`, (signal) => readSums(ids, signal), { every: EVERY_SUMS, keep: true });
  const known = sums.data ?? {};
  const rows = [...matching]
    .sort((a, b) => a.name.localeCompare(b.name))
    .map((channel): Row => ({ channel, rate: rates.get(channel.name) ?? 0, stats: known[channel.channel_id] ?? null }));
  const total = (row: Row) => (row.stats === null ? -1 : sumRefusals(row.stats.refusals).total);
  rows.sort((a, b) => total(b) - total(a));
  const leftOut = Math.max(0, rows.length - MOST_ROWS);
  const chosen = callable.find((row) => row.channel_id === chosenId);
  const { group } = { group: texts.keys.groups.view };
  useKeys([
    { keys: "r", does: texts.keys.reload, group, run: sums.reload },
    ...(chosenId === "" ? [] : [{ keys: "Escape", does: texts.page.close, group, run: () => setQuery({ channel: null }) }]),
  ]);
  useCommands(callable.slice(0, 500).map((row) => ({ text: row.name, group: texts.views.refusals, run: () => setQuery({ channel: row.channel_id }) })));
  const missing = isAbsent(sums.problem);
  return (
    <>
      <ViewHead title={texts.views.refusals}>
        <SearchBox label={t.search} />
      </ViewHead>
      <div class="view-body">
        <div class="column">
          <LoadProblem of={channels} />
          {sums.problem && !missing && <LoadProblem of={sums} />}
          {missing && chosen === undefined && <Callout>{texts.absent.text(t.statsName)} {texts.absent.hint}</Callout>}
          {chosen !== undefined && <Detail channel={chosen} />}
          <Panel title={t.channels} flush note={matching.length > MOST_SUMS ? <span class="faint clip">{t.onlySome(MOST_SUMS)} {leftOut > 0 && t.leftOut(leftOut)}</span> : undefined}>
            <Table
              label={t.channels}
              rows={rows.slice(0, MOST_ROWS)}
              rowKey={(row) => row.channel.channel_id}
              columns={COLUMNS}
              rowAddress={(row) => href("/refusals", { q: query("q"), channel: row.channel.channel_id })}
              isLoading={channels.isLoading}
              isFree
              problem={channels.problem}
              empty={<Empty icon="refusals" text={search === "" ? t.none : t.noMatch} command="svc-cli channels list" />}
            />
          </Panel>
        </div>
      </div>
    </>
  );
}
