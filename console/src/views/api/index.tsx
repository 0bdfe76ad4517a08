// API: the endpoints of the service, and the way to its documentation. Everything that the console does is one of them.

import { useMemo } from "preact/hooks";
import { api, apiRoot, read } from "../../api/client.ts";
import { shellQuote } from "../../core/format.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { query } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { CopyButton } from "../../ui/button.tsx";
import { Empty } from "../../ui/content.tsx";
import { Icon } from "../../ui/icons.tsx";
import { ListView } from "../../ui/list.tsx";
import type { Column } from "../../ui/table.tsx";
import { findOperations, listOperations, type Operation } from "./operations.ts";

const t = texts.api;

const curlOf = (row: Operation): string => {
  const method = row.method === "GET" ? "" : ` -X ${row.method}`;
  const body = row.method === "GET" || row.method === "DELETE" ? "" : " -H 'content-type: application/json' -d '{}'";
  return `curl -s${method} ${shellQuote(apiRoot + row.path)} -H "authorization: Bearer ${t.key}"${body}`;
};

const COLUMNS: readonly Column<Operation>[] = [
  { name: "method", title: t.columns.method, width: "88px", cell: (row) => <span class="tag">{row.method}</span> },
  { name: "path", title: t.columns.path, cell: (row) => <code title={row.path}>{row.path}</code> },
  {
    name: "summary",
    title: t.columns.summary,
    width: "44%",
    rank: 2,
    cell: (row) => (
      <span title={row.summary}>
        {row.isDeprecated && <span class="tag">{t.deprecated}</span>} {row.summary}
      </span>
    ),
  },
  { name: "copy", title: texts.page.copy, width: "72px", cell: (row) => <CopyButton label={`${t.copy}: ${row.method} ${row.path}`} text={() => curlOf(row)} /> },
];

/** The view of the API. */
export default function Api() {
  const loaded = useLoad("openapi", (signal) => read(api.GET("/api/v1/openapi.json", { signal })));
  useKeys([{ keys: "r", does: texts.keys.reload, group: texts.keys.groups.view, run: loaded.reload }]);
  const operations = useMemo(() => listOperations(loaded.data), [loaded.data]);
  const rows = findOperations(operations, query("q"));
  return (
    <ListView
      title={texts.views.api}
      search={t.search}
      actions={
        <a class="button primary" href={`${apiRoot}/docs`} target="_blank" rel="noreferrer" title={t.docsHint}>
          <Icon name="out" />
          {t.docs}
        </a>
      }
      list={loaded}
      rows={rows}
      rowKey={(row) => `${row.method} ${row.path}`}
      columns={COLUMNS}
      empty={<Empty icon="api" text={t.none} command={`curl -s ${apiRoot}/api/v1/openapi.json`} />}
    />
  );
}
