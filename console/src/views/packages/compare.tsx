// Two versions of a package compared: which definitions each has, and what they say.

import { api, read } from "../../api/client.ts";
import { asProblem } from "../../api/problem.ts";
import type { Channel, PackageReceipt, Plugin, Workflow } from "../../api/types.ts";
import { pluginHash, pluginText, textOf } from "../../core/definitions/documents.ts";
import { useLoad } from "../../core/load.ts";
import { query, setQuery } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { LoadProblem, Skeleton } from "../../ui/content.tsx";
import { TextDiff } from "../../ui/diff.tsx";
import { Status } from "../../ui/status.tsx";
import { compareEntry, type Difference, type InventoryEntry, keyOf, listEntries, readEach } from "./inventory.ts";

const t = texts.packages;

/** Versions of a definition that are looked through. */
const LIMIT = 100;

type Definition = Channel | Workflow | (Plugin & { content_hash: string });

/** The name of what is here now, among the versions. */
const NOW = "now";

async function readVersions({ kind, id }: InventoryEntry, signal: AbortSignal): Promise<readonly Definition[] | null> {
  // A connector has no versions.
  if (kind === "connectors") return null;
  const options = { params: { path: { id }, query: { limit: LIMIT } }, signal };
  try {
    if (kind === "plugins") {
      const { data } = await read(api.GET("/api/v1/admin/plugins/{id}", { params: { path: { id } }, signal }));
      return data.map((version) => ({ ...version, content_hash: pluginHash(version) }));
    }
    return kind === "channels" ? (await read(api.GET("/api/v1/admin/channels/{id}/versions", options))).data : (await read(api.GET("/api/v1/admin/workflows/{id}/versions", options))).data;
  } catch (thrown) {
    if (asProblem(thrown).status === 404) return [];
    throw thrown;
  }
}

const LOOKS: Record<Difference, string> = { added: "completed", removed: "stopped", changed: "degraded", same: "ok", unknown: "scheduled" };

function Contents({ before, after }: { before: PackageReceipt; after: PackageReceipt }) {
  const entries = [...new Map([...listEntries(before), ...listEntries(after)].map((entry) => [keyOf(entry), entry])).values()];
  const key = entries.map(keyOf).join(",");
  const loaded = useLoad(`contents ${key} ${before.updated_at} ${after.updated_at}`, (signal) => readEach(entries, readVersions, signal));
  if (entries.length === 0) return <p class="muted">{t.noInventory}</p>;
  if (loaded.problem) return <LoadProblem of={loaded} />;
  if (loaded.data === undefined) return <Skeleton lines={4} />;
  const rows = entries.map((entry) => ({ entry, ...compareEntry(entry, loaded.data?.[keyOf(entry)] ?? null, before, after) }));
  const shown = rows.filter((row) => row.difference !== "same");
  const same = rows.length - shown.length;
  const chosen = shown.find((row) => keyOf(row.entry) === query("entry")) ?? shown.find((row) => row.difference === "changed");
  const textFor = (entry: InventoryEntry, definition: Definition | undefined) => {
    if (definition === undefined) return "";
    return "plugin_id" in definition ? pluginText(definition) : textOf(entry.kind === "channels" ? "channel" : "workflow", definition);
  };
  return (
    <>
      <ul aria-label={t.compare}>
        {shown.map((row) => (
          <li key={keyOf(row.entry)}>
            <button type="button" class="version-pick" aria-pressed={row === chosen} onClick={() => setQuery({ entry: keyOf(row.entry) }, { replace: true })}>
              <Status of={LOOKS[row.difference]} text={t.differences[row.difference]} />
              <span class="clip packages-name">{row.entry.id}</span>
              <span class="tag">{t.kinds[row.entry.kind]}</span>
            </button>
          </li>
        ))}
      </ul>
      {same > 0 && <p class="muted">{t.alike(same)}</p>}
      {chosen !== undefined && chosen.difference !== "unknown" && (
        <TextDiff label={t.differenceOf(chosen.entry.id)} before={textFor(chosen.entry, chosen.old)} after={textFor(chosen.entry, chosen.fresh)} />
      )}
      {shown.some((row) => row.difference === "unknown") && <p class="muted">{t.noVersions}</p>}
    </>
  );
}

/** The choice of two versions, and their difference. */
export function Compare({ versions, current }: { versions: readonly PackageReceipt[]; current: PackageReceipt }) {
  // What is here now has the entries of the present version, whatever changed in them.
  const here: PackageReceipt = { ...current, version: NOW, updated_at: new Date(8.64e15).toISOString() };
  const all = [here, ...versions];
  const find = (name: "from" | "to", fallback: PackageReceipt) => all.find((row) => row.version === query(name)) ?? fallback;
  const previous = versions.find((row) => row.version !== current.version);
  const [before, after] = [find("from", previous ?? current), find("to", previous === undefined ? here : current)];
  const choose = (name: "from" | "to", chosen: PackageReceipt) => (
    <div class="field">
      <label for={`package-${name}`}>{t[name]}</label>
      <select id={`package-${name}`} class="input" value={chosen.version} onChange={(event) => setQuery({ [name]: event.currentTarget.value })}>
        {all.map((row) => (
          <option key={row.version} value={row.version}>
            {row === here ? t.now : row.version}
          </option>
        ))}
      </select>
    </div>
  );
  return (
    <div class="stack packages-compare">
      <div class="row wraps">
        {choose("from", before)}
        {choose("to", after)}
      </div>
      {before.content_hash === after.content_hash && after !== here && <p class="muted">{t.sameContent}</p>}
      <Contents before={before} after={after} />
    </div>
  );
}
