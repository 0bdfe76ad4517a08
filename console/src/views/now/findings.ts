// The places of findings about a watched project. Pure.

import type { DevFinding } from "../../api/types.ts";

/** Returns the place of a finding as an editor takes it: the file, its line and its column; else what it is about. */
export function placeOfFinding({ entity, file, line, column }: Pick<DevFinding, "entity" | "file" | "line" | "column">): string {
  return file === undefined ? entity : [file, line, line && column].filter((part) => part !== undefined).join(":");
}
