// Short messages about what was done, and what failed.

import { signal } from "@preact/signals";

/** A message that goes by itself, unless it is about a failure. */
export interface Toast {
  id: number;
  kind: "done" | "failed" | "note";
  text: string;
  /** A second line, such as code and request id of a failure. */
  detail?: string | undefined;
  /** The audit row of what was done. */
  auditId?: string | null;
}

const MILLISECONDS = 6000;
const MOST = 5;

/** The messages that are shown. */
export const toasts = signal<readonly Toast[]>([]);

let next = 1;

/** Shows a message. */
export function notify(toast: Omit<Toast, "id">): void {
  const id = next++;
  toasts.value = [...toasts.value, { id, ...toast }].slice(-MOST);
  if (toast.kind !== "failed") setTimeout(() => dismiss(id), MILLISECONDS);
}

/** Takes a message away. */
export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}
