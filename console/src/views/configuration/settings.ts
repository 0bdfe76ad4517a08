// Settings: their values as text, and which of them a search finds. Pure.

import type { EffectiveSetting } from "../../api/node-types.ts";

/** Returns a value as one line; null if it is unset. */
export function showValue(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns the settings that fit: those of a source, and those whose key, value or variable has the text. */
export function findSettings(settings: readonly EffectiveSetting[], search: string, source: string): EffectiveSetting[] {
  const text = search.trim().toLowerCase();
  return settings.filter((setting) => {
    if (source === "set" ? setting.source === "default" : source !== "" && setting.source !== source) return false;
    return `${setting.key} ${setting.variable ?? ""} ${showValue(setting.value) ?? ""}`.toLowerCase().includes(text);
  });
}
