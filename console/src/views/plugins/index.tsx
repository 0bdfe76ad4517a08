// Plugins: which version serves, which functions it has, and whether its component is compiled on this node.

import { readPlugins } from "../../core/definitions/read.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, href, query } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Empty } from "../../ui/content.tsx";
import { ListView } from "../../ui/list.tsx";
import { Moment } from "../../ui/moment.tsx";
import { NodeNote } from "../../ui/node-note.tsx";
import { Status } from "../../ui/status.tsx";
import type { Column } from "../../ui/table.tsx";
import { fits, functionsOf, gatherPlugins, type PluginRow } from "./rows.ts";

const t = texts.plugins;

const EVERY = 5000;

const COLUMNS: readonly Column<PluginRow>[] = [
  { name: "id", title: t.columns.id, width: "26%", cell: (row) => <strong>{row.id}</strong> },
  { name: "state", title: t.columns.state, width: "160px", cell: ({ state }) => <Status of={state} text={t.states[state] ?? texts.definitions.states[state] ?? state} /> },
  {
    name: "version",
    title: t.columns.version,
    width: "130px",
    cell: ({ serving, latest }) => (
      <span class="row">
        {serving === undefined ? <span class="faint">–</span> : <span class="number">v{serving.version}</span>}
        {latest.status === "draft" && <span class="tag">{texts.definitions.draft(latest.version)}</span>}
      </span>
    ),
  },
  { name: "functions", title: t.columns.functions, rank: 2, cell: ({ serving, latest }) => <code class="muted">{functionsOf(serving ?? latest).map((found) => found.name).join(", ")}</code> },
  { name: "changed", title: t.columns.changed, width: "104px", rank: 2, isNumber: true, cell: ({ latest }) => <Moment at={latest.updated_at} /> },
];

/** The view of plugins. */
export default function Plugins() {
  const list = useLoad("plugins", readPlugins, { every: EVERY });
  useKeys([{ keys: "r", does: texts.keys.reload, group: texts.keys.groups.view, run: list.reload }]);
  const search = query("q");
  const rows = gatherPlugins(list.data?.rows ?? []).filter((row) => fits(row, search));
  return (
    <ListView
      title={texts.views.plugins}
      headNote={<NodeNote />}
      search={t.search}
      list={list}
      rows={rows}
      rowKey={(row) => row.id}
      columns={COLUMNS}
      rowAddress={(row) => href(fillPath("/plugins/:id", { id: row.id }))}
      empty={<Empty icon="plugins" text={search === "" ? t.none : t.noMatch} command={search === "" ? "svc-cli plugins push plugins/tax --activate" : "svc-cli plugins list"} />}
    />
  );
}
