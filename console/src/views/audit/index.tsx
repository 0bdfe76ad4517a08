// Audit: who changed what, with the difference of each change.

import { useMemo } from "preact/hooks";
import { api, read } from "../../api/client.ts";
import type { AuditLogEntry } from "../../api/types.ts";
import { cliOptions, filterParameters, type FilterWord } from "../../core/filters.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { type Source, type Timed, usePages } from "../../core/pages.ts";
import { href, place, query, setQuery } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Empty, LoadProblem, Skeleton } from "../../ui/content.tsx";
import { FilterBar } from "../../ui/filter-bar.tsx";
import { ListView } from "../../ui/list.tsx";
import { Moment } from "../../ui/moment.tsx";
import type { Column } from "../../ui/table.tsx";
import { EntryDetail, readEntry } from "./detail.tsx";
import { instantOfId } from "./entry.ts";

const t = texts.audit;

const LIMIT = 100;
const EVERY = 5000;

const ACTIONS = [
  "abort", "backtest_end", "backtest_start", "bulk_end", "bulk_start", "cancel", "create", "create_version", "delete", "disable", "drain", "enable", "import", "package_applied",
  "package_staged", "pause", "purge", "reencrypt", "reload", "replay", "requeue", "rerun", "reset", "restart", "resume", "retry", "rollback",
  "rotate", "skip", "status_active", "status_archived", "test", "trigger", "update", "update_rollout",
];
const TYPES = [
  "actor", "backtest", "backup", "bulk_run", "channel", "circuit_breaker", "connector", "cron_occurrence", "engine", "kafka_partition", "node", "package", "trace",
  "trace_dlq", "webhook", "workflow",
];
const AGO = ["-15m", "-1h", "-6h", "-24h", "-7d"];

const WORDS: readonly FilterWord[] = [
  { name: "action", hint: t.words.action, values: ACTIONS },
  { name: "resource_type", hint: t.words.resource_type, values: TYPES },
  { name: "resource_id", hint: t.words.resource_id },
  { name: "principal", hint: t.words.principal },
  { name: "since", hint: t.words.since, values: AGO, several: false },
  { name: "until", hint: t.words.until, several: false },
];

interface Row extends Timed {
  entry: AuditLogEntry;
}

const COLUMNS: readonly Column<Row>[] = [
  { name: "action", title: t.columns.action, width: "136px", cell: ({ entry }) => <span class="audit-action">{entry.action.replaceAll("_", " ")}</span> },
  {
    name: "resource",
    title: t.columns.resource,
    cell: ({ entry }) => (
      <span title={entry.resource_id}>
        <span class="muted">{entry.resource_type.replaceAll("_", " ")}</span> <span>{entry.resource_id}</span>
      </span>
    ),
  },
  {
    name: "version",
    title: t.columns.version,
    width: "84px",
    rank: 3,
    isNumber: true,
    cell: ({ entry }) => (typeof entry.change?.["version"] === "number" ? `v${entry.change["version"]}` : <span class="faint">–</span>),
  },
  { name: "principal", title: t.columns.principal, width: "160px", rank: 2, cell: ({ entry }) => entry.principal },
  { name: "time", title: t.columns.time, width: "112px", isNumber: true, cell: ({ entry }) => <Moment at={entry.created_at} /> },
];

function Chosen({ rows }: { rows: readonly Row[] }) {
  const id = query("entry");
  const known = rows.find((row) => row.entry.id === id)?.entry;
  const at = instantOfId(id);
  const loaded = useLoad(known !== undefined || at === null || id === "" ? null : `audit ${id}`, (signal) => readEntry(id, at ?? 0, signal));
  const entry = known ?? loaded.data;
  if (id === "") return null;
  return (
    <div class="audit-chosen" tabIndex={0} role="region" aria-label={t.chosen}>
      {entry ? (
        <EntryDetail entry={entry} />
      ) : loaded.problem ? (
        <LoadProblem of={loaded} />
      ) : loaded.isLoading ? (
        <Skeleton lines={3} />
      ) : (
        <p class="muted">{t.notFound}</p>
      )}
    </div>
  );
}

/** The view of the audit log. */
export default function Audit() {
  const filter = filterParameters(place.value.query, WORDS);
  const name = JSON.stringify(filter);
  const sources = useMemo((): Source<Row>[] => {
    const load: Source<Row>["load"] = async (cursor, signal) => {
      const words = { ...filter, limit: LIMIT, ...(cursor === null ? {} : { cursor }) };
      const page = await read(api.GET("/api/v1/admin/audit-logs", { params: { query: words }, signal }));
      return { rows: page.data.map((entry) => ({ key: entry.id, at: Date.parse(entry.created_at), entry })), next: page.next_cursor ?? null };
    };
    return [{ name: "audit", load }];
  }, [name]);
  const list = usePages(name, sources, EVERY);
  const { group } = { group: texts.keys.groups.list };
  useKeys([
    { keys: "r", does: texts.keys.reload, group, run: list.reload },
    ...(query("entry") === "" ? [] : [{ keys: "Escape", does: texts.page.close, group, run: () => setQuery({ entry: null }) }]),
  ]);
  const words = Object.fromEntries(WORDS.map((word) => [word.name, query(word.name)]));
  const principals = [...new Set(list.rows.map((row) => row.entry.principal))];
  return (
    <ListView
      title={texts.views.audit}
      above={
        <>
          <FilterBar words={WORDS} known={{ principal: principals }} />
          <Chosen rows={list.rows} />
        </>
      }
      list={list}
      rows={list.rows}
      rowKey={(row) => row.key}
      columns={COLUMNS}
      rowAddress={(row) => href("/audit", { ...words, entry: row.entry.id })}
      news={{ count: list.newCount, show: list.reload }}
      more={list.hasMore ? list.more : null}
      empty={<Empty icon="audit" text={name === "{}" ? t.none : t.noMatch} command={`svc-cli audit-logs list ${cliOptions(filter)}`.trim()} />}
    />
  );
}
