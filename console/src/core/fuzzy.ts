// Fuzzy search over short lists of names.

/** A name that fits a search, with the places that fit. */
export interface Match<T> {
  item: T;
  score: number;
  places: number[];
}

/** Returns the score of a text for a search, and the places that fit, or null if it does not fit. */
export function scoreText(text: string, search: string): { score: number; places: number[] } | null {
  const lower = text.toLowerCase();
  const wanted = search.toLowerCase();
  const start = lower.indexOf(wanted);
  if (start >= 0) {
    const places = Array.from(wanted, (_, index) => start + index);
    return { score: 1000 - start * 2 - text.length + (isWordStart(lower, start) ? 200 : 0), places };
  }
  const places: number[] = [];
  let [score, from] = [0, 0];
  for (const character of wanted) {
    if (character === " ") continue;
    const place = lower.indexOf(character, from);
    if (place < 0) return null;
    score += isWordStart(lower, place) ? 12 : place === from ? 6 : 1;
    places.push(place);
    from = place + 1;
  }
  return { score: score - text.length * 0.1, places };
}

function isWordStart(text: string, place: number): boolean {
  return place === 0 || !/[a-z0-9]/.test(text[place - 1] ?? " ");
}

/** Returns the items that fit a search, the best first; without a search all of them in their order. */
export function fuzzyFind<T>(items: readonly T[], search: string, name: (item: T) => string, limit = 50): Match<T>[] {
  if (search.trim() === "") return items.slice(0, limit).map((item) => ({ item, score: 0, places: [] }));
  const found: Match<T>[] = [];
  for (const item of items) {
    const scored = scoreText(name(item), search.trim());
    if (scored !== null) found.push({ item, ...scored });
  }
  return found.sort((a, b) => b.score - a.score).slice(0, limit);
}
