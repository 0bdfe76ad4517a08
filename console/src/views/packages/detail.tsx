// One package: what of it is here, what changed since its apply, and its versions compared.

import { api, read } from "../../api/client.ts";
import { asProblem } from "../../api/problem.ts";
import type { PackageReceipt } from "../../api/types.ts";
import { shellQuote } from "../../core/format.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, href } from "../../core/router.ts";
import { definitionNames } from "../../layout/names.ts";
import { texts } from "../../texts.ts";
import { Callout, Empty, Facts, LoadProblem, LoadState, Panel, ViewBody, ViewHead } from "../../ui/content.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import type { ViewProps } from "../registry.ts";
import { Compare } from "./compare.tsx";
import { type Here, hereOfPlugin, type InventoryEntry, keyOf, listEntries, MOST, readEach, stateOf } from "./inventory.ts";

const t = texts.packages;

const EVERY = 10_000;

/** Reads a connector by its name, as packages name it. */
async function readConnector(name: string, signal: AbortSignal): Promise<Here> {
  const { connectors } = await definitionNames();
  const id = connectors.find((connector) => connector.name === name)?.id ?? name;
  return { id, updatedAt: (await read(api.GET("/api/v1/admin/connectors/{id}", { params: { path: { id } }, signal }))).data.updated_at };
}

async function readHere({ kind, id }: InventoryEntry, signal: AbortSignal): Promise<Here | null> {
  const options = { params: { path: { id } }, signal };
  try {
    if (kind === "connectors") return await readConnector(id, signal);
    if (kind === "plugins") return hereOfPlugin((await read(api.GET("/api/v1/admin/plugins/{id}", options))).data);
    const { data } = kind === "channels" ? await read(api.GET("/api/v1/admin/channels/{id}", options)) : await read(api.GET("/api/v1/admin/workflows/{id}", options));
    return { updatedAt: data.updated_at, serves: data.active_version ?? (data.status === "active" ? data.version : null) };
  } catch (thrown) {
    if (asProblem(thrown).status === 404) return null;
    throw thrown;
  }
}

interface Row {
  entry: InventoryEntry;
  here: Here | null | undefined;
  state: ReturnType<typeof stateOf>;
  since: string;
}

const LOOKS = { missing: "failed", same: "ok", changed: "degraded", unknown: "scheduled" } as const;
const WORDS = { missing: t.missing, same: t.same, changed: t.changedSince, unknown: t.notChecked } as const;

const INVENTORY: readonly Column<Row>[] = [
  { name: "id", title: t.columns.id, cell: ({ entry }) => <span class="packages-name">{entry.id}</span> },
  { name: "kind", title: t.columns.kind, width: "110px", rank: 2, cell: ({ entry }) => <span class="tag">{t.kinds[entry.kind]}</span> },
  { name: "here", title: t.columns.here, width: "26%", cell: ({ state }) => <Status of={LOOKS[state]} text={WORDS[state]} /> },
  {
    name: "serves",
    title: t.columns.version,
    width: "130px",
    rank: 3,
    cell: ({ here }) => (here?.serves === undefined ? <span class="faint">–</span> : here.serves === null ? <span class="muted">{t.notServed}</span> : t.serves(here.serves)),
  },
  { name: "changed", title: t.columns.changed, width: "112px", rank: 2, isNumber: true, cell: ({ here }) => <Moment at={here?.updatedAt} /> },
  {
    name: "audit",
    title: t.audit,
    width: "84px",
    rank: 3,
    cell: ({ entry, here, since }) => (
      <a class="link" href={href("/audit", { resource_id: here?.id ?? entry.id, since })}>
        {texts.views.audit}
      </a>
    ),
  },
];

const VERSIONS: readonly Column<PackageReceipt>[] = [
  { name: "version", title: t.columns.version, cell: (row) => <span class="packages-name">{row.version}</span> },
  { name: "state", title: t.columns.state, width: "28%", cell: (row) => <Status of={row.state === "applied" ? "ok" : "pending"} text={t.states[row.state] ?? row.state} /> },
  { name: "by", title: t.columns.by, width: "24%", rank: 2, cell: (row) => row.principal },
  { name: "time", title: t.columns.time, width: "112px", isNumber: true, cell: (row) => <Moment at={row.updated_at} /> },
];

function placeOf({ entry: { kind, id }, here }: Row): string {
  return href(fillPath(`/${kind}/:id`, { id: here?.id ?? id }));
}

/** The view of a package. */
export default function PackageView({ parameters }: ViewProps) {
  const name = parameters["name"] ?? "";
  const params = { path: { name } };
  const loaded = useLoad(`package ${name}`, (signal) => read(api.GET("/api/v1/admin/packages/{name}", { params, signal })), { every: EVERY });
  const versions = loaded.data?.data.versions ?? [];
  const current = loaded.data?.data.current ?? versions[0];
  const entries = listEntries(current);
  const here = useLoad(entries.length === 0 ? null : `inventory ${name} ${current?.version}`, (signal) => readEach(entries, readHere, signal), { every: EVERY * 3 });
  useKeys([{ keys: "r", does: texts.keys.reload, group: texts.keys.groups.view, run: loaded.reload }]);
  const parents = [{ text: texts.views.packages, to: href("/packages") }];
  if (current === undefined) {
    return (
      <>
        <ViewHead title={name} parents={parents} />
        <ViewBody><LoadState of={loaded} lines={5} /></ViewBody>
      </>
    );
  }
  const rows = entries.map((entry): Row => {
    const found = here.data?.[keyOf(entry)];
    return { entry, here: found, state: stateOf(found, current), since: current.updated_at };
  });
  return (
    <>
      <ViewHead title={name} parents={parents} note={<Status of={current.state === "applied" ? "ok" : "pending"} text={current.version} />} />
      <ViewBody>
        {current.state === "staged" && <Callout kind="warn">{t.stagedHint}</Callout>}
        <LoadProblem of={here} />
        <Panel title={t.current}>
          <Facts
            facts={[
              [t.columns.version, current.version],
              [t.columns.by, current.principal],
              [t.columns.time, <Moment at={current.updated_at} as="full" />],
              [t.columns.hash, <code class="breaks">{current.content_hash}</code>],
            ]}
          />
        </Panel>
        <Panel title={t.inventory} flush note={rows.length > MOST ? <span class="faint clip">{t.onlySome(MOST)}</span> : undefined}>
          <Table
            label={t.inventory}
            rows={rows}
            rowKey={(row) => keyOf(row.entry)}
            columns={INVENTORY}
            rowAddress={placeOf}
            isFree
            empty={<Empty icon="packages" text={t.noInventory} command={`svc-cli packages get ${shellQuote(name)}`} />}
          />
        </Panel>
        <div class="grid packages-grid">
          <Panel title={t.compare}>
            <Compare versions={versions} current={current} />
          </Panel>
          <Panel title={t.versions} flush>
            <Table label={t.versions} rows={versions} rowKey={(row) => row.version} columns={VERSIONS} isFree empty={null} />
          </Panel>
        </div>
      </ViewBody>
    </>
  );
}
