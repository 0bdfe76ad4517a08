// Kafka: the partitions that this node reads, what they hold back, and the skip of a record.

import { signal } from "@preact/signals";
import { act, api, read } from "../../api/client.ts";
import type { KafkaPartition } from "../../api/types.ts";
import { formatBytes, formatCompact, formatCount, shellQuote } from "../../core/format.ts";
import { useKeys } from "../../core/keys.ts";
import { liveNode } from "../../core/live-store.ts";
import { useLoad } from "../../core/load.ts";
import { href, query, setQuery } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Callout, CommandLine, Empty, Facts, LoadProblem, Panel, ViewBody, ViewHead } from "../../ui/content.tsx";
import { SearchBox } from "../../ui/list.tsx";
import { NodeNote } from "../../ui/node-note.tsx";
import { ask } from "../../ui/dialog.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { isHeld, nameOf, sortPartitions, sumPartitions } from "./partitions.ts";

const t = texts.kafka;

const EVERY = 3000;

const COLUMNS: readonly Column<KafkaPartition>[] = [
  {
    name: "partition",
    title: t.columns.partition,
    width: "28%",
    cell: (row) => (
      <span class="row" title={nameOf(row)}>
        <Status of={row.state} symbolOnly />
        <span class="clip kafka-topic">{row.topic}</span>
        <span class="number muted">{row.partition}</span>
      </span>
    ),
  },
  { name: "state", title: t.columns.state, width: "96px", rank: 2, cell: (row) => <span class="muted">{row.state}</span> },
  { name: "channel", title: t.columns.channel, width: "16%", rank: 3, cell: (row) => row.channel ?? <span class="faint">{t.noChannel}</span> },
  { name: "lag", title: t.columns.lag, width: "84px", isNumber: true, cell: (row) => (row.lag === null ? <span class="faint">–</span> : <strong title={formatCount(row.lag)}>{formatCompact(row.lag)}</strong>) },
  { name: "waiting", title: t.columns.waiting, width: "72px", rank: 2, isNumber: true, cell: (row) => formatCompact(row.waiting_records) },
  { name: "since", title: t.columns.since, width: "104px", isNumber: true, cell: (row) => <Moment at={row.retry_since} as="distance" /> },
  { name: "error", title: t.columns.error, rank: 2, cell: (row) => (row.last_error === null ? <span class="faint">–</span> : <span class="bad" title={row.last_error}>{row.last_error}</span>) },
];

function askForSkip(row: KafkaPartition, done: () => void): void {
  const until = signal("");
  const offset = row.offset ?? 0;
  const node = liveNode.value?.id;
  const Fields = () => (
    <div class="field">
      <label for="skip-until">{t.skipMore}</label>
      <input
        id="skip-until"
        class="input number"
        type="number"
        min={offset + 1}
        max={offset + 1000}
        value={until.value}
        onInput={(event) => (until.value = event.currentTarget.value)}
      />
    </div>
  );
  ask({
    title: `${t.skip}: ${nameOf(row)}`,
    text: t.skipText(offset, row.topic, row.partition),
    fields: <Fields />,
    confirm: t.skip,
    isDanger: true,
    run: async () => {
      const range = until.value === "" ? {} : { until_offset: Number(until.value) };
      const words = { offset, ...range, ...(node === undefined ? {} : { node }) };
      const params = { path: { topic: row.topic, partition: String(row.partition) }, query: words };
      await act(t.skip, api.POST("/api/v1/admin/kafka/partitions/{topic}/{partition}/skip", { params }));
      done();
    },
  });
}

function Detail({ row, reload }: { row: KafkaPartition; reload: () => void }) {
  const command = `svc-cli kafka skip ${shellQuote(row.topic)} ${row.partition}${row.offset === null ? "" : ` --offset ${row.offset}`}`;
  return (
    <Panel
      title={nameOf(row)}
      note={<Status of={row.state} text={row.state} />}
      actions={
        <>
          <Button icon="out" kind="danger" acts disabled={isHeld(row) ? null : t.notHeld} onClick={() => askForSkip(row, reload)}>
            {t.skip}
          </Button>
          <Button kind="plain" icon="close" label={texts.page.close} onClick={() => setQuery({ partition: null })} />
        </>
      }
    >
      <div class="stack kafka-detail">
        {row.last_error !== null && <Callout kind="bad">{row.last_error}</Callout>}
        <Facts
          facts={[
            [
              t.columns.channel,
              row.channel && (
                <a class="link" href={href("/runs", { channel: row.channel, mode: "kafka", status: "failed" })}>
                  {row.channel}
                </a>
              ),
            ],
            [t.group, row.consumer_group],
            [t.offset, row.offset === null ? null : formatCount(row.offset)],
            [t.committed, row.committed_offset === null ? null : formatCount(row.committed_offset)],
            [t.columns.lag, row.lag === null ? t.lagUnknown : formatCount(row.lag)],
            [t.columns.waiting, `${t.waiting(row.waiting_records, formatBytes(row.waiting_bytes))}${row.fetch_paused ? `, ${t.paused}` : ""}`],
            [t.columns.attempts, row.attempts > 0 ? formatCount(row.attempts) : null],
            [t.columns.since, row.retry_since && <Moment at={row.retry_since} as="full" />],
          ]}
        />
        {isHeld(row) && <CommandLine command={command} />}
      </div>
    </Panel>
  );
}

function Figures({ rows }: { rows: readonly KafkaPartition[] }) {
  const sums = sumPartitions(rows);
  const figures = [
    [t.figures.partitions, sums.partitions, false],
    [t.figures.lag, sums.lag, false],
    [t.figures.waiting, sums.waiting, false],
    [t.figures.blocked, sums.held, sums.held > 0],
  ] as const;
  return (
    <div class="figures">
      {figures.map(([name, value, isBad]) => (
        <div class="figure" key={name}>
          <span class={`value${isBad ? " bad" : ""}`}>{formatCompact(value)}</span>
          <span class="name">{name}</span>
        </div>
      ))}
    </div>
  );
}

/** The view of Kafka. */
export default function Kafka() {
  const list = useLoad("partitions", (signal) => read(api.GET("/api/v1/admin/kafka/partitions", { signal })), { every: EVERY });
  const health = useLoad("health", (signal) => read(api.GET("/health", { signal })), { every: EVERY * 3 });
  const onlyTrouble = query("trouble") === "1";
  const search = query("q").toLowerCase();
  const chosenName = query("partition");
  const all = list.data?.data ?? [];
  const fits = (row: KafkaPartition) => `${row.topic} ${row.channel ?? ""} ${row.consumer_group}`.toLowerCase().includes(search);
  const rows = sortPartitions(all.filter((row) => fits(row) && (!onlyTrouble || isHeld(row))));
  const chosen = all.find((row) => nameOf(row) === chosenName);
  const { group } = { group: texts.keys.groups.view };
  useKeys([
    { keys: "r", does: texts.keys.reload, group, run: list.reload },
    ...(chosenName === "" ? [] : [{ keys: "Escape", does: texts.page.close, group, run: () => setQuery({ partition: null }) }]),
  ]);
  const problems = [health.data?.kafka?.problem, ...(health.data?.kafka?.ingest ?? [])].filter((text): text is string => typeof text === "string");
  const isEmpty = list.data !== undefined && all.length === 0;
  return (
    <>
      <ViewHead title={texts.views.kafka} note={<NodeNote />}>
        <SearchBox label={t.search} />
        <Button icon="alert" pressed={onlyTrouble} onClick={() => setQuery({ trouble: onlyTrouble ? null : "1" })}>
          {t.onlyTrouble}
        </Button>
      </ViewHead>
      <ViewBody>
        {problems.map((problem) => (
          <Callout kind="warn" key={problem}>
            {t.health(problem)}
          </Callout>
        ))}
        <LoadProblem of={list} />
        {all.length > 0 && <Figures rows={all} />}
        {chosen !== undefined && <Detail row={chosen} reload={list.reload} />}
        <Panel title={texts.views.kafka} flush note={<span class="faint clip">{t.ofThis}</span>}>
          <Table
            label={texts.views.kafka}
            rows={rows}
            rowKey={nameOf}
            columns={COLUMNS}
            rowAddress={(row) => href("/kafka", { q: query("q"), trouble: query("trouble"), partition: nameOf(row) })}
            isLoading={list.isLoading}
            isFree
            problem={list.problem}
            empty={<Empty icon="kafka" text={isEmpty ? t.none : t.noMatch} {...(isEmpty ? { hint: t.noneHint } : {})} command="svc-cli kafka partitions" />}
          />
        </Panel>
      </ViewBody>
    </>
  );
}
