// Texts of definitions that are not saved, so that another view may be opened meanwhile, or try one.

import type { Signal } from "@preact/signals";
import { type Kind, parseDocument } from "./documents.ts";

/** The texts, by [key](keyOf). */
export const unsaved = new Map<string, Signal<string>>();

/** Returns the key of a definition; that of a new one without an id. */
export const keyOf = (kind: Kind, id: string | undefined): string => `${kind} ${id ?? ""}`;

/** Returns the document of an unsaved text; null if there is none, or it is no JSON object. */
export function unsavedDocument(kind: Kind, id: string): Record<string, unknown> | null {
  const text = unsaved.get(keyOf(kind, id))?.value;
  const parsed = text === undefined ? null : parseDocument(text);
  return parsed !== null && "document" in parsed ? parsed.document : null;
}
