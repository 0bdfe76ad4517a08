// Failures grouped by their cause.

import { api, read } from "../../api/client.ts";
import type { ErrorGroup } from "../../api/types.ts";
import { cliOptions } from "../../core/filters.ts";
import { formatCount } from "../../core/format.ts";
import { useLoad } from "../../core/load.ts";
import { href } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Empty, LoadProblem } from "../../ui/content.tsx";
import { Moment } from "../../ui/moment.tsx";
import { type Column, Table } from "../../ui/table.tsx";

const t = texts.runs;

/** Words of the list of runs that the list of errors takes. */
const WORDS = ["channel", "tag", "workflow", "task", "error_code", "error_group", "since", "until"];
const LIMIT = 500;
const EVERY = 10_000;

const COLUMNS: readonly Column<ErrorGroup>[] = [
  { name: "message", title: t.columns.message, cell: (group) => <span title={group.message}>{group.message}</span> },
  { name: "count", title: t.columns.count, width: "84px", isNumber: true, cell: (group) => <strong>{formatCount(group.count)}</strong> },
  { name: "place", title: t.columns.place, width: "190px", rank: 2, cell: (group) => [group.channel, group.task].filter(Boolean).join(" › ") },
  { name: "code", title: t.columns.code, width: "150px", rank: 3, cell: (group) => <code>{group.code}</code> },
  { name: "first", title: t.columns.first, width: "110px", rank: 3, cell: (group) => <Moment at={group.first_seen} /> },
  { name: "last", title: t.columns.last, width: "96px", cell: (group) => <Moment at={group.last_seen} as="distance" /> },
  {
    name: "change",
    title: t.columns.change,
    width: "220px",
    rank: 3,
    cell: ({ change }) =>
      change === null ? <span class="faint">–</span> : <a class="link" href={href("/audit", { entry: change.id })}>{t.change(change.action, change.resource_id, change.principal)}</a>,
  },
];

/** The list of causes. */
export function ErrorGroups({ filter }: { filter: Readonly<Record<string, string>> }) {
  const words = Object.fromEntries(Object.entries(filter).filter(([word]) => WORDS.includes(word)));
  const params = { query: { ...words, limit: LIMIT } };
  const errors = useLoad(`groups ${JSON.stringify(words)}`, (signal) => read(api.GET("/api/v1/admin/errors", { params, signal })), { every: EVERY, keep: true });
  if (errors.problem && errors.data === undefined) {
    return (
      <div class="view-body">
        <LoadProblem of={errors} />
      </div>
    );
  }
  return (
    <Table
      label={t.byError}
      rows={errors.data?.data ?? []}
      rowKey={(group) => `${group.group} ${group.node ?? ""}`}
      columns={COLUMNS}
      rowAddress={(group) => href("/runs", { ...words, error_group: group.group })}
      isLoading={errors.isLoading}
      empty={<Empty icon="check" text={t.noErrors} hint={t.notInGroups} command={`svc-cli errors ${cliOptions(words)}`.trim()} />}
    />
  );
}
