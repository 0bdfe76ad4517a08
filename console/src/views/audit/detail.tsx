// One entry of the audit log, with the definition before and after it.

import { api, read } from "../../api/client.ts";
import type { AuditLogEntry } from "../../api/types.ts";
import { useLoad } from "../../core/load.ts";
import { href, setQuery } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Facts, LoadProblem, Panel, Skeleton } from "../../ui/content.tsx";
import { JsonDiff } from "../../ui/diff.tsx";
import { JsonTree } from "../../ui/json.tsx";
import { Moment } from "../../ui/moment.tsx";
import { type Definition, findContents, type Hashes, placeOf, readHashes, readOrigin } from "./entry.ts";

const t = texts.audit;

const VERSIONS = 1000;
/** Milliseconds around the instant of an id within which its entry was written. */
const AROUND = 2000;

/** Reads the entry of an id; its time is in the id. */
export async function readEntry(id: string, at: number, signal: AbortSignal): Promise<AuditLogEntry | null> {
  const text = (instant: number) => new Date(instant).toISOString();
  const query = { since: text(at - AROUND), until: text(at + AROUND), limit: VERSIONS };
  const page = await read(api.GET("/api/v1/admin/audit-logs", { params: { query }, signal }));
  return page.data.find((entry) => entry.id === id) ?? null;
}

/** Reads the definitions with which an entry is compared: the versions, or of a connector the present one. */
async function readDefinitions(entry: AuditLogEntry, signal: AbortSignal): Promise<Definition[]> {
  const params = { path: { id: entry.resource_id }, query: { limit: VERSIONS } };
  const options = { params, signal };
  if (entry.resource_type === "channel") return (await read(api.GET("/api/v1/admin/channels/{id}/versions", options))).data.map((row) => ({ ...row }));
  if (entry.resource_type === "workflow") return (await read(api.GET("/api/v1/admin/workflows/{id}/versions", options))).data.map((row) => ({ ...row }));
  const { data } = await read(api.GET("/api/v1/admin/connectors/{id}", { params: { path: { id: entry.resource_id } }, signal }));
  return [{ ...data }];
}

function Comparison({ entry, hashes }: { entry: AuditLogEntry; hashes: Hashes }) {
  const loaded = useLoad(`definitions ${entry.id}`, (signal) => readDefinitions(entry, signal));
  if (loaded.problem !== undefined) return loaded.problem.status === 404 ? <p class="muted">{t.deleted}</p> : <LoadProblem of={loaded} />;
  if (loaded.data === undefined) return <Skeleton lines={4} />;
  if (hashes.before === hashes.after) return <p class="muted">{t.same}</p>;
  const { before, after } = findContents(hashes, loaded.data);
  if (before === undefined && after === undefined) return <p class="muted">{t.notKept}</p>;
  return (
    <div class="stack">
      {(before === undefined || after === undefined) && <p class="muted">{before === undefined ? t.beforeNotKept : t.afterNotKept}</p>}
      {before === undefined || after === undefined ? (
        <JsonTree label={t.content} value={before ?? after} />
      ) : (
        <JsonDiff label={t.difference} before={before ?? undefined} after={after ?? undefined} />
      )}
    </div>
  );
}

/** The entry that is chosen. */
export function EntryDetail({ entry }: { entry: AuditLogEntry }) {
  const origin = readOrigin(entry);
  const hashes = readHashes(entry);
  const place = placeOf(entry);
  const { content_hash: _, ...facts } = entry.change ?? {};
  return (
    <Panel
      title={entry.action.replaceAll("_", " ")}
      note={<span class="tag">{entry.resource_type.replaceAll("_", " ")}</span>}
      actions={<Button kind="plain" icon="close" label={texts.page.close} onClick={() => setQuery({ entry: null })} />}
    >
      <div class={hashes === null ? "stack" : "audit-columns"}>
        <div class="stack audit-detail">
          <Facts
          facts={[
            [
              t.columns.resource,
              place === null ? (
                entry.resource_id
              ) : (
                <a class="link" href={href(place.path, place.query)}>
                  {entry.resource_id}
                </a>
              ),
            ],
            [t.columns.principal, entry.principal],
            [t.columns.time, <Moment at={entry.created_at} as="full" />],
            [t.request, origin.requestId && <code class="breaks">{origin.requestId}</code>],
            [t.clientIp, origin.clientIp],
            [t.userAgent, origin.userAgent],
            [t.context, origin.context === undefined ? null : <code class="breaks">{typeof origin.context === "string" ? origin.context : JSON.stringify(origin.context)}</code>],
            [t.id, <code class="breaks">{entry.id}</code>],
          ]}
        />
        {Object.keys(facts).length > 0 && (
          <section class="stack">
            <h3>{t.facts}</h3>
            <JsonTree label={t.facts} value={facts} />
          </section>
        )}
        </div>
        {hashes !== null && (
          <section class="stack">
            <h3>{t.difference}</h3>
            <Comparison key={entry.id} entry={entry} hashes={hashes} />
          </section>
        )}
      </div>
    </Panel>
  );
}
