// The live stream of the service, read with `fetch` because an `EventSource` sends no credential.
//
// It goes on behind the last event that was seen, is closed while the tab is hidden, and is opened anew after an end.

import { effect, signal } from "@preact/signals";
import { apiRoot, send } from "../api/client.ts";
import { readRetryAfter } from "../api/problem.ts";
import type { LivePayloads, LiveType } from "../api/live-types.ts";
import { signInState } from "./credential.ts";
import { EventParser } from "./sse.ts";

/**
 * The state of the stream: `absent` if the service has none, `full` if it has as many viewers as it takes, `lost` while
 * there is no connection, `paused` while the tab is hidden.
 */
export type LiveState = "off" | "connecting" | "open" | "paused" | "lost" | "full" | "absent";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15_000;
/** Silence after which a stream counts as lost; the service sends something each second. */
const SILENCE = 15_000;
/** Pause between two reads of the stream: one that brings hundreds of events a second is read by piles of them. */
const READ_PAUSE = 100;
/** Pause before a service without the stream is asked again. */
const ABSENT_PAUSE = 60_000;

/** The state of the stream. */
export const liveState = signal<LiveState>("off");

/** The instant since which there is no connection, in milliseconds; 0 while there is one, or while none is wanted. */
export const liveLostSince = signal(0);

type Handler<T> = (payload: T, id: string | null) => void;
const handlers = new Map<string, Set<Handler<never>>>();

let lastId: string | null = null;
let running: AbortController | null = null;
let failures = 0;

/** Follows the events of a type; the function that is returned ends that. */
export function onLive<K extends LiveType>(type: K, handler: Handler<LivePayloads[K]>): () => void {
  const known = handlers.get(type) ?? new Set();
  known.add(handler as Handler<never>);
  handlers.set(type, known);
  return () => known.delete(handler as Handler<never>);
}

function dispatch(type: string, data: string, id: string | null): void {
  const known = handlers.get(type);
  if (known === undefined || known.size === 0) return;
  let payload: unknown;
  try {
    payload = JSON.parse(data);
  } catch {
    return;
  }
  for (const handler of known) (handler as Handler<unknown>)(payload, id);
}

async function readStream(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  let silence: ReturnType<typeof setTimeout> | undefined;
  try {
    for (;;) {
      silence = setTimeout(() => void reader.cancel(), SILENCE);
      const { done, value } = await reader.read();
      clearTimeout(silence);
      if (done) return;
      const events = parser.push(decoder.decode(value, { stream: true }));
      for (const event of events) {
        if (event.id !== null && event.id !== "") lastId = event.id;
        dispatch(event.type, event.data, event.id);
      }
      if (events.length > 0) await new Promise((resolve) => setTimeout(resolve, READ_PAUSE));
    }
  } finally {
    clearTimeout(silence);
  }
}

function noteLoss(): void {
  liveState.value = "lost";
  if (liveLostSince.value === 0) liveLostSince.value = Date.now();
}

/** Connects once. Returns the pause before the next time, or null if there is to be none. */
async function connect(cancelled: AbortSignal): Promise<number | null> {
  if (liveState.value !== "lost") liveState.value = "connecting";
  const headers = new Headers({ accept: "text/event-stream" });
  if (lastId !== null) headers.set("last-event-id", lastId);
  const request = new Request(`${apiRoot}/api/v1/admin/live?history=hour,day`, { headers, signal: cancelled, cache: "no-store" });
  const response = await send(request);
  if (response.status === 401 || response.status === 403) return null;
  if (response.status === 404) {
    liveState.value = "absent";
    return ABSENT_PAUSE;
  }
  if (!response.ok || response.body === null) {
    const pause = readRetryAfter(response.headers);
    // A node that is stopping answers 503 too, and names no time to come again.
    if (response.status === 503 && pause !== null) liveState.value = "full";
    else noteLoss();
    return (pause ?? 5) * 1000;
  }
  liveState.value = "open";
  liveLostSince.value = 0;
  failures = 0;
  await readStream(response.body);
  noteLoss();
  return FIRST_PAUSE;
}

async function keepConnected(cancelled: AbortSignal): Promise<void> {
  while (!cancelled.aborted) {
    let pause: number | null;
    try {
      pause = await connect(cancelled);
    } catch {
      if (cancelled.aborted) return;
      noteLoss();
      failures++;
      pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** failures) * (0.5 + Math.random() / 2);
    }
    if (pause === null) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pause);
      cancelled.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    });
  }
}

function stop(state: LiveState): void {
  running?.abort();
  running = null;
  liveState.value = state;
  liveLostSince.value = 0;
}

function follow(isSignedIn: boolean): void {
  if (!isSignedIn) {
    lastId = null;
    stop("off");
  } else if (document.hidden) {
    if (liveState.value !== "absent") stop("paused");
  } else if (running === null) {
    running = new AbortController();
    void keepConnected(running.signal);
  }
}

/** Keeps the stream open while a person is signed in and looks at the page. */
export function startLive(): void {
  effect(() => follow(signInState.value === "done"));
  document.addEventListener("visibilitychange", () => follow(signInState.value === "done"));
}
