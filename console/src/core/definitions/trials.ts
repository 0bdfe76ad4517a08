// What a trial of a workflow takes: a payload, and answers in the place of the systems that it would call.

import { STEP_LISTS } from "./references.ts";

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the value of a text, or null if it is no JSON. */
export function parseJson(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}

/** Functions whose answer is a list of rows. */
const LISTS = new Set(["db_read", "mongo_read", "mongo_aggregate", "data_query"]);

/** Returns an empty answer for each connector and channel that tasks name, by their function. */
export function stubsOf(tasks: readonly unknown[]): Record<string, Record<string, unknown>> {
  const stubs: Record<string, Record<string, unknown>> = {};
  const open = [...tasks];
  while (open.length > 0) {
    const task = open.shift();
    if (!isObject(task)) continue;
    for (const key of [...STEP_LISTS].reverse()) if (Array.isArray(task[key])) open.unshift(...(task[key] as unknown[]));
    const call = task["function"];
    if (!isObject(call) || typeof call["name"] !== "string" || !isObject(call["input"])) continue;
    const target = call["name"] === "channel_call" ? call["input"]["channel"] : call["input"]["connector"];
    if (target === undefined) continue;
    const name = typeof target === "string" ? target : "*";
    stubs[call["name"]] = { ...stubs[call["name"]], [name]: LISTS.has(call["name"]) ? [] : {} };
  }
  return stubs;
}
