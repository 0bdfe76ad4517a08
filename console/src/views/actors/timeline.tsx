// The ends and restarts of actors on a line of time, and the events of one with its flight recorder.

import { useMemo } from "preact/hooks";
import type { ActorEvent, AuditLogEntry } from "../../api/types.ts";
import { showsUtc } from "../../core/preferences.ts";
import { href, setQuery } from "../../core/router.ts";
import { formatDuration, formatInstant, now } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Panel } from "../../ui/content.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { labelOf, listEvents, orderOf, sayExit, TROUBLE } from "./tree.ts";

const t = texts.actors;

/** The look of each event. */
const LOOKS: Record<string, string> = {
  started: "running", exited: "failed", restart_scheduled: "restarting", quarantined: "quarantined", released: "ok",
  draining: "paused", stopped: "stopped", replaced: "scheduled", escalated: "error",
};
/** Lines that are shown. */
const LINES = 12;
/** Events of one actor that are listed. */
const EVENTS = 60;

const wordOf = (event: ActorEvent): string => t.events[event.event] ?? event.event;
const lookOf = (event: ActorEvent): string => (event.event === "exited" && event.exit?.["exit"] === "ordered" ? "stopped" : event.event === "started" ? "ok" : (LOOKS[event.event] ?? "scheduled"));

/** What is known of the events: the names of connectors by the paths of their actors, and the orders to restart. */
export interface EventFacts {
  connectors: ReadonlyMap<string, string>;
  orders: readonly AuditLogEntry[];
}

/** Returns the word of an event, with the person who ordered it. */
function sayEvent(event: ActorEvent, facts: EventFacts): string {
  const order = orderOf(event, facts.orders);
  return order === undefined ? wordOf(event) : `${wordOf(event)} ${t.orderedBy(order.principal)}`;
}

/** The lines of the actors that ended, the one with the most ends first. */
export function Timeline({ history, path, facts }: { history: readonly ActorEvent[]; path: string; facts: EventFacts }) {
  const lines = useMemo(() => listEvents(history, path), [history, path]);
  const shown = lines.slice(0, LINES);
  const first = Math.min(...shown.flatMap((line) => line.events.map((event) => Date.parse(event.at))));
  const until = now.value;
  const length = Math.max(1000, until - first);
  return (
    <Panel title={path === "" ? t.timeline : t.timelineOf(path)} flush note={<span class="faint">{t.memory(history.length)}</span>}>
      {shown.length === 0 ? (
        <p class="actors-calm muted">{path === "" ? t.noEvents : t.noEventsOf}</p>
      ) : (
        <>
          <ul class="actors-lines">
            {shown.map((line) => (
              <li key={line.path} class="actors-line">
                <button type="button" class="actors-line-name clip" title={line.path} onClick={() => setQuery({ actor: line.path })}>
                  {labelOf(line.path, facts.connectors.get(line.path))}
                </button>
                <span class="number muted">{t.exits(line.exits)}</span>
                <span class="actors-track" aria-hidden="true">
                  {line.events.filter((event) => event.event === "released" || (event.event !== "restart_scheduled" && TROUBLE.includes(event.event))).map((event) => (
                    <span
                      key={event.seq}
                      class="actors-event"
                      style={{ left: `${(((Date.parse(event.at) - first) / length) * 100).toFixed(2)}%` }}
                      title={`${formatInstant(Date.parse(event.at), showsUtc.value)} ${sayEvent(event, facts)}`}
                    >
                      <Status of={lookOf(event)} text={wordOf(event)} symbolOnly />
                    </span>
                  ))}
                </span>
              </li>
            ))}
          </ul>
          <p class="row muted actors-axis">
            <Moment at={new Date(first).toISOString()} />
            <span class="grow" />
            <Moment at={new Date(until).toISOString()} />
          </p>
        </>
      )}
    </Panel>
  );
}

/** The person who ordered an end, with the audit row of the order. */
function OrderLink({ event, facts }: { event: ActorEvent; facts: EventFacts }) {
  const order = orderOf(event, facts.orders);
  if (order === undefined) return null;
  return (
    <a class="link" href={href("/audit", { entry: order.id })}>
      {t.orderedBy(order.principal)}
    </a>
  );
}

/** The events of one actor, the newest first, with the messages before each end. */
export function EventList({ history, path, facts }: { history: readonly ActorEvent[]; path: string; facts: EventFacts }) {
  const events = history.filter((event) => event.path === path).reverse().slice(0, EVENTS);
  if (events.length === 0) return <p class="muted">{t.noEventsOf}</p>;
  return (
    <ol class="actors-events" tabIndex={0} aria-label={t.timelineOf(path)}>
      {events.map((event) => (
        <li key={event.seq}>
          <div class="row wraps">
            <Status of={lookOf(event)} text={wordOf(event)} />
            <OrderLink event={event} facts={facts} />
            <span class="muted">{t.generation(event.generation)}</span>
            {event.after_ms !== undefined && <span class="muted">{t.after(formatDuration(event.after_ms))}</span>}
            <span class="grow" />
            <Moment at={event.at} />
          </div>
          {(event.exit !== undefined || event.reason !== undefined) && <p class="breaks">{event.reason ?? sayExit(event.exit)}</p>}
          {event.recent !== undefined && event.recent.length > 0 && (
            <p class="muted breaks">
              {t.recorderHint}: <code>{event.recent.join(" → ")}</code>
            </p>
          )}
        </li>
      ))}
    </ol>
  );
}
