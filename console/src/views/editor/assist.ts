// Completion and hints of the editor: names and values of the JSON Schema, and names of definitions.

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { namedKind } from "../../core/definitions/documents.ts";
import { cursorAt, readPlaces, valueOf } from "../../core/definitions/places.ts";
import type { EditorOptions } from "../../ui/editor-core.ts";
import { namesAt, type Schema, schemasAt, textAt, typeAt, valuesAt } from "./schema.ts";

/** Names of definitions by their kind. */
export interface KnownNames {
  channels: readonly string[];
  workflows: readonly string[];
  connectors: readonly string[];
}

const STARTS: Record<string, string> = { object: "{}", array: "[]", string: '""', boolean: "false" };

/** Returns the text behind a name that is completed. */
function startOfValue(type: string): string {
  const first = type.split(" | ")[0] ?? "";
  return STARTS[first] ?? "";
}

/** Returns what can be written at a place of a text. */
export function completionsAt(schema: Schema, text: string, place: number, known: KnownNames): { from: number; to: number; options: Completion[] } | null {
  const root = readPlaces(text);
  const cursor = cursorAt(root, place);
  if (cursor === null) return null;
  const schemas = schemasAt(schema, valueOf(root), cursor.path);
  if (cursor.isName) {
    const names = namesAt(schema, schemas).filter((name) => !cursor.taken.includes(name.name));
    const options = names.map((name): Completion => ({
      label: JSON.stringify(name.name),
      displayLabel: name.name,
      detail: name.type,
      info: name.text,
      type: "property",
      boost: name.isRequired ? 2 : 0,
      apply: cursor.hasValue ? JSON.stringify(name.name) : `${JSON.stringify(name.name)}: ${startOfValue(name.type)}`,
    }));
    return { from: cursor.from, to: cursor.to, options };
  }
  const kind = namedKind(cursor.path);
  const named = kind === null ? [] : known[kind].map((name): Completion => ({ label: JSON.stringify(name), displayLabel: name, type: "variable", detail: kind.slice(0, -1) }));
  const values = valuesAt(schemas).map((value): Completion => ({ label: JSON.stringify(value), type: "constant", boost: -1 }));
  const seen = new Set(named.map((option) => option.label));
  return { from: cursor.from, to: cursor.to, options: [...named, ...values.filter((option) => !seen.has(option.label))] };
}

/** Returns the hint for a place of a text: what the schema says about the name or the value there. */
export function hintAt(schema: Schema, text: string, place: number): { from: number; to: number; text: string } | null {
  const root = readPlaces(text);
  const cursor = cursorAt(root, place);
  if (cursor === null || cursor.from === cursor.to) return null;
  const name = cursor.isName ? String(valueOf(readPlaces(text.slice(cursor.from, cursor.to))) ?? "") : null;
  const path = name === null ? cursor.path : [...cursor.path, name];
  const schemas = schemasAt(schema, valueOf(root), path);
  const type = typeAt(schemas);
  const found = textAt(schemas);
  return found === "" && type === "" ? null : { from: cursor.from, to: cursor.to, text: [found, type].filter(Boolean).join("\n") };
}

/** Returns the assistance of an editor. Without a schema only names of definitions are completed. */
export function assistOf(schema: () => Schema | null, known: () => KnownNames): NonNullable<EditorOptions["assist"]> {
  return {
    complete: (context: CompletionContext): CompletionResult | null => {
      const found = completionsAt(schema() ?? {}, context.state.doc.toString(), context.pos, known());
      if (found === null || found.options.length === 0) return null;
      if (!context.explicit && found.from === context.pos) return null;
      return { ...found, validFor: /^"?[^"\n]*"?$/ };
    },
    hint: (text, place) => {
      const now = schema();
      return now === null ? null : hintAt(now, text, place);
    },
  };
}
