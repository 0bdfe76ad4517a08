// The list of workflows: the state of a row, and the filter.

/** A workflow as its row shows it. */
interface Listed {
  workflow_id: string;
  name: string;
  tags: readonly string[];
  status: string;
  rollout_percentage: number;
  active_version?: number;
}

/** Returns the state of a workflow; `canary` while the newest version has a part of the traffic. */
export function stateOf(workflow: Listed): string {
  if (workflow.status === "active") return workflow.rollout_percentage < 100 ? "canary" : "active";
  return workflow.active_version === undefined ? workflow.status : "active";
}

/** Returns whether a workflow meets the filter of the list. */
export function fits(workflow: Listed, state: string, filter: Readonly<Record<string, string>>): boolean {
  const text = filter["q"]?.toLowerCase();
  const isNamed = text === undefined || workflow.name.toLowerCase().includes(text) || workflow.workflow_id.toLowerCase().includes(text);
  const isTagged = filter["tag"] === undefined || workflow.tags.includes(filter["tag"]);
  return isNamed && isTagged && (filter["state"] === undefined || filter["state"].split(",").includes(state));
}
