// The end of a pause as a person chooses it.

const UNITS = { m: 60_000, h: 3_600_000 } as const;

/** Returns the instant of a choice such as `15m`, or of a local time such as `2026-11-30T08:00`; null for no end. */
export function untilOf(choice: string, present: number): string | null {
  const span = /^(\d+)([mh])$/.exec(choice);
  if (span !== null) return new Date(present + Number(span[1]) * UNITS[span[2] as "m" | "h"]).toISOString();
  const at = Date.parse(choice);
  return choice === "" || Number.isNaN(at) ? null : new Date(at).toISOString();
}
