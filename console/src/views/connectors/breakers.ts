// The circuit breakers of connectors, by the keys of the service. Pure.

/** A circuit breaker. */
export interface Breaker {
  /** `channel:connector`, by which it is reset. */
  key: string;
  channel: string;
  connector: string;
  state: string;
}

/** Returns the breakers of a map of states by key; a name may have a colon itself, so the known names decide. */
export function readBreakers(states: Readonly<Record<string, string>>, names: readonly string[]): Breaker[] {
  const known = [...names].sort((a, b) => b.length - a.length);
  return Object.entries(states).map(([key, state]) => {
    const connector = known.find((name) => key.endsWith(`:${name}`)) ?? key.slice(key.lastIndexOf(":") + 1);
    return { key, channel: key.slice(0, Math.max(0, key.length - connector.length - 1)), connector, state };
  });
}

const ORDER = ["open", "half_open", "closed"];

/** Returns the gravest state of breakers; null without one. */
export function gravestState(breakers: readonly Pick<Breaker, "state">[]): string | null {
  return ORDER.find((state) => breakers.some((breaker) => breaker.state === state)) ?? null;
}

/** Returns whether a token ends so soon that it may be missed. */
export const endsSoon = (at: string, present: number): boolean => Date.parse(at) - present < 60_000;
