// Nodes: the processes that share the database, their versions, leases and figures, and the drain of one.

import { api, read } from "../../api/client.ts";
import { drainNode, isAbsent } from "../../api/node.ts";
import type { NodeFigures } from "../../api/node-types.ts";
import { ApiProblem, asProblem } from "../../api/problem.ts";
import { notify } from "../../core/toasts.ts";
import { formatCompact, formatRate } from "../../core/format.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { href, query, setQuery } from "../../core/router.ts";
import { formatDistance, formatDuration } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Callout, CommandLine, Empty, Facts, LoadProblem, Panel, Skeleton, ViewBody, ViewHead } from "../../ui/content.tsx";
import { ask } from "../../ui/dialog.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { compareNodes, type Differences, isStale, type NodeWithFigures, sortNodes } from "./compare.ts";

const t = texts.nodes;

const EVERY = 5000;

function askForDrain(node: NodeWithFigures, done: () => void): void {
  ask({
    title: `${t.drain}: ${node.id}`,
    text: t.drainText,
    confirm: t.drain,
    isDanger: true,
    run: async () => {
      try {
        const { body } = await drainNode(node.id, t.drain);
        notify({ kind: "note", text: t.draining(body.data.accepting_for_secs) });
        done();
      } catch (thrown) {
        const problem = asProblem(thrown);
        if (problem.status === 421) throw new ApiProblem(421, problem.code, t.drainOther(node.id), { requestId: problem.requestId });
        if (isAbsent(problem)) throw new ApiProblem(problem.status, problem.code, texts.absent.text(t.drainName), { requestId: problem.requestId });
        throw problem;
      }
    },
  });
}

function Figures({ figures }: { figures: NodeFigures }) {
  const { traffic, tree } = figures;
  const age = formatDistance(0, (figures.age_secs ?? 0) * 1000);
  const entries: [string, string, boolean?][] = [
    [t.requests, formatRate(traffic.requests)],
    [t.errors, formatRate(traffic.errors), traffic.errors > 0],
    [t.refused, formatRate(traffic.refused)],
    [t.p99, formatDuration(traffic.p99_ms)],
    [t.restarts, formatCompact(tree.restarts)],
    [t.actors, `${formatCompact(tree.running)}/${formatCompact(tree.nodes)}`],
  ];
  return (
    <div class="stack nodes-figures">
      <p class="row">
        <strong>{t.figures}</strong>
        <span class={isStale(figures) ? "nodes-stale" : "faint"} title={isStale(figures) ? t.stale : undefined}>
          {isStale(figures) ? <Status of="degraded" text={t.age(age)} /> : t.age(age)}
        </span>
      </p>
      <dl class="nodes-grid">
        {entries.map(([name, value, isBad]) => (
          <div key={name}>
            <dt class="muted">{name}</dt>
            <dd class={`number${isBad ? " bad" : ""}`}>{value}</dd>
          </div>
        ))}
      </dl>
      <Facts
        facts={[
          [
            t.busiest,
            figures.channels.length === 0 ? null : (
              <span class="row wraps">
                {figures.channels.slice(0, 3).map((row) => (
                  <a class="link clip" key={row.channel} href={href("/runs", { channel: row.channel })}>
                    <span>{row.channel}</span> <span class="muted number">{formatRate(row.requests)}</span>
                  </a>
                ))}
              </span>
            ),
          ],
          [
            t.quarantined,
            figures.quarantined.length === 0 ? null : (
              <span class="breaks">
                <Status of="quarantined" symbolOnly /> {figures.quarantined.map((name, index) => (
                  <span key={name}>
                    {index > 0 && ", "}
                    <bdi>{name}</bdi>
                  </span>
                ))}
                {figures.quarantined_left_out > 0 && ` ${t.leftOut(figures.quarantined_left_out)}`}
              </span>
            ),
          ],
        ]}
      />
    </div>
  );
}

function NodeCard({ node, differences, reload }: { node: NodeWithFigures; differences: Differences; reload: () => void }) {
  const isLive = node.status === "live";
  const behind = isLive ? differences.newestEpoch - (node.applied_epoch ?? 0) : 0;
  const epoch = node.applied_epoch === null ? t.notLoaded : t.epochOf(node.applied_epoch, behind);
  const differs = isLive && differences.versions.length > 1;
  return (
    <Panel
      title={node.id}
      note={
        <>
          <Status of={node.status} text={t.status[node.status] ?? node.status} />
          {node.is_this && <span class="tag">{t.this}</span>}
        </>
      }
      actions={
        isLive && (
          <Button icon="leave" acts onClick={() => askForDrain(node, reload)}>
            {t.drain}
          </Button>
        )
      }
    >
      <div class="stack nodes-card">
        {node.status === "expired" && <Callout kind="warn">{t.gone}</Callout>}
        <Facts
          facts={[
            [t.version, differs ? <Status of="degraded" text={node.version} /> : node.version],
            [t.epoch, behind > 0 ? <Status of="degraded" text={epoch} /> : epoch],
            [t.lease, node.stopped_at !== null ? null : <Moment at={node.lease_until} as="distance" />],
            [t.started, <Moment at={node.started_at} as="full" />],
            [t.stopped, node.stopped_at && <Moment at={node.stopped_at} as="full" />],
            [t.pid, String(node.pid)],
            [t.keys, node.encryption_key_ids && (node.encryption_key_ids.length === 0 ? t.noKeys : node.encryption_key_ids.join(", "))],
          ]}
        />
        {isLive && (node.figures ? <Figures figures={node.figures} /> : <p class="muted">{t.noFigures}</p>)}
      </div>
    </Panel>
  );
}

/** The view of nodes. */
export default function Nodes() {
  const list = useLoad("nodes", (signal) => read(api.GET("/api/v1/admin/nodes", { signal })), { every: EVERY });
  useKeys([{ keys: "r", does: texts.keys.reload, group: texts.keys.groups.view, run: list.reload }]);
  const all = (list.data?.data ?? []) as NodeWithFigures[];
  const showsGone = query("gone") === "1";
  const nodes = sortNodes(all.filter((node) => showsGone || node.status !== "stopped"));
  const stopped = all.filter((node) => node.status === "stopped").length;
  const differences = compareNodes(all);
  return (
    <>
      <ViewHead title={texts.views.nodes}>
        {stopped > 0 && (
          <Button pressed={showsGone} onClick={() => setQuery({ gone: showsGone ? null : "1" })}>
            {t.showGone} <span class="badge">{stopped}</span>
          </Button>
        )}
      </ViewHead>
      <ViewBody>
        <LoadProblem of={list} />
        {differences.versions.length > 1 && <Callout kind="warn">{t.versions(differences.versions)}</Callout>}
        {differences.isBehind && <Callout kind="warn">{t.epochs(differences.newestEpoch)}</Callout>}
        {list.data === undefined && list.problem === undefined && <Skeleton lines={5} />}
        {list.data !== undefined && all.length === 0 && <Empty icon="nodes" text={t.none} command="svc-cli nodes" />}
        <div class="grid nodes-list">
          {nodes.map((node) => (
            <NodeCard key={node.id} node={node} differences={differences} reload={list.reload} />
          ))}
        </div>
        <CommandLine command="svc-cli nodes list" />
      </ViewBody>
    </>
  );
}
