// Symbols of 16 by 16, drawn with one stroke. They are decoration: a text is always with them.

const SHAPES = {
  now: "M2 8h3l2-4.5 2.5 9L11.5 8H14",
  runs: "M3 4h10M3 8h7M3 12h9",
  channels: "M2.5 8h4M9.5 8h4M8 6.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zM4 4.5l2.5 2M4 11.5l2.5-2M12 4.5l-2.5 2M12 11.5l-2.5-2",
  workflows: "M3 2.5h4v4H3zM9 9.5h4v4H9zM5 6.5v5h4",
  schedules: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3.2l2.2 1.4",
  actors: "M8 2.2v3M3.5 9.2V7.5h9v1.7M8 5.2v2.3M2.2 9.5h2.6v2.6H2.2zM11.2 9.5h2.6v2.6h-2.6z",
  refusals: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM4.2 4.2l7.6 7.6",
  connectors: "M6 2.5v3M10 2.5v3M4.5 5.5h7v2.2a3.5 3.5 0 0 1-7 0zM8 11.2v2.5",
  kafka: "M3 4.5c0-1 2.2-1.8 5-1.8s5 .8 5 1.8v7c0 1-2.2 1.8-5 1.8s-5-.8-5-1.8zM3 4.5c0 1 2.2 1.8 5 1.8s5-.8 5-1.8M3 8c0 1 2.2 1.8 5 1.8s5-.8 5-1.8",
  plugins: "M3 5.5h3.2a1.8 1.8 0 1 1 3.6 0H13v3a1.8 1.8 0 1 0 0 2.7v2.3H3z",
  nodes: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  packages: "M8 2.2l5.2 2.9v5.8L8 13.8l-5.2-2.9V5.1zM2.8 5.1L8 8l5.2-2.9M8 8v5.8",
  audit: "M4 2.5h8v11H4zM6.2 5.5h3.6M6.2 8h3.6M6.2 10.5h2",
  configuration: "M3 5h6M12 5h1M3 11h1M7 11h6M10.5 3.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3zM5.5 9.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3z",
  api: "M5.5 4L2 8l3.5 4M10.5 4L14 8l-3.5 4",
  editor: "M3 13l.7-3L11 2.8 13.2 5 6 12.3z",
  search: "M7 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM10 10l3.5 3.5",
  close: "M4 4l8 8M12 4l-8 8",
  chevron: "M6 4l4 4-4 4",
  down: "M4 6l4 4 4-4",
  left: "M10 4L6 8l4 4",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  sun: "M8 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5zM8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M12.4 3.6l-1 1M4.6 11.4l-1 1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
  system: "M2.5 3.5h11v7h-11zM6 13h4M8 10.5V13",
  keys: "M2 4.5h12v7H2zM4.5 7h.01M7 7h.01M9.5 7h.01M12 7h.01M5 9.5h6",
  leave: "M9.5 3H13v10H9.5M3 8h6M6.5 5.5L9 8l-2.5 2.5",
  copy: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7",
  reload: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.6h-2.6",
  clock: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3.2l2.2 1.4",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  filter: "M2.5 4h11M4.5 8h7M6.5 12h3",
  check: "M3.5 8.5l3 3 6-7",
  alert: "M8 2.5l6 10.5H2zM8 6.5v3M8 11.4h.01",
  info: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 7.5v3.2M8 5.2h.01",
  play: "M5 3.2l7.5 4.8L5 12.8z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  stop: "M4 4h8v8H4z",
  rerun: "M3 8a5 5 0 1 0 1.6-3.7M3 2.5v2.6h2.6",
  trash: "M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.6 9h5.8l.6-9",
  out: "M6.5 3.5H3v9.5h9.5V9.5M9 2.5h4.5V7M13 3L7.5 8.5",
  link: "M6.8 9.2l2.4-2.4M7.5 4.8l1-1a2.7 2.7 0 0 1 3.8 3.8l-1 1M8.5 11.2l-1 1a2.7 2.7 0 0 1-3.8-3.8l1-1",
  narrow: "M2.5 3h11v10h-11zM6 3v10",
  eye: "M1.8 8S4 3.8 8 3.8 14.2 8 14.2 8 12 12.2 8 12.2 1.8 8 1.8 8zM8 6.3a1.7 1.7 0 1 1 0 3.4 1.7 1.7 0 0 1 0-3.4z",
  lock: "M4 7.2h8v6H4zM5.5 7.2V5.3a2.5 2.5 0 0 1 5 0v1.9",
  terminal: "M2.5 3h11v10h-11zM5 6l2 2-2 2M8.5 10h2.5",
  bolt: "M9 2L4 9h3.5L7 14l5-7H8.5z",
  empty: "M2.5 9l2-5.5h7l2 5.5v4h-11zM2.5 9h3.2l.8 1.5h3l.8-1.5h3.2",
} as const;

/** The name of a symbol. */
export type IconName = keyof typeof SHAPES;

/** A symbol. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path
        d={SHAPES[name]}
        fill="none"
        stroke="currentColor"
        stroke-width={name === "more" ? 2.2 : 1.4}
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
