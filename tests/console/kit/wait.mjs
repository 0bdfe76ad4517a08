// Waits for states.

/** Looks at a state until it holds, and returns what was seen. Fails with the name of the state. */
export async function eventually(state, look, longest = 30_000) {
  const end = Date.now() + longest;
  for (let pause = 20; ; pause = Math.min(200, pause * 1.5)) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`not within ${longest / 1000} s: ${state}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
