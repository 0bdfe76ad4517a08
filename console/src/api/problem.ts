// Refusals and failures of requests, as views show them.

import { texts } from "../texts.ts";

/** A problem at one place of a request. */
export interface ProblemDetail {
  path: string;
  code: string;
  message: string;
}

/** A request that was refused, failed, or found no service. */
export class ApiProblem extends Error {
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly traceId: string | null;
  readonly details: readonly ProblemDetail[];
  /** Seconds after which the request may be tried again, if the service named them. */
  readonly retryAfter: number | null;

  constructor(status: number, code: string, message: string, more: Partial<ApiProblem> = {}) {
    super(message);
    this.name = "ApiProblem";
    this.status = status;
    this.code = code;
    this.requestId = more.requestId ?? null;
    this.traceId = more.traceId ?? null;
    this.details = more.details ?? [];
    this.retryAfter = more.retryAfter ?? null;
  }
}

/** Returns the seconds of a `Retry-After` header. */
export function readRetryAfter(headers: Headers): number | null {
  const text = headers.get("retry-after");
  if (text === null) return null;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, (at - Date.now()) / 1000);
}

interface ErrorBody {
  code?: unknown;
  message?: unknown;
  request_id?: unknown;
  trace_id?: unknown;
  details?: unknown;
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** Reads the problem of an answer; `body` is its JSON, or its text if it is none. */
export function readProblem(response: Response, body: unknown): ApiProblem {
  const envelope = typeof body === "object" && body !== null ? (body as { error?: unknown }).error : undefined;
  const error: ErrorBody = typeof envelope === "object" && envelope !== null ? envelope : {};
  const details = Array.isArray(error.details) ? (error.details as ProblemDetail[]) : [];
  return new ApiProblem(
    response.status,
    textOf(error.code) ?? `HTTP_${response.status}`,
    textOf(error.message) ?? texts.problem.withoutMessage(response.status),
    {
      requestId: textOf(error.request_id) ?? response.headers.get("x-request-id"),
      traceId: textOf(error.trace_id) ?? response.headers.get("x-trace-id"),
      details,
      retryAfter: readRetryAfter(response.headers),
    },
  );
}

/** Returns the problem of whatever was thrown. */
export function asProblem(thrown: unknown): ApiProblem {
  if (thrown instanceof ApiProblem) return thrown;
  if (thrown instanceof TypeError) return new ApiProblem(0, "NO_ANSWER", texts.problem.noAnswer);
  return new ApiProblem(0, "UNEXPECTED", thrown instanceof Error ? thrown.message : String(thrown));
}

/** Returns whether something thrown means that the reader has gone. */
export function isAbort(thrown: unknown): boolean {
  return thrown instanceof DOMException && thrown.name === "AbortError";
}
