// What depends on what: channels run workflows, workflows call channels, connectors and plugins.

/** A channel, as far as its references go. */
export interface ChannelLike {
  channel_id: string;
  name: string;
  workflow_id: string | null;
  config: Record<string, unknown>;
}

/** A workflow, as far as its references go. */
export interface WorkflowLike {
  workflow_id: string;
  name: string;
  tasks: readonly unknown[];
  loop?: unknown;
}

/** A definition of the graph of dependencies. */
export interface Dependent {
  kind: "channel" | "workflow" | "connector" | "plugin";
  /** Its id; that of a connector which is not defined is its name. */
  id: string;
  name: string;
}

/** A reference from one definition to another. */
export interface Reference {
  from: string;
  to: string;
  how: "runs" | "calls" | "uses" | "on_failure";
}

/** What depends on a definition, and what it depends on. */
export interface Dependencies {
  nodes: readonly Dependent[];
  references: readonly Reference[];
}

/** Returns the key of a definition in a graph. */
export const dependentKey = (kind: Dependent["kind"], id: string): string => `${kind} ${id}`;

/** The keys of a group that hold tasks. */
export const STEP_LISTS = ["tasks", "on_error", "finally"] as const;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the tasks of a workflow, behind those with which its loop begins. */
export function stepsOf(workflow: { tasks: readonly unknown[]; loop?: unknown }): readonly unknown[] {
  const setup = isObject(workflow.loop) ? workflow.loop["setup"] : undefined;
  return Array.isArray(setup) ? [...(setup as unknown[]), ...workflow.tasks] : workflow.tasks;
}

/** Returns the plugin of a function; null for one of the service. The names of functions of plugins alone have a dot. */
export function pluginOf(name: string): string | null {
  const end = name.indexOf(".");
  return end < 0 ? null : name.slice(0, end);
}

/** What tasks name: channels, connectors and plugins. */
interface NamedByTasks {
  channels: Set<string>;
  connectors: Set<string>;
  plugins: Set<string>;
}

/** Returns the channels, connectors and plugins that tasks name. */
export function namedByTasks(tasks: readonly unknown[]): NamedByTasks {
  const named = { channels: new Set<string>(), connectors: new Set<string>(), plugins: new Set<string>() };
  const open = [...tasks];
  while (open.length > 0) {
    const task = open.pop();
    if (!isObject(task)) continue;
    for (const key of STEP_LISTS) if (Array.isArray(task[key])) open.push(...(task[key] as unknown[]));
    const call = task["function"];
    if (!isObject(call)) continue;
    const plugin = typeof call["name"] === "string" ? pluginOf(call["name"]) : null;
    if (plugin !== null) named.plugins.add(plugin);
    const input = call["input"];
    if (!isObject(input)) continue;
    if (call["name"] === "channel_call" && typeof input["channel"] === "string") named.channels.add(input["channel"]);
    if (typeof input["connector"] === "string") named.connectors.add(input["connector"]);
  }
  return named;
}

/** Returns all references between channels, workflows, connectors and plugins. */
export function findReferences(channels: readonly ChannelLike[], workflows: readonly WorkflowLike[], connectors: readonly { id: string; name: string }[] = []): Dependencies {
  const nodes = new Map<string, Dependent>();
  const references: Reference[] = [];
  const byName = new Map(channels.map((channel) => [channel.name, channel.channel_id]));
  const add = (kind: Dependent["kind"], id: string, name: string) => {
    const key = dependentKey(kind, id);
    if (!nodes.has(key)) nodes.set(key, { kind, id, name });
    return key;
  };
  for (const channel of channels) add("channel", channel.channel_id, channel.name);
  for (const workflow of workflows) add("workflow", workflow.workflow_id, workflow.name);
  for (const connector of connectors) add("connector", connector.id, connector.name);
  const connectorIds = new Map(connectors.map((connector) => [connector.name, connector.id]));
  const toConnector = (name: string) => add("connector", connectorIds.get(name) ?? name, name);
  const toChannel = (name: string) => add("channel", byName.get(name) ?? name, name);
  for (const channel of channels) {
    const from = dependentKey("channel", channel.channel_id);
    if (channel.workflow_id !== null) references.push({ from, to: add("workflow", channel.workflow_id, channel.workflow_id), how: "runs" });
    const failure = channel.config["on_failure"];
    if (typeof failure === "string") references.push({ from, to: toChannel(failure), how: "on_failure" });
    // Blocks such as a cache keep their state in a connector.
    for (const block of Object.values(channel.config)) {
      if (isObject(block) && typeof block["connector"] === "string") references.push({ from, to: toConnector(block["connector"]), how: "uses" });
    }
  }
  for (const workflow of workflows) {
    const from = dependentKey("workflow", workflow.workflow_id);
    const named = namedByTasks(stepsOf(workflow));
    for (const name of named.channels) references.push({ from, to: toChannel(name), how: "calls" });
    for (const name of named.connectors) references.push({ from, to: toConnector(name), how: "uses" });
    for (const id of named.plugins) references.push({ from, to: add("plugin", id, id), how: "calls" });
  }
  return { nodes: [...nodes.values()], references };
}

/** Returns the part of the graph that a change of a definition would touch, and what the definition needs itself. */
export function touchedBy(all: Dependencies, key: string, most: number): Dependencies & { leftOut: number } {
  const kept = new Set([key]);
  const follow = (from: "from" | "to", to: "from" | "to") => {
    let front = [key];
    while (front.length > 0) {
      const next = all.references.filter((reference) => front.includes(reference[from]) && !kept.has(reference[to])).map((reference) => reference[to]);
      front = [...new Set(next)];
      for (const found of front) kept.add(found);
    }
  };
  follow("to", "from");
  const needed = all.references.filter((reference) => reference.from === key).map((reference) => reference.to);
  for (const found of needed) kept.add(found);
  const shown = new Set([...kept].slice(0, most));
  return {
    nodes: all.nodes.filter((node) => shown.has(dependentKey(node.kind, node.id))),
    references: all.references.filter((reference) => shown.has(reference.from) && shown.has(reference.to)),
    leftOut: kept.size - shown.size,
  };
}
