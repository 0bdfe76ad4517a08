// Failures by their cause: those of the last hour from counters, those of a longer range from the rows.

import { api, read } from "../../api/client.ts";
import { ApiProblem } from "../../api/problem.ts";
import type { AuditLogEntry } from "../../api/types.ts";
import { formatCompact, formatCount } from "../../core/format.ts";
import type { Loaded } from "../../core/load.ts";
import { href } from "../../core/router.ts";
import type { TimeRange } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { LoadState } from "../../ui/content.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Sparkline } from "../../ui/sparkline.tsx";
import { Status } from "../../ui/status.tsx";

const t = texts.now;

/** Groups that are shown; the list of runs has all. */
const LIMIT = 8;
/** Longest range in minutes that the counters have. */
const COUNTED_MINUTES = 60;

/** A cause of failures. */
export interface Cause {
  group: string;
  channel: string;
  task: string | null;
  code: string | null;
  message: string;
  count: number;
  first_seen: string;
  last_seen: string;
  change?: AuditLogEntry | null;
  per_minute?: readonly number[];
}

/** The causes of a range. */
export interface Causes {
  total: number;
  causes: readonly Cause[];
}

async function readGroups(range: TimeRange, signal: AbortSignal): Promise<Causes> {
  const params = { query: { since: `-${range.name}`, limit: LIMIT } };
  const page = await read(api.GET("/api/v1/admin/errors", { params, signal }));
  return { total: page.total, causes: page.data };
}

/** Reads the causes of a range, in the cheaper way if there is one. */
export async function readCauses(range: TimeRange, signal: AbortSignal): Promise<Causes> {
  const minutes = range.length / 60_000;
  if (minutes > COUNTED_MINUTES) return readGroups(range, signal);
  try {
    const params = { query: { minutes, limit: LIMIT } };
    const { data } = await read(api.GET("/api/v1/admin/errors/recent", { params, signal }));
    return { total: data.total, causes: data.groups };
  } catch (thrown) {
    if (thrown instanceof ApiProblem && thrown.status === 404) return readGroups(range, signal);
    throw thrown;
  }
}

function CauseLine({ cause }: { cause: Cause }) {
  const place = [cause.channel, cause.task].filter(Boolean).join(" › ");
  const { change } = cause;
  return (
    <li>
      <a class="line now-error" href={href("/runs", { error_group: cause.group })}>
        <span class="badge bad" title={formatCount(cause.count)}>
          {formatCompact(cause.count)}
        </span>
        <span class="now-error-main">
          <span class="breaks now-error-message" title={cause.message}>
            {cause.message}
          </span>
          <span class="clip muted now-small">
            {place}
            {cause.code !== null && (
              <>
                {" · "}
                <code>{cause.code}</code>
              </>
            )}
            {change && ` · ${t.after(change.action, change.resource_type, change.resource_id, change.principal)}`}
          </span>
        </span>
        {cause.per_minute && <Sparkline values={cause.per_minute} hue="--bad" />}
        <span class="now-error-times muted now-small">
          <span>
            <span class="hidden-text">{t.lastSeen} </span>
            <Moment at={cause.last_seen} as="distance" />
          </span>
          <span class="faint">
            {t.since} <Moment at={cause.first_seen} />
          </span>
        </span>
        <Icon name="chevron" size={12} />
      </a>
    </li>
  );
}

/** The causes of the range, the most frequent first. */
export function CauseList({ loaded }: { loaded: Loaded<Causes> }) {
  if (loaded.data === undefined) {
    return <div class="panel-body"><LoadState of={loaded} lines={4} /></div>;
  }
  if (loaded.data.causes.length === 0) {
    return (
      <div class="calm">
        <Status of="ok" text={t.noErrors} />
      </div>
    );
  }
  return (
    <ul class="lines">
      {loaded.data.causes.map((cause) => (
        <CauseLine key={cause.group} cause={cause} />
      ))}
    </ul>
  );
}
