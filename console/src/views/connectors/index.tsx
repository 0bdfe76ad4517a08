// Connectors: whether they are loaded on this node, and their circuit breakers.

import { api, read } from "../../api/client.ts";
import type { Connector } from "../../api/types.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, href, query } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Empty } from "../../ui/content.tsx";
import { ListView } from "../../ui/list.tsx";
import { NodeNote } from "../../ui/node-note.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import type { Column } from "../../ui/table.tsx";
import { type Breaker, gravestState, readBreakers } from "./breakers.ts";

const t = texts.connectors;

const EVERY = 5000;
const LIMIT = 1000;

interface Row {
  connector: Connector;
  breakers: readonly Pick<Breaker, "state">[];
}

const stateOf = (connector: Connector): string => connector.load_status ?? "unknown";

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "name",
    title: t.columns.name,
    width: "26%",
    cell: ({ connector }) => (
      <span class="row">
        <Status of={stateOf(connector)} text={t.states[stateOf(connector)] ?? stateOf(connector)} symbolOnly />
        <span class="clip connectors-name">{connector.name}</span>
      </span>
    ),
  },
  { name: "type", title: t.columns.type, width: "100px", rank: 2, cell: ({ connector }) => <span class="tag">{connector.connector_type}</span> },
  {
    name: "state",
    title: t.columns.reason,
    cell: ({ connector }) =>
      connector.load_error === undefined ? (
        <span class="muted">{t.states[stateOf(connector)] ?? stateOf(connector)}</span>
      ) : (
        <span class="bad" title={connector.load_error}>
          {t.notLoaded(connector.load_error_stage ?? "", connector.load_error)}
        </span>
      ),
  },
  {
    name: "breakers",
    title: t.columns.breakers,
    width: "120px",
    cell: ({ breakers }) => {
      const state = gravestState(breakers);
      if (state === null) return <span class="faint">–</span>;
      return <Status of={state} text={state === "closed" ? t.closed : t.openCount(breakers.filter((breaker) => breaker.state !== "closed").length)} />;
    },
  },
  { name: "updated", title: t.columns.updated, width: "112px", rank: 3, isNumber: true, cell: ({ connector }) => <Moment at={connector.updated_at} /> },
];

/** The view of connectors. */
export default function Connectors() {
  const params = { query: { limit: LIMIT } };
  const list = useLoad("connectors", (signal) => read(api.GET("/api/v1/admin/connectors", { params, signal })), { every: EVERY });
  const map = useLoad("breakers", (signal) => read(api.GET("/api/v1/admin/connectors/circuit-breakers", { signal })), { every: EVERY });
  useKeys([{ keys: "r", does: texts.keys.reload, group: texts.keys.groups.view, run: list.reload }]);
  const all = list.data?.data ?? [];
  const breakers = readBreakers(map.data?.data.breakers ?? {}, all.map((connector) => connector.name));
  const search = query("q").toLowerCase();
  const rows = all
    .filter((connector) => connector.name.toLowerCase().includes(search))
    .map((connector): Row => ({ connector, breakers: [...breakers, ...(map.data?.data.hosts ?? [])].filter((breaker) => breaker.connector === connector.name) }));
  const gravity = ({ connector, breakers: own }: Row) => (connector.load_status === "failed" ? 0 : gravestState(own) === "open" ? 1 : gravestState(own) === "half_open" ? 2 : 3);
  rows.sort((a, b) => gravity(a) - gravity(b) || a.connector.name.localeCompare(b.connector.name));
  return (
    <ListView
      title={texts.views.connectors}
      headNote={<NodeNote />}
      search={t.search}
      list={list}
      rows={rows}
      rowKey={(row) => row.connector.id}
      columns={COLUMNS}
      rowAddress={(row) => href(fillPath("/connectors/:id", { id: row.connector.id }))}
      empty={<Empty icon="connectors" text={search === "" ? t.none : t.noMatch} command="svc-cli connectors list" />}
    />
  );
}
