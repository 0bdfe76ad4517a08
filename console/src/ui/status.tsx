// States: each has a shape, a colour and a word, so that none is told by its colour alone.

import type { JSX } from "preact";
import { texts } from "../texts.ts";

/** A state as it looks. */
interface Look {
  hue: string;
  shape: JSX.Element;
  spins?: boolean;
}

const RING = "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2z";

const line = (d: string) => (
  <path d={d} fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
);
const disc = (inner: string) => (
  <>
    <path d="M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13z" fill="currentColor" />
    <path d={inner} fill="none" stroke="var(--surface)" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" />
  </>
);
const ring = (inner: string) => line(`${RING}${inner}`);

const CHECKED: Look = { hue: "--ok", shape: disc("M5 8.2l2.1 2.1L11 6") };
const CROSSED: Look = { hue: "--bad", shape: disc("M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4") };
const TURNING: Look = { hue: "--run", shape: line("M8 2.2a5.8 5.8 0 1 1-5.8 5.8"), spins: true };
const DOTTED: Look = {
  hue: "--wait",
  shape: <path d={RING} fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2 2.05" />,
};
const CLOCK: Look = { hue: "--wait", shape: ring("M8 5v3.2l2 1.3") };
const AGAIN: Look = { hue: "--retry", shape: line("M13.2 8A5.2 5.2 0 1 1 11.5 4.2M13 2v2.8h-2.8") };
const BARRED: Look = { hue: "--cancel", shape: ring("M4.2 4.2l7.6 7.6") };
const MINUS: Look = { hue: "--skip", shape: ring("M5.5 8h5") };
const TRIANGLE: Look = { hue: "--warn", shape: line("M8 2.5l6 10.8H2zM8 6.6v3M8 11.4h.01") };
const UNKNOWN: Look = { hue: "--warn", shape: ring("M8 5v3.6M8 11h.01") };
const PAUSED: Look = { hue: "--warn", shape: ring("M6.6 6v4M9.4 6v4") };
const DOT: Look = { hue: "--cancel", shape: ring("") };

const LOOKS: Record<string, Look> = {
  completed: CHECKED, executed: CHECKED, ok: CHECKED, live: CHECKED, active: CHECKED, loaded: CHECKED, ready: CHECKED, closed: CHECKED,
  failed: CROSSED, error: CROSSED, exhausted: CROSSED, quarantined: CROSSED, open: CROSSED, expired: CROSSED, blocked: CROSSED,
  running: TURNING, starting: TURNING, aborting: TURNING, compiling: TURNING,
  pending: DOTTED, claimed: DOTTED, waiting: DOTTED, draft: DOTTED, half_open: DOTTED,
  scheduled: CLOCK, deferred: CLOCK,
  retrying: AGAIN, restarting: AGAIN,
  cancelled: BARRED, aborted: BARRED, disabled: BARRED, stopped: BARRED, archived: BARRED,
  skipped: MINUS, skipped_misfire: MINUS, skipped_singleton: MINUS,
  unrecorded: UNKNOWN, degraded: TRIANGLE, tolerated: TRIANGLE, warning: TRIANGLE,
  paused: PAUSED,
};

/** A state, with its word unless `symbolOnly`. */
export function Status({ of: state, symbolOnly, text }: { of: string; symbolOnly?: boolean; text?: string }) {
  const look = LOOKS[state] ?? DOT;
  const word = text ?? texts.status[state] ?? state.replaceAll("_", " ");
  return (
    <span class={`status${look.spins ? " spins" : ""}`} style={{ "--hue": `var(${look.hue})` }} title={symbolOnly ? word : undefined}>
      <svg width="14" height="14" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
        {look.shape}
      </svg>
      <span class={symbolOnly ? "hidden-text" : "clip"}>{word}</span>
    </span>
  );
}
