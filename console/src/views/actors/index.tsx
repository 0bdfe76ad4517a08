// Actors: the supervision tree of the node, its restarts, and the restart of one by hand.

import { useMemo } from "preact/hooks";
import { act, api, read } from "../../api/client.ts";
import type { ActorEvent, ActorNode } from "../../api/types.ts";
import { formatCompact, formatCount, shellQuote } from "../../core/format.ts";
import { useKeys } from "../../core/keys.ts";
import { liveState } from "../../core/live.ts";
import { liveActors, liveNode, liveTotals } from "../../core/live-store.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, href, query, setQuery } from "../../core/router.ts";
import { formatDuration } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Callout, CommandLine, Empty, Facts, LoadProblem, Panel, ViewHead } from "../../ui/content.tsx";
import { SearchBox } from "../../ui/list.tsx";
import { NodeNote } from "../../ui/node-note.tsx";
import { ask } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Status } from "../../ui/status.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { type EventFacts, EventList, Timeline } from "./timeline.tsx";
import { listRows, needsLook, type TreeRow } from "./tree.ts";

const t = texts.actors;

/** Milliseconds between two reads of the whole tree, without and with the stream. */
const EVERY = 3000;
const EVERY_LIVE = 15_000;
/** Orders to restart that are read. */
const ORDERS = 200;

const readTurned = (): Set<string> => new Set(query("fold").split(",").filter(Boolean).map(decodeURIComponent));

function turn(path: string): void {
  const turned = readTurned();
  if (!turned.delete(path)) turned.add(path);
  setQuery({ fold: [...turned].map(encodeURIComponent).join(",") }, { replace: true });
}

function NameCell({ row }: { row: TreeRow }) {
  return (
    <span class="row actors-name" style={{ paddingLeft: `${row.depth * 18}px` }}>
      {row.below > 0 ? (
        <button
          type="button"
          class="actors-fold"
          aria-expanded={row.isOpen}
          aria-label={row.isOpen ? t.fold(row.path) : t.unfold(row.path)}
          onClick={(event) => {
            event.preventDefault();
            turn(row.path);
          }}
        >
          <Icon name="chevron" size={12} />
        </button>
      ) : (
        <span class="actors-fold" />
      )}
      <button type="button" class="actors-open clip" title={row.path} onClick={() => setQuery({ actor: row.path })}>
        {row.name}
      </button>
      {row.below > 0 && !row.isOpen && <span class="faint">{t.below(row.below)}</span>}
    </span>
  );
}

function MailboxCell({ row }: { row: TreeRow }) {
  if (row.bound === 0) return <span class="faint">–</span>;
  const share = Math.min(1, row.mailbox / row.bound);
  return (
    <span class="row actors-mailbox" title={t.mailbox(row.mailbox, row.bound)}>
      <span class="number">{formatCompact(row.mailbox)}</span>
      <span class="actors-meter" aria-hidden="true">
        <span class={share > 0.8 ? "full" : ""} style={{ width: `${share * 100}%` }} />
      </span>
    </span>
  );
}

const COLUMNS: readonly Column<TreeRow>[] = [
  { name: "path", title: t.columns.path, cell: (row) => <NameCell row={row} /> },
  {
    name: "state",
    title: t.columns.state,
    width: "150px",
    cell: (row) => <Status of={row.state === "running" ? "ok" : row.state} text={row.state} />,
  },
  { name: "mailbox", title: t.columns.mailbox, width: "130px", rank: 2, cell: (row) => <MailboxCell row={row} /> },
  {
    name: "restarts",
    title: t.columns.restarts,
    width: "84px",
    isNumber: true,
    cell: (row) => (row.restarts === 0 ? <span class="faint">0</span> : <strong>{formatCount(row.restarts)}</strong>),
  },
  { name: "handled", title: t.columns.handled, width: "96px", rank: 3, isNumber: true, cell: (row) => (row.node === null ? <span class="faint">–</span> : formatCompact(row.node.handled)) },
  {
    name: "busy",
    title: t.columns.busy,
    width: "92px",
    rank: 3,
    isNumber: true,
    cell: (row) => (row.node?.busy_ms == null ? <span class="faint">–</span> : formatDuration(row.node.busy_ms)),
  },
];

function Figures() {
  const totals = liveTotals.value;
  if (totals === null) return null;
  const figure = (name: string, value: number, isBad = false) => (
    <div class="figure" key={name}>
      <span class={`value${isBad && value > 0 ? " bad" : ""}`}>{formatCompact(value)}</span>
      <span class="name">{name}</span>
    </div>
  );
  return (
    <div class="figures actors-figures">
      {figure(t.figures.nodes, totals.nodes)}
      {figure(t.figures.running, totals.running)}
      {figure(t.figures.quarantined, totals.quarantined, true)}
      {figure(t.figures.restarts, totals.restarts)}
      {figure(t.figures.mailbox, totals.mailbox_depth)}
    </div>
  );
}

function askForRestart(path: string, below: number, done: () => void): void {
  const node = liveNode.value?.id;
  const params = { path: { path }, query: (node === undefined ? {} : { node }) };
  ask({
    title: `${t.restart}: ${path}`,
    text: below > 0 ? t.restartGroup(below) : t.restartText,
    confirm: t.restart,
    isDanger: true,
    run: () => act(t.restarted(path), api.POST("/api/v1/admin/actors/{path}/restart", { params })).then(done),
  });
}

function Detail({ row, history, facts, reload }: { row: TreeRow; history: readonly ActorEvent[]; facts: EventFacts; reload: () => void }) {
  const node: Partial<ActorNode> = row.node ?? {};
  return (
    <Panel
      title={row.label}
      actions={
        <>
          <Button icon="rerun" acts onClick={() => askForRestart(row.path, row.below, reload)}>
            {t.restart}
          </Button>
          <Button kind="plain" icon="close" label={texts.page.close} onClick={() => setQuery({ actor: null })} />
        </>
      }
    >
      <div class="stack actors-detail">
        {row.reason !== null && <Callout kind="bad">{row.reason}</Callout>}
        <Facts
          facts={[
            [t.columns.path, row.label === row.path ? null : <code class="breaks">{row.path}</code>],
            [t.state, <Status of={row.state === "running" ? "ok" : row.state} text={row.state} />],
            [t.state, node.retry_in_ms == null ? null : t.retryIn(formatDuration(node.retry_in_ms))],
            [t.kind, node.kind === "group" ? t.group : node.kind === "actor" ? t.actor : null],
            [
              t.connector,
              node.connector && (
                <a class="link" href={href(fillPath("/connectors/:id", { id: row.path.split("/").slice(1).join("/") }))}>
                  {node.connector}
                </a>
              ),
            ],
            [t.columns.restarts, formatCount(row.restarts)],
            [t.generationWord, node.generation === undefined || node.generation === 0 ? null : formatCount(node.generation)],
            [t.columns.uptime, node.uptime_ms ? formatDuration(node.uptime_ms) : null],
            [t.mailboxWord, row.bound === 0 ? null : `${t.mailbox(row.mailbox, row.bound)}, ${t.highWater(node.mailbox_high_water ?? 0)}`],
            [t.handling, node.handling && <code>{`${node.handling} (${formatDuration(node.busy_ms)})`}</code>],
            [t.lastExit, node.last_exit],
            [t.thread, node.thread && <code>{node.thread}</code>],
            [
              t.needs,
              node.needs === undefined || node.needs.length === 0 ? null : (
                <span class="row wraps">
                  {node.needs.map((path) => (
                    <button type="button" class="actors-need" key={path} onClick={() => setQuery({ actor: path })}>
                      {path}
                    </button>
                  ))}
                </span>
              ),
            ],
          ]}
        />
        <EventList history={history} path={row.path} facts={facts} />
        <CommandLine command={`svc-cli actors restart ${shellQuote(row.path)}`} />
      </div>
    </Panel>
  );
}

/** The view of actors. */
export default function Actors() {
  const isLive = liveState.value === "open";
  const tree = useLoad("actors", (signal) => read(api.GET("/api/v1/admin/actors", { signal })), { every: isLive ? EVERY_LIVE : EVERY });
  const nodes = tree.data?.data.nodes ?? [];
  const history = tree.data?.data.history ?? [];
  const hasOrders = history.some((event) => event.exit?.["exit"] === "ordered");
  const orders = useLoad(
    hasOrders ? "orders to restart" : null,
    async (signal) => (await read(api.GET("/api/v1/admin/audit-logs", { params: { query: { action: ["restart"], limit: ORDERS } }, signal }))).data,
    { every: EVERY_LIVE },
  );
  const connectors = useMemo(() => new Map(nodes.filter((node) => node.connector !== undefined).map((node) => [node.path, node.connector ?? ""])), [tree.data]);
  const facts: EventFacts = { connectors, orders: orders.data ?? [] };
  const [search, onlyTrouble, fold, chosen] = [query("q"), query("trouble") === "1", query("fold"), query("actor")];
  const live = liveActors.value;
  const rows = useMemo(
    () => listRows(nodes, live, { search, onlyTrouble, turned: readTurned() }),
    [tree.data, live, search, onlyTrouble, fold],
  );
  const row = useMemo(
    () => (chosen === "" ? undefined : listRows(nodes, live, { search: chosen, onlyTrouble: false, turned: new Set() }).find(({ path }) => path === chosen)),
    [tree.data, live, chosen],
  );
  const below = nodes.filter((node) => node.path.startsWith(`${chosen}/`)).length;
  const { group } = { group: texts.keys.groups.view };
  useKeys([
    { keys: "r", does: texts.keys.reload, group, run: tree.reload },
    ...(chosen === "" ? [] : [{ keys: "Escape", does: texts.page.close, group, run: () => setQuery({ actor: null }) }]),
  ]);
  const inTrouble = rows.filter((candidate) => needsLook(candidate.state)).length;
  return (
    <>
      <ViewHead title={texts.views.actors} note={<NodeNote />}>
        <SearchBox label={t.search} class="actors-search" />
        <Button icon="alert" pressed={onlyTrouble} onClick={() => setQuery({ trouble: onlyTrouble ? null : "1" })}>
          {t.onlyTrouble}
        </Button>
      </ViewHead>
      <div class="view-body">
        <div class="column">
          <Figures />
          <LoadProblem of={tree} />
          <div class={row === undefined ? "stack" : "actors-columns"}>
            <Panel title={t.tree} flush note={inTrouble > 0 ? <span class="badge bad">{inTrouble}</span> : undefined}>
              <div class="actors-table">
                <Table
                  label={t.tree}
                  rows={rows}
                  rowKey={(candidate) => candidate.path}
                  columns={row === undefined ? COLUMNS : COLUMNS.filter((column) => column.rank !== 3)}
                  isLoading={tree.isLoading}
                  empty={<Empty icon="actors" text={t.none} command="svc-cli actors" />}
                />
              </div>
            </Panel>
            {row !== undefined && <Detail row={{ ...row, below }} history={history} facts={facts} reload={tree.reload} />}
          </div>
          <Timeline history={history} path={row === undefined ? "" : row.path} facts={facts} />
        </div>
      </div>
    </>
  );
}
