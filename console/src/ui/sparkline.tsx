// A row of bars for a short series, such as failures of each minute of an hour.

/** Bars that are drawn at most; longer series are summed up. */
const BARS = 30;

/** Returns a series as at most `most` sums, the newest last. */
export function sumUp(values: readonly number[], most: number): number[] {
  const size = Math.max(1, Math.ceil(values.length / most));
  const sums: number[] = [];
  for (let end = values.length; end > 0; end -= size) {
    sums.unshift(values.slice(Math.max(0, end - size), end).reduce((sum, value) => sum + value, 0));
  }
  return sums;
}

/** A series as bars. It repeats what stands in words near it. */
export function Sparkline({ values, hue }: { values: readonly number[]; hue: string }) {
  const sums = sumUp(values, BARS);
  const most = Math.max(1, ...sums);
  return (
    <svg class="sparkline" width={sums.length * 3} height="18" viewBox={`0 0 ${sums.length * 3} 18`} aria-hidden="true">
      {sums.map((sum, index) => {
        const height = sum === 0 ? 1 : Math.max(2, (sum / most) * 18);
        return <rect key={index} x={index * 3} y={18 - height} width="2" height={height} fill={sum === 0 ? "var(--line-strong)" : `var(${hue})`} />;
      })}
    </svg>
  );
}
