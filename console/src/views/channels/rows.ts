// The list of channels: its filter and its counts.

/** A channel as the filter reads it. */
interface Filtered {
  name: string;
  channel_id: string;
  tags: readonly string[];
  protocol: string;
  workflow_id: string | null;
}

const has = (list: string | undefined, value: string) => list === undefined || list.split(",").includes(value);

/** Returns whether a channel meets the filter of the list. */
export function fits(channel: Filtered, state: string, filter: Readonly<Record<string, string>>): boolean {
  const text = filter["q"]?.toLowerCase();
  const isNamed = text === undefined || channel.name.toLowerCase().includes(text) || channel.channel_id.toLowerCase().includes(text);
  const isTagged = filter["tag"] === undefined || channel.tags.includes(filter["tag"]);
  const runs = filter["workflow"] === undefined || channel.workflow_id === filter["workflow"];
  return isNamed && isTagged && runs && has(filter["state"], state) && has(filter["protocol"], channel.protocol);
}

/** Returns the number of failures by the name of the channel. */
export function countByChannel(groups: readonly { channel: string; count: number }[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { channel, count } of groups) counts.set(channel, (counts.get(channel) ?? 0) + count);
  return counts;
}
