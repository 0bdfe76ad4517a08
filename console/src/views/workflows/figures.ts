// How a version does: errors and durations of its runs on record.

/** A run as far as its figures go. */
interface MeasuredRun {
  status: string;
  duration_ms: number | null;
  error_code: string | null;
}

/** The figures of a version. */
export interface VersionFigures {
  runs: number;
  failed: number;
  /** The share of runs that failed; null without runs. */
  errorShare: number | null;
  p50: number | null;
  p95: number | null;
  /** Number of the newest runs that the durations are of. */
  sampled: number;
}

/** Returns the duration that a share of values does not exceed; null without values. */
export function quantile(values: readonly number[], share: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1))] ?? null;
}

const ENDED = ["completed", "failed", "cancelled"];

/** Returns the figures of a version from the counts of its runs by status, and the newest of them. */
export function figuresOf(counts: Readonly<Record<string, number>>, newest: readonly MeasuredRun[]): VersionFigures {
  const runs = ENDED.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
  const failed = counts["failed"] ?? 0;
  const durations = newest.filter((run) => ENDED.includes(run.status)).flatMap((run) => (run.duration_ms === null ? [] : [run.duration_ms]));
  return {
    runs,
    failed,
    errorShare: runs === 0 ? null : failed / runs,
    p50: quantile(durations, 0.5),
    p95: quantile(durations, 0.95),
    sampled: durations.length,
  };
}

/** Runs that a comparison needs before its figures mean something. */
export const ENOUGH = 20;

/** What the figures of a canary say: `few` runs, `worse` or `fine`. */
export type Verdict = "few" | "worse" | "slower" | "fine";

/** Compares a canary with the version that it may replace. */
export function judge(canary: VersionFigures, stable: VersionFigures): Verdict {
  if (canary.runs < ENOUGH || stable.runs < ENOUGH) return "few";
  const [a, b] = [canary.errorShare ?? 0, stable.errorShare ?? 0];
  // Two standard errors of the difference of two shares: less than that is chance.
  const shared = (canary.failed + stable.failed) / (canary.runs + stable.runs);
  const noise = 2 * Math.sqrt(shared * (1 - shared) * (1 / canary.runs + 1 / stable.runs));
  if (a - b > Math.max(noise, 0.001)) return "worse";
  const [slow, usual] = [canary.p95 ?? 0, stable.p95 ?? 0];
  return usual > 0 && slow > usual * 1.5 && slow - usual > 5 ? "slower" : "fine";
}

/** The versions that share the traffic, the newer one first. */
export interface Canary<T> {
  canary: T;
  stable: T;
  share: number;
}

/** Returns the versions that share the traffic, or null if one version has all of it. */
export function canaryOf<T extends { status: string; version: number; rollout_percentage: number }>(versions: readonly T[]): Canary<T> | null {
  const active = versions.filter((version) => version.status === "active").sort((a, b) => b.version - a.version);
  const [canary, stable] = active;
  return canary === undefined || stable === undefined ? null : { canary, stable, share: canary.rollout_percentage };
}
