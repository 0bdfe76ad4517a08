// Now: what needs attention, traffic, errors and latency of one range of time.

import { useComputed } from "@preact/signals";
import { api, read } from "../../api/client.ts";
import type { ErrorGroup } from "../../api/types.ts";
import { formatCompact, formatCount } from "../../core/format.ts";
import { liveCounts } from "../../core/live-store.ts";
import { type Loaded, useLoad } from "../../core/load.ts";
import { href, query } from "../../core/router.ts";
import { formatInstant, rangeOf } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Callout, CommandLine, Panel, ProblemBox, Skeleton, ViewBody, ViewHead } from "../../ui/content.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Moment, RangePicker } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { type Concern, findConcerns } from "./attention.ts";
import { Figures, Traffic } from "./traffic.tsx";

const t = texts.now;

/** Milliseconds between two reads of what the stream does not bring. */
const EVERY = 10_000;
/** Groups of errors that are shown; the list of runs has all. */
const GROUPS = 8;

function Concerns({ concerns, isKnown }: { concerns: readonly Concern[]; isKnown: boolean }) {
  if (concerns.length === 0) {
    return isKnown ? (
      <div class="calm">
        <Status of="ok" text={t.calm} />
      </div>
    ) : (
      <div class="panel-body">
        <Skeleton lines={2} />
      </div>
    );
  }
  return (
    <ul class="lines">
      {concerns.map((concern) => (
        <li key={`${concern.state} ${concern.name} ${concern.text}`}>
          <a class="line" href={href(concern.path, concern.query)}>
            <Status of={concern.state} symbolOnly />
            <span class="line-name clip">{concern.name}</span>
            <span class="line-text muted clip">{concern.text}</span>
            {concern.since && <Moment at={concern.since} as="distance" />}
            <Icon name="chevron" size={12} />
          </a>
        </li>
      ))}
    </ul>
  );
}

function ErrorLine({ group }: { group: ErrorGroup }) {
  const place = [group.channel, group.task].filter(Boolean).join(" › ");
  return (
    <li>
      <a class="line error-line" href={href("/runs", { error_group: group.group })}>
        <span class="badge bad" title={formatCount(group.count)}>
          {formatCompact(group.count)}
        </span>
        <span class="error-main">
          <span class="clip error-message">{group.message}</span>
          <span class="clip muted error-place">
            {place}
            {group.code !== null && (
              <>
                {" · "}
                <code>{group.code}</code>
              </>
            )}
            {group.change !== null && ` · ${t.after(group.change.action, group.change.resource_type, group.change.resource_id, group.change.principal)}`}
          </span>
        </span>
        <span class="error-times muted">
          <span>
            <span class="hidden-text">{t.lastSeen} </span>
            <Moment at={group.last_seen} as="distance" />
          </span>
          <span class="faint">
            {t.since} <Moment at={group.first_seen} />
          </span>
        </span>
        <Icon name="chevron" size={12} />
      </a>
    </li>
  );
}

function Errors({ errors }: { errors: Loaded<{ data: ErrorGroup[]; total: number }> }) {
  if (errors.data === undefined) return errors.problem ? <ProblemBox problem={errors.problem} retry={errors.reload} /> : <Skeleton lines={4} />;
  if (errors.data.data.length === 0) {
    return (
      <div class="calm">
        <Status of="ok" text={t.noErrors} />
      </div>
    );
  }
  return (
    <ul class="lines">
      {errors.data.data.map((group) => (
        <ErrorLine key={group.group} group={group} />
      ))}
    </ul>
  );
}

/** The view Now. */
export default function Now() {
  const range = rangeOf(query("range"));
  const health = useLoad("health", (signal) => read(api.GET("/health", { signal })), { every: EVERY });
  const nodes = useLoad("nodes", (signal) => read(api.GET("/api/v1/admin/nodes", { signal })), { every: EVERY });
  const params = { query: { since: `-${range.name}`, limit: GROUPS } };
  const errors = useLoad(`errors ${range.name}`, (signal) => read(api.GET("/api/v1/admin/errors", { signal, params })), {
    every: EVERY,
    keep: true,
  });
  const counts = useComputed(() => liveCounts.value);
  const concerns = findConcerns(health.data, nodes.data?.data, counts.value);
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
        <Figures />
        <div class="grid now-grid">
          <Panel
            title={t.failures}
            note={errors.data && errors.data.total > 0 ? <span class="badge">{formatCount(errors.data.total)}</span> : undefined}
            actions={
              <a class="link" href={href("/runs", { by: "error", since: `-${range.name}` })}>
                {t.allErrors}
              </a>
            }
            flush
          >
            <Errors errors={errors} />
          </Panel>
          <Panel title={t.attention} note={concerns.length > 0 ? <span class="badge">{concerns.length}</span> : undefined} flush>
            <Concerns concerns={concerns} isKnown={health.data !== undefined} />
          </Panel>
        </div>
        <Traffic range={range} />
        <p class="row wraps muted">
          {t.inTerminal} <CommandLine command={`svc-cli errors --since ${range.name}`} />
        </p>
      </ViewBody>
    </>
  );
}
