// Figures beside their aims.

/** Returns the value below which a share of the values lies. */
export function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** The figures of a run, a line each. */
export class Report {
  #missed = [];

  /** Prints a line that is no figure. */
  note(text) {
    console.log(`  ${text}`);
  }

  begin(title) {
    console.log(title);
  }

  /** Prints a figure and its aim, the most that it may be. */
  add(name, value, most, unit = "") {
    const isMissed = !(value <= most);
    if (isMissed) this.#missed.push(name);
    const text = (number) => `${Number.isInteger(number) ? number : number.toFixed(2)}${unit}`;
    console.log(`  ${name.padEnd(58)} ${text(value).padStart(12)}  aim ${text(most)}${isMissed ? "  MISSED" : ""}`);
  }

  /** Prints what missed its aim. Returns whether nothing did. */
  end() {
    console.log(this.#missed.length === 0 ? "every aim is reached" : `missed: ${this.#missed.join("; ")}`);
    return this.#missed.length === 0;
  }
}
