// The endpoints of an OpenAPI document as a list. Pure.

/** An endpoint. */
export interface Operation {
  method: string;
  path: string;
  summary: string;
  tag: string;
  isDeprecated: boolean;
}

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Returns the endpoints of a document; members of another form are left out. */
export function listOperations(document: unknown): Operation[] {
  const paths = (document as { paths?: unknown } | null | undefined)?.paths;
  if (typeof paths !== "object" || paths === null) return [];
  const found: Operation[] = [];
  for (const [path, methods] of Object.entries(paths)) {
    for (const method of METHODS) {
      const operation = (methods as Record<string, unknown> | null)?.[method] as { summary?: unknown; tags?: unknown; deprecated?: unknown } | undefined;
      if (typeof operation !== "object" || operation === null) continue;
      const tag = Array.isArray(operation.tags) ? String(operation.tags[0] ?? "") : "";
      found.push({ method: method.toUpperCase(), path, summary: typeof operation.summary === "string" ? operation.summary : "", tag, isDeprecated: operation.deprecated === true });
    }
  }
  return found;
}

/** Returns the endpoints whose method, path or summary has every word of a search. */
export function findOperations(operations: readonly Operation[], search: string): Operation[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return operations.filter((row) => words.every((word) => `${row.method} ${row.path} ${row.summary} ${row.tag}`.toLowerCase().includes(word)));
}
