// The views: one entry each. A view is a folder with `index.tsx`, whose default export is its component.

import type { ComponentType } from "preact";
import type { texts } from "../texts.ts";
import type { IconName } from "../ui/icons.tsx";

/** What a view is given. Everything else of its state is in the query of the URL. */
export interface ViewProps {
  /** The parameters of its path. */
  parameters: Record<string, string>;
}

/** The groups of the navigation. */
export const GROUPS = ["operate", "define", "system"] as const;

/** A view. */
export interface View {
  /** Its name, which is that of its folder. */
  name: string;
  /** Its path below the mount, with parameters such as `:id`. */
  path: string;
  /** Its title in `texts.views`. */
  title: keyof typeof texts.views;
  icon: IconName;
  /** Its group in the navigation; a view without one is reached from others. */
  group?: (typeof GROUPS)[number];
  /** The name of the view in the navigation that it belongs to. */
  under?: string;
  /** The letter behind `g` that goes to it. */
  key?: string;
  load: () => Promise<{ default: ComponentType<ViewProps> }>;
}

/** All views, in the order of the navigation. */
export const VIEWS: readonly View[] = [
  { name: "now", path: "/", title: "now", icon: "now", group: "operate", key: "n", load: () => import("./now/index.tsx") },

  { name: "runs", path: "/runs", title: "runs", icon: "runs", group: "operate", key: "r", load: () => import("./runs/index.tsx") },

  { name: "run", path: "/runs/:id", title: "run", icon: "runs", load: () => import("./run/index.tsx") },

  { name: "occurrence", path: "/occurrences/:id", title: "occurrence", icon: "schedules", under: "runs", load: () => import("./run/occurrence.tsx") },

  { name: "channels", path: "/channels", title: "channels", icon: "channels", group: "define", key: "c", load: () => import("./channels/index.tsx") },

  { name: "channel", path: "/channels/:id", title: "channel", icon: "channels", under: "channels", load: () => import("./channels/channel.tsx") },

  { name: "workflows", path: "/workflows", title: "workflows", icon: "workflows", group: "define", key: "w", load: () => import("./workflows/index.tsx") },

  { name: "workflow", path: "/workflows/:id", title: "workflow", icon: "workflows", under: "workflows", load: () => import("./workflows/workflow.tsx") },

  { name: "editor", path: "/edit/:kind/:id", title: "editor", icon: "editor", under: "workflows", load: () => import("./editor/index.tsx") },

  { name: "new", path: "/new/:kind", title: "editor", icon: "editor", under: "workflows", load: () => import("./editor/index.tsx") },

  { name: "plugins", path: "/plugins", title: "plugins", icon: "plugins", group: "define", key: "l", load: () => import("./plugins/index.tsx") },

  { name: "plugin", path: "/plugins/:id", title: "plugin", icon: "plugins", under: "plugins", load: () => import("./plugins/detail.tsx") },

  { name: "schedules", path: "/schedules", title: "schedules", icon: "schedules", group: "operate", key: "s", load: () => import("./schedules/index.tsx") },

  { name: "actors", path: "/actors", title: "actors", icon: "actors", group: "operate", key: "a", load: () => import("./actors/index.tsx") },

  { name: "refusals", path: "/refusals", title: "refusals", icon: "refusals", group: "operate", key: "f", load: () => import("./refusals/index.tsx") },

  { name: "connectors", path: "/connectors", title: "connectors", icon: "connectors", group: "operate", key: "o", load: () => import("./connectors/index.tsx") },

  { name: "connector", path: "/connectors/:id", title: "connector", icon: "connectors", under: "connectors", load: () => import("./connectors/detail.tsx") },

  { name: "kafka", path: "/kafka", title: "kafka", icon: "kafka", group: "operate", key: "k", load: () => import("./kafka/index.tsx") },

  { name: "nodes", path: "/nodes", title: "nodes", icon: "nodes", group: "system", key: "m", load: () => import("./nodes/index.tsx") },

  { name: "audit", path: "/audit", title: "audit", icon: "audit", group: "system", key: "u", load: () => import("./audit/index.tsx") },

  { name: "packages", path: "/packages", title: "packages", icon: "packages", group: "system", key: "p", load: () => import("./packages/index.tsx") },

  { name: "package", path: "/packages/:name", title: "packages", icon: "packages", under: "packages", load: () => import("./packages/detail.tsx") },

  { name: "configuration", path: "/configuration", title: "configuration", icon: "configuration", group: "system", key: "i", load: () => import("./configuration/index.tsx") },

  { name: "api", path: "/api", title: "api", icon: "api", group: "system", load: () => import("./api/index.tsx") },
];
