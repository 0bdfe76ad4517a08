// Charts over time by uPlot, which comes with the start of the page: the first view draws two.

import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import uPlot from "uplot";
import { showsUtc, theme } from "../core/preferences.ts";
import { formatInstant } from "../core/time.ts";

/** A line of a chart. */
export interface Series {
  name: string;
  /** The token of its colour, such as `--series-1`. */
  hue: string;
  values: readonly (number | null)[];
  /** Lines differ by their dashes too. */
  line?: "solid" | "dashed" | "dotted";
  isFilled?: boolean;
}

/** A chart over time. */
export interface ChartProps {
  label: string;
  /** Instants in seconds since 1970. */
  times: readonly number[];
  series: readonly Series[];
  format: (value: number) => string;
  height?: number;
  /** Charts of one name show the same instant under the pointer. */
  group?: string;
  /** The range of time in seconds, if it is not that of the values. */
  from?: number;
  until?: number;
  onChoose?: (from: number, until: number) => void;
}

const DASHES = { solid: [], dashed: [6, 4], dotted: [2, 3] };

/** Returns a token as a colour that a canvas takes. */
function resolveColour(element: HTMLElement, token: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${token})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function withAlpha(colour: string, alpha: number): string {
  const parts = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(colour);
  return parts === null ? colour : `rgba(${parts[1]}, ${parts[2]}, ${parts[3]}, ${alpha})`;
}

/** Returns the labels of instants: with seconds if they are close together, and the day where it changes. */
function timeLabels(ticks: readonly number[]): string[] {
  const hasSeconds = ticks.some((tick) => tick % 60 !== 0);
  let day = "";
  return ticks.map((tick, index) => {
    const text = formatInstant(tick * 1000, showsUtc.value);
    const isNewDay = text.slice(0, 10) !== day && index > 0;
    day = text.slice(0, 10);
    return isNewDay ? text.slice(5, 10) : text.slice(11, hasSeconds ? 19 : 16);
  });
}

function optionsOf(box: HTMLElement, props: ChartProps, show: (index: number | null) => void): uPlot.Options {
  const colour = (token: string) => resolveColour(box, token);
  const font = `11px ${getComputedStyle(box).fontFamily}`;
  const axis = { stroke: colour("--text-3"), font, ticks: { show: false } };
  const grid = { stroke: colour("--line"), width: 1 };
  return {
    width: Math.max(120, box.clientWidth),
    height: props.height ?? 140,
    padding: [8, 4, 0, 0],
    legend: { show: false },
    cursor: {
      sync: { key: props.group ?? "all" },
      points: { size: 6 },
      drag: { x: props.onChoose !== undefined, y: false, setScale: false },
    },
    scales: {
      x: { time: true, range: (_, least, most) => [props.from ?? least, props.until ?? most] },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.15 : 1] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 24, space: 70, values: (_, ticks) => timeLabels(ticks) },
      { ...axis, grid, size: 52, space: 32, values: (_, ticks) => ticks.map((tick) => props.format(tick)) },
    ],
    series: [
      {},
      ...props.series.map((series): uPlot.Series => {
        const stroke = colour(series.hue);
        return {
          label: series.name,
          stroke,
          width: 1.5,
          dash: DASHES[series.line ?? "solid"],
          points: { show: false },
          spanGaps: false,
          ...(series.isFilled ? { fill: withAlpha(stroke, 0.12) } : {}),
        };
      }),
    ],
    hooks: {
      setCursor: [(plot) => show(plot.cursor.idx ?? null)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < 4 || props.onChoose === undefined) return;
          props.onChoose(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
  };
}

let drawing = Promise.resolve();

/** Draws in a frame of its own, behind what others draw. The function that is returned gives it up. */
function drawLater(draw: () => void): () => void {
  let isGone = false;
  const drawAtFrame = (done: () => void) => requestAnimationFrame(() => (isGone || draw(), done()));
  drawing = drawing.then(() => (isGone ? undefined : new Promise(drawAtFrame)));
  return () => void (isGone = true);
}

/** A chart, its legend with the values under the pointer, and the same as a text for screen readers. */
export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const pointed = useSignal<number | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const drawn = useRef<ChartProps | null>(null);

  const dataOf = (shown: ChartProps) => [shown.times, ...shown.series.map((series) => series.values)] as unknown as uPlot.AlignedData;
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const build = () => {
      plot.current?.destroy();
      const options = optionsOf(element, latest.current, (index) => (pointed.value = index));
      if (showsUtc.value) options.tzDate = (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC");
      plot.current = new uPlot(options, dataOf(latest.current), element);
      drawn.current = latest.current;
    };
    build();
    const watcher = new ResizeObserver(([entry]) => {
      const width = entry?.contentRect.width ?? 0;
      if (width > 0) plot.current?.setSize({ width, height: latest.current.height ?? 140 });
    });
    watcher.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", build);
    return () => {
      watcher.disconnect();
      scheme.removeEventListener("change", build);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [props.series.map((series) => series.name).join("\n"), theme.value, showsUtc.value]);

  // Two charts of a view are not drawn in one frame.
  useEffect(() => (drawn.current === props ? undefined : drawLater(() => plot.current?.setData(dataOf(props)))), [props.times, props.series, props.from, props.until]);

  const index = pointed.value ?? props.times.length - 1;
  const valueOf = (series: Series) => {
    const value = series.values[index];
    return value === null || value === undefined ? "–" : props.format(value);
  };
  const summary = props.series.map((series) => `${series.name} ${valueOf(series)}`).join(", ");
  return (
    <figure class="chart" style={{ "--height": `${props.height ?? 140}px` }}>
      <div class="chart-plot" ref={box} role="img" aria-label={`${props.label}: ${summary}`} />
      <ul class="legend" aria-hidden="true">
        {props.series.map((series) => (
          <li key={series.name} style={{ "--hue": `var(${series.hue})` }}>
            <span class={`swatch ${series.line ?? "solid"}`} />
            {series.name} <span class="number">{valueOf(series)}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}
