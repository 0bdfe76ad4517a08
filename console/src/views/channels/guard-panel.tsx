// The guards of a channel in the order in which a request meets them, with what each refused and why.

import type { ApiProblem } from "../../api/problem.ts";
import { formatCompact, formatCount, shellQuote } from "../../core/format.ts";
import { texts } from "../../texts.ts";
import { CommandLine, Panel } from "../../ui/content.tsx";
import { Moment } from "../../ui/moment.tsx";
import type { ChannelStats, Guard } from "./guards.ts";

const t = texts.channels;

function GuardLine({ guard, place }: { guard: Guard; place: number }) {
  return (
    <li class="guard">
      <span class="guard-place number faint" aria-hidden="true">
        {guard.isSet ? place : "·"}
      </span>
      <div class="grow stack guard-main">
        <div class="row">
          <strong class="clip">{t.guards[guard.name] ?? guard.name}</strong>
          <code class="faint clip guard-key">{guard.name}</code>
          <span class="grow" />
          {guard.refused > 0 && (
            <span class="badge bad" title={formatCount(guard.refused)}>
              {formatCompact(guard.refused)}
              <span class="hidden-text"> {t.refused}</span>
            </span>
          )}
        </div>
        {guard.settings !== "" && <code class="muted guard-settings clip" title={guard.settings}>{guard.settings}</code>}
        {guard.reasons.map((reason) => (
          <div class="guard-reason" key={`${reason.status} ${reason.reason}`}>
            <code class="number">{reason.status}</code>
            <span class="grow breaks">
              <code>{reason.reason}</code> <span class="muted">{reason.explanation}</span>
            </span>
            <span class="number" title={formatCount(reason.count)}>
              {formatCompact(reason.count)}
            </span>
            <span class="muted guard-seen">
              <Moment at={reason.last_seen} as="distance" />
            </span>
          </div>
        ))}
      </div>
    </li>
  );
}

/** The guards of a channel. */
export function GuardPanel(props: { guards: readonly Guard[]; stats: ChannelStats | null | undefined; problem: ApiProblem | undefined; channel: string }) {
  const { guards, stats } = props;
  const note = stats === null || stats === undefined ? null : stats.since === null ? null : (
    <span class="faint clip">
      {t.countedSince} <Moment at={stats.since} as="distance" />
    </span>
  );
  return (
    <Panel title={t.guardsTitle} note={note} flush>
      {guards.length === 0 ? (
        <p class="calm">{t.noGuards}</p>
      ) : (
        <ol class="guards" aria-label={t.guardsTitle}>
          {guards.map((guard, index) => (
            <GuardLine key={guard.name} guard={guard} place={index + 1} />
          ))}
        </ol>
      )}
      <div class="hint muted stack">
        {props.problem && <p>{props.problem.message}</p>}
        {stats === null && <p>{t.noStats}</p>}
        {stats?.free_permits !== null && stats?.free_permits !== undefined && <p>{t.freePermits(stats.free_permits)}</p>}
        {stats && <p class="breaks">{t.countsOf(stats.node)}</p>}
        <div>
          <CommandLine command={`svc-cli channels stats ${shellQuote(props.channel)}`} />
        </div>
      </div>
    </Panel>
  );
}
