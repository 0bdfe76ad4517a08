// Filters of lists: words with values, which are members of the URL and parameters of the API alike.

import { shellQuote } from "./format.ts";

/** A word that a filter bar offers. */
export interface FilterWord {
  /** Its name in the URL and in the API. */
  name: string;
  /** Its meaning in a few words. */
  hint: string;
  /** The values that it offers; none if any text may be given. */
  values?: readonly string[];
  /** Whether it takes several values. */
  several?: boolean;
}

/** A word with its values, as a chip shows it. */
export interface Chip {
  word: string;
  values: string[];
}

/** Returns the chips of a state of the view, in the order of the words. */
export function readChips(query: URLSearchParams, words: readonly FilterWord[]): Chip[] {
  const chips: Chip[] = [];
  for (const word of words) {
    const values = (query.get(word.name) ?? "").split(",").map((value) => value.trim()).filter(Boolean);
    if (values.length > 0) chips.push({ word: word.name, values });
  }
  return chips;
}

/** Returns the values of a word after one was added or taken away. */
export function toggleValue(text: string, value: string, several: boolean): string {
  const values = text.split(",").map((part) => part.trim()).filter(Boolean);
  if (values.includes(value)) return values.filter((other) => other !== value).join(",");
  return several ? [...values, value].join(",") : value;
}

/** What a person has typed into a filter bar: a word, or the value of a word. */
export interface Typed {
  word: FilterWord | null;
  text: string;
}

/** Reads what a person has typed, such as `sta` or `status:fai`. */
export function readTyped(text: string, words: readonly FilterWord[]): Typed {
  const match = /^([a-z_]+)[:=](.*)$/s.exec(text.trimStart());
  const word = words.find((candidate) => candidate.name === match?.[1]) ?? null;
  return word === null ? { word: null, text: text.trim() } : { word, text: (match?.[2] ?? "").trim() };
}

/** Returns the parameters of the API for a state of the view: the words of the list that have values. */
export function filterParameters(query: URLSearchParams, words: readonly FilterWord[]): Record<string, string> {
  const chips = readChips(query, words);
  return Object.fromEntries(chips.map((chip) => [chip.word, chip.values.join(",")]));
}

/** Returns the options of `svc-cli` for a filter, as a shell takes them, so that an empty list can name its command. */
export function cliOptions(filter: Readonly<Record<string, string>>): string {
  // With the sign of equality: a value such as `-1h` is no option then.
  const options = Object.entries(filter).map(([word, value]) => `--${word.replaceAll("_", "-")}=${shellQuote(value)}`);
  return options.join(" ");
}
