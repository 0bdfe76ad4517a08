// Packages: what was applied to this service.

import { api, read } from "../../api/client.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, href } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Empty } from "../../ui/content.tsx";
import { ListView } from "../../ui/list.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import type { Column } from "../../ui/table.tsx";
import { listPackages, type PackageRow } from "./inventory.ts";

const t = texts.packages;

const EVERY = 10_000;
const LIMIT = 1000;

const COLUMNS: readonly Column<PackageRow>[] = [
  { name: "name", title: t.columns.name, cell: (row) => <span class="packages-name">{row.name}</span> },
  { name: "current", title: t.columns.current, width: "18%", cell: (row) => (row.applied === null ? <span class="faint">–</span> : <Status of="ok" text={row.applied.version} />) },
  { name: "staged", title: t.columns.staged, width: "18%", cell: (row) => (row.staged === null ? <span class="faint">–</span> : <Status of="pending" text={row.staged.version} />) },
  { name: "versions", title: t.columns.versions, width: "92px", rank: 3, isNumber: true, cell: (row) => row.versions },
  { name: "by", title: t.columns.by, width: "140px", rank: 2, cell: (row) => (row.applied ?? row.staged)?.principal },
  { name: "time", title: t.columns.time, width: "112px", rank: 2, isNumber: true, cell: (row) => <Moment at={(row.applied ?? row.staged)?.updated_at} /> },
];

/** The view of packages. */
export default function Packages() {
  const params = { query: { limit: LIMIT } };
  const list = useLoad("packages", (signal) => read(api.GET("/api/v1/admin/packages", { params, signal })), { every: EVERY });
  useKeys([{ keys: "r", does: texts.keys.reload, group: texts.keys.groups.view, run: list.reload }]);
  return (
    <ListView
      title={texts.views.packages}
      list={list}
      rows={listPackages(list.data?.data ?? [])}
      rowKey={(row) => row.name}
      columns={COLUMNS}
      rowAddress={(row) => href(fillPath("/packages/:name", { name: row.name }))}
      empty={<Empty icon="packages" text={t.none} command="svc-cli packages list" />}
    />
  );
}
