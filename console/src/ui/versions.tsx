// The versions of a definition, two of them compared.

import { query, setQuery } from "../core/router.ts";
import { texts } from "../texts.ts";
import { Button } from "./button.tsx";
import { Panel } from "./content.tsx";
import { TextDiff } from "./diff.tsx";
import { Moment } from "./moment.tsx";
import { Status } from "./status.tsx";

const t = texts.definitions;

/** A version. */
export interface Version {
  version: number;
  status: string;
  created_at: string;
  updated_at: string;
  rollout_percentage?: number;
}

/** Returns the two versions that are compared: those of the URL, else the one that serves and the newest. */
export function chosenVersions(versions: readonly Version[], asked: readonly [string, string]): readonly [number, number] | null {
  const known = new Set(versions.map((version) => version.version));
  const newest = versions[0]?.version;
  if (newest === undefined) return null;
  const [before, after] = asked.map(Number);
  const serving = versions.find((version) => version.status === "active" && version.version !== newest);
  const right = after !== undefined && known.has(after) ? after : newest;
  const older = versions.find((version) => version.version < right)?.version ?? right;
  const left = before !== undefined && known.has(before) ? before : serving !== undefined && serving.version < right ? serving.version : older;
  return [left, right];
}

function Choice({ name, label, versions, value }: { name: string; label: string; versions: readonly Version[]; value: number }) {
  return (
    <label class="row">
      <span class="muted">{label}</span>
      <select class="input" value={String(value)} onChange={(event) => setQuery({ [name]: event.currentTarget.value }, { replace: true })}>
        {versions.map((version) => (
          <option key={version.version} value={String(version.version)}>
            {`v${version.version} · ${texts.status[version.status] ?? t.states[version.status] ?? version.status}`}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The versions of a definition. `textOf` returns the text of a version, `rollback`, if it can, makes one serve again. */
export function Versions<T extends Version>(props: {
  versions: readonly T[];
  textOf: (version: T) => string;
  rollback?: (version: number) => void;
  rollbackDisabled?: string | null;
  more: (() => void | Promise<unknown>) | null;
}) {
  const { versions, textOf, rollback } = props;
  const chosen = chosenVersions(versions, [query("before"), query("after")]);
  const [left, right] = chosen ?? [0, 0];
  const find = (number: number) => versions.find((version) => version.version === number);
  const [before, after] = [find(left), find(right)];
  return (
    <div class="versions">
      <Panel title={t.versions} flush>
        <ol class="version-list" aria-label={t.versions}>
          {versions.map((version) => (
            <li key={version.version} class="version-line">
              <button
                type="button"
                class="version-pick"
                aria-pressed={version.version === right}
                onClick={() => setQuery({ after: String(version.version), before: null }, { replace: true })}
              >
                <Status of={version.status} symbolOnly />
                <strong class="number">v{version.version}</strong>
                <span class="muted">
                  {t.states[version.status] ?? version.status}
                  {version.status === "active" && version.rollout_percentage !== undefined && version.rollout_percentage < 100 && ` · ${version.rollout_percentage} %`}
                </span>
                <span class="grow" />
                <Moment at={version.updated_at} as="distance" />
              </button>
              {rollback && version.status === "archived" && (
                <Button kind="plain" icon="rerun" acts disabled={props.rollbackDisabled ?? null} label={t.rollback(version.version)} onClick={() => rollback(version.version)} />
              )}
            </li>
          ))}
        </ol>
        {props.more && (
          <div class="table-note">
            <Button onClick={props.more}>{texts.table.more}</Button>
          </div>
        )}
      </Panel>
      <Panel
        title={t.difference}
        actions={
          <div class="row wraps">
            <Choice name="before" label={t.from} versions={versions} value={left} />
            <Choice name="after" label={t.to} versions={versions} value={right} />
          </div>
        }
      >
        {before !== undefined && after !== undefined && (
          <TextDiff label={t.differenceOf(left, right)} before={textOf(before)} after={textOf(after)} />
        )}
      </Panel>
    </div>
  );
}
