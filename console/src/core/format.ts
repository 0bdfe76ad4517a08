// Numbers, ids and texts as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** Returns a count with separators, such as `12,345`. */
export function formatCount(value: number): string {
  return whole.format(value);
}

/** Returns a count of at most four characters, such as `987`, `1.2k`, `34k`, `5.6M`. */
export function formatCompact(value: number): string {
  const size = Math.abs(value);
  if (size < 1000) return String(Math.round(value * 10) / 10);
  const [divided, unit] = size < 1e6 ? [value / 1e3, "k"] : size < 1e9 ? [value / 1e6, "M"] : [value / 1e9, "G"];
  return `${Math.abs(divided) < 10 ? divided.toFixed(1).replace(/\.0$/, "") : Math.round(divided)}${unit}`;
}

/** The count from which on lists stop to count. */
const MOST_COUNTED = 10_000;

/** Returns a count of a list, which is a lower bound from 10,000 on: `10k+`. */
export function formatBounded(value: number): string {
  return value >= MOST_COUNTED ? `${formatCompact(MOST_COUNTED)}+` : formatCompact(value);
}

/** Returns a rate a second, such as `0.2/s` or `1.2k/s`. */
export function formatRate(value: number): string {
  if (value > 0 && value < 0.1) return `${value.toFixed(2)}/s`;
  return `${formatCompact(value)}/s`;
}

/** Returns a share as a percentage, such as `0.4 %`. */
export function formatShare(value: number): string {
  const percent = value * 100;
  if (percent === 0) return "0 %";
  if (percent < 0.1) return "< 0.1 %";
  return `${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** Returns a size in bytes, such as `3.2 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [value, index] = [bytes, 0];
  while (value >= 1024 && index < units.length - 1) [value, index] = [value / 1024, index + 1];
  return `${index === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[index]}`;
}

/** Returns the end of an id, by which people tell ids of one minute apart. */
export function shortId(id: string): string {
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id) ? id.slice(-12) : id;
}

/** Returns whether a text has the form of the id of a run. */
export function isRunId(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
}

/** Returns a text as one argument of a POSIX shell. */
export function shellQuote(text: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
