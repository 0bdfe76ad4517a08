// Now: what needs attention, traffic, errors and latency of one range of time.

import { api, read } from "../../api/client.ts";
import type { Health, Node } from "../../api/types.ts";
import { formatCount } from "../../core/format.ts";
import { liveCounts } from "../../core/live-store.ts";
import { useLoad } from "../../core/load.ts";
import { href, query } from "../../core/router.ts";
import { formatInstant, rangeOf } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Callout, CommandLine, Panel, ProblemBox, Skeleton, ViewBody, ViewHead } from "../../ui/content.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Moment, RangePicker } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { type Concern, findConcerns } from "./attention.ts";
import { CauseList, readCauses } from "./errors.tsx";
import { NodeLines } from "./nodes.tsx";
import { Project } from "./project.tsx";
import { Figures, Traffic } from "./traffic.tsx";

const t = texts.now;

/** Milliseconds between two reads of what the stream does not bring. */
const EVERY = 10_000;

/** Concerns that are shown, the gravest first: the list is drawn anew each second. */
const MOST = 50;

/** What needs attention. It follows the stream, so it is a part of its own. */
function Attention({ health, nodes }: { health: Health | undefined; nodes: readonly Node[] | undefined }) {
  const concerns = findConcerns(health, nodes, liveCounts.value);
  return (
    <Panel title={t.attention} note={concerns.length > 0 ? <span class="badge">{formatCount(concerns.length)}</span> : undefined} flush>
      {concerns.length > 0 ? (
        <ul class="lines">
          {concerns.slice(0, MOST).map((concern) => (
            <ConcernLine key={`${concern.state} ${concern.name} ${concern.text}`} concern={concern} />
          ))}
          {concerns.length > MOST && (
            <li class="calm row wraps">
              {t.moreConcerns(concerns.length - MOST)} <CommandLine command="svc-cli health -o json" />
            </li>
          )}
        </ul>
      ) : health === undefined ? (
        <div class="panel-body">
          <Skeleton lines={2} />
        </div>
      ) : (
        <div class="calm">
          <Status of="ok" text={t.calm} />
        </div>
      )}
    </Panel>
  );
}

function ConcernLine({ concern }: { concern: Concern }) {
  return (
    <li>
      <a class="line" href={href(concern.path, concern.query)}>
        <Status of={concern.state} symbolOnly />
        <span class="line-name clip">{concern.name}</span>
        <span class="line-text muted clip" title={concern.text}>
          {concern.text}
        </span>
        {concern.since && <Moment at={concern.since} as="distance" />}
        <Icon name="chevron" size={12} />
      </a>
    </li>
  );
}

/** The view Now. */
export default function Now() {
  const range = rangeOf(query("range"));
  const health = useLoad("health", (signal) => read(api.GET("/health", { signal })), { every: EVERY });
  const nodes = useLoad("nodes", (signal) => read(api.GET("/api/v1/admin/nodes", { signal })), { every: EVERY });
  const causes = useLoad(`causes ${range.name}`, (signal) => readCauses(range, signal), { every: EVERY, keep: true });
  const problem = health.problem ?? nodes.problem;
  return (
    <>
      <ViewHead title={texts.views.now}>
        <RangePicker />
      </ViewHead>
      <ViewBody>
        {problem && health.data !== undefined && (
          <Callout kind="warn" role="status">
            {problem.message} {texts.problem.stale(formatInstant(health.at, false).slice(11))}
          </Callout>
        )}
        {problem && health.data === undefined && <ProblemBox problem={problem} retry={health.reload} />}
        <Project />
        <Figures />
        <div class="grid now-grid">
          <Panel
            title={t.failures}
            note={causes.data && causes.data.total > 0 ? <span class="badge">{formatCount(causes.data.total)}</span> : undefined}
            actions={
              <a class="link" href={href("/runs", { by: "error", since: `-${range.name}` })}>
                {t.allErrors}
              </a>
            }
            flush
          >
            <CauseList loaded={causes} />
          </Panel>
          <Attention health={health.data} nodes={nodes.data?.data} />
        </div>
        <Traffic range={range} />
        <NodeLines nodes={nodes.data?.data ?? []} />
        <p class="row wraps muted">
          {t.inTerminal} <CommandLine command={`svc-cli errors --since ${range.name}`} />
        </p>
      </ViewBody>
    </>
  );
}
