// The one way to the service: credential, errors, pacing and audit rows of all requests.

import { signal } from "@preact/signals";
import type { Client } from "openapi-fetch";
import { authorize, hasKey, signOut } from "../core/credential.ts";
import { notify } from "../core/toasts.ts";
import { texts } from "../texts.ts";
import { asProblem, readProblem, readRetryAfter } from "./problem.ts";
import type { paths } from "./schema.d.ts";

/** Times that a request is sent again after a 429. */
const MAX_WAITS = 3;
/** Longest pause, in seconds, that a request waits for by itself. */
const MAX_PAUSE = 60;

/** The instant until which the service asked to wait, in milliseconds; 0 if it did not. */
export const pausedUntil = signal(0);

const origin = typeof document === "undefined" ? "http://localhost" : location.origin;
const prefix = typeof document === "undefined" ? "" : (document.documentElement.dataset["api"] ?? "");

/** The address before `/api/v1`, and before `/health`. */
export const apiRoot = origin + prefix;

/** Sends a request to the service with the credential, and waits as long as a 429 asks. */
export async function send(request: Request): Promise<Response> {
  authorize(request.headers);
  for (let waits = 0; ; waits++) {
    const response = await fetch(request.clone());
    if (response.status === 401 && hasKey()) signOut(texts.signIn.noLongerValid);
    if (response.status !== 429 || waits >= MAX_WAITS) return response;
    const seconds = readRetryAfter(response.headers) ?? 1;
    if (seconds > MAX_PAUSE) return response;
    await pause(seconds, request.signal);
  }
}

async function pause(seconds: number, cancelled: AbortSignal): Promise<void> {
  const milliseconds = Math.max(250, seconds * 1000);
  pausedUntil.value = Math.max(pausedUntil.value, Date.now() + milliseconds);
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    cancelled.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("The reader has gone.", "AbortError"));
    });
  });
  if (Date.now() >= pausedUntil.value) pausedUntil.value = 0;
}

/** The parts of a request. */
interface RequestParts {
  params?: { path?: Record<string, unknown>; query?: Record<string, unknown>; header?: Record<string, string> };
  body?: unknown;
  signal?: AbortSignal;
}

/** Returns the address of a path with its parameters; of a list the values are joined by commas. */
export function addressOf(path: string, params: RequestParts["params"] = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params.path?.[name])));
  const given = Object.entries(params.query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `${apiRoot}${filled}${search && `?${search}`}`;
}

const call =
  (method: string) =>
  async (path: string, { params = {}, body, signal }: RequestParts = {}): Promise<Answer<unknown>> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { ...(body === undefined ? {} : { "content-type": "application/json" }), ...params.header };
    const response = await send(new Request(addressOf(path, params), { method, headers, ...sent, signal: signal ?? null }));
    const text = await response.text();
    const read = () => (text === "" ? undefined : (JSON.parse(text) as unknown));
    if (response.ok) return { data: read(), response };
    try {
      return { error: read(), response };
    } catch {
      return { error: text, response };
    }
  };

type Methods = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The client of the API, with the types of its document. */
export const api = {
  GET: call("GET"),
  POST: call("POST"),
  PUT: call("PUT"),
  PATCH: call("PATCH"),
  DELETE: call("DELETE"),
} as unknown as Pick<Client<paths>, Methods>;

/** Returns the parts of a request as those of its dry run, which some operations name in their text alone. */
export const asDryRun = <T extends RequestParts>(parts: T): T => ({ ...parts, params: { ...parts.params, query: { ...parts.params?.query, dry_run: true } } });

/** An answer of the client. */
interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Returns the body of an answer, or throws its problem. */
export async function read<T>(answer: Promise<Answer<T>>): Promise<T> {
  try {
    const { data, error, response } = await answer;
    if (!response.ok) throw readProblem(response, error);
    return data as T;
  } catch (thrown) {
    if (thrown instanceof DOMException) throw thrown;
    throw asProblem(thrown);
  }
}

/** What an act did. */
export interface Done<T> {
  body: T;
  status: number;
  /** Id of the audit row of the act, if the service named it. */
  auditId: string | null;
}

/** Carries out an act: shows that it is done, with its audit row, or throws its problem. */
export async function act<T>(done: string, answer: Promise<Answer<T>>): Promise<Done<T>> {
  const { data, error, response } = await answer.catch((thrown: unknown) => {
    throw asProblem(thrown);
  });
  if (!response.ok) throw readProblem(response, error);
  const auditId = response.headers.get("x-audit-id");
  notify({ kind: "done", text: done, auditId });
  return { body: data as T, status: response.status, auditId };
}
