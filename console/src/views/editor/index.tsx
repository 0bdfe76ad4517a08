// The editor of a definition: its source with the findings of the service inline, then a draft, then what serves.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { signal, useSignal } from "@preact/signals";
import { apiRoot, send } from "../../api/client.ts";
import { asProblem } from "../../api/problem.ts";
import { changedFixed, type Kind, markOf, parseDocument, type PlacedIssue, placeIssues, startOf, textOf } from "../../core/definitions/documents.ts";
import { useCommands } from "../../core/commands.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { readPlaces } from "../../core/definitions/places.ts";
import { keyOf, unsaved } from "../../core/definitions/unsaved.ts";
import { fillPath, go, href, query, setQuery } from "../../core/router.ts";
import { definitionNames } from "../../layout/names.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Callout, Empty, LoadState, Panel, ProblemBox, ViewHead } from "../../ui/content.tsx";
import { Editor } from "../../ui/editor.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Status } from "../../ui/status.tsx";
import type { ViewProps } from "../registry.ts";
import { askForActivation, saveDraft } from "./acts.tsx";
import { assistOf } from "./assist.ts";
import { type Check, check } from "./check.ts";
import type { Schema } from "./schema.ts";
import { readStored, type Stored } from "./stored.ts";

const t = texts.editor;

/** Milliseconds after the last key before a text is checked. */
const PAUSE = 350;

async function readSchema(kind: Kind, signal: AbortSignal): Promise<Schema | null> {
  const response = await send(new Request(`${apiRoot}/api/v1/admin/schemas/${kind}`, { signal }));
  return response.ok ? ((await response.json()) as { data: { schema: Schema } }).data.schema : null;
}

/** Checks a text a moment after its last change. */
function useCheck(kind: Kind, text: string, stored: Stored | null): Check {
  const found = useSignal<Check>({ state: "checking", issues: { errors: [], warnings: [] } });
  useEffect(() => {
    const reading = new AbortController();
    found.value = { ...found.value, state: "checking" };
    const timer = setTimeout(() => {
      check(kind, text, stored, reading.signal).then(
        (result) => {
          if (!reading.signal.aborted) found.value = result;
        },
        (thrown: unknown) => {
          if (!reading.signal.aborted) found.value = { state: "failed", issues: { errors: [], warnings: [] }, problem: asProblem(thrown) };
        },
      );
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      reading.abort();
    };
  }, [kind, text, stored?.etag]);
  return found.value;
}

function Findings({ result, issues, reveal }: { result: Check; issues: readonly PlacedIssue[]; reveal: (place: number) => void }) {
  const errors = issues.filter((issue) => issue.severity === "error").length;
  const state = result.state === "checking" ? "running" : result.state === "failed" ? "degraded" : result.state === "invalid" || errors > 0 ? "failed" : issues.length > 0 ? "degraded" : "ok";
  return (
    <Panel title={t.findings} note={<Status of={state} text={result.state === "done" ? t.counts(errors, issues.length - errors) : t.states[result.state]} />} flush>
      {result.problem && <ProblemBox problem={result.problem} />}
      {issues.length === 0 ? (
        <p class="calm">{result.state === "done" ? t.noFindings : t.states[result.state]}</p>
      ) : (
        <ul class="findings editor-findings" aria-live="polite">
          {issues.map((issue, index) => (
            <li key={index}>
              <button type="button" class={`finding ${issue.severity === "error" ? "bad" : "warn"}`} onClick={() => reveal(issue.from)}>
                <Icon name={issue.severity === "error" ? "alert" : "info"} />
                <span class="grow breaks">
                  <span class="hidden-text">{issue.severity === "error" ? texts.definitions.error : texts.definitions.warning} </span>
                  {issue.message}
                  <span class="editor-place faint">
                    {issue.line !== null && t.line(issue.line)} {issue.field !== "(root)" && <code>{issue.field}</code>}
                  </span>
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function EditorBody({ kind, stored, reload }: { kind: Kind; stored: Stored | null; reload: () => void }) {
  const key = keyOf(kind, stored?.id);
  const original = stored === null ? startOf(kind) : textOf(kind, stored.latest);
  const text = unsaved.get(key) ?? unsaved.set(key, signal(original)).get(key)!;
  const base = useRef(original);
  const revealed = useSignal<{ place: number; count: number } | null>(null);
  const isDirty = text.value !== original;
  const result = useCheck(kind, text.value, stored);
  const schema = useLoad(`schema ${kind}`, (signal) => readSchema(kind, signal));
  const names = useLoad("names", () => definitionNames());
  const latest = useRef({ schema: schema.data ?? null, names: names.data });
  latest.current = { schema: schema.data ?? null, names: names.data };
  const assist = useMemo(
    () =>
      assistOf(
        () => latest.current.schema,
        () => ({
          channels: latest.current.names?.channels.map((row) => row.name) ?? [],
          workflows: latest.current.names?.workflows.map((row) => row.id) ?? [],
          connectors: latest.current.names?.connectors.map((row) => row.name) ?? [],
        }),
      ),
    [],
  );
  // A draft that changed elsewhere is shown unless this text was edited.
  useEffect(() => {
    if (text.value === base.current) text.value = original;
    base.current = original;
  }, [original]);
  useEffect(() => {
    if (!isDirty) return;
    const hold = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", hold);
    return () => removeEventListener("beforeunload", hold);
  }, [isDirty]);

  const issues = useMemo(() => placeIssues(text.value, readPlaces(text.value), result.issues), [text.value, result.issues]);
  const marks = useMemo(() => markOf(issues), [issues]);
  const parsed = parseDocument(text.value);
  const fixed = stored !== null && "document" in parsed ? changedFixed(kind, parsed.document, stored.latest) : [];
  const isDraft = stored?.latest.status === "draft";
  const whyNoSave =
    "problem" in parsed ? t.notJson : fixed.length > 0 ? t.fixed(fixed.join(", ")) : result.issues.errors.length > 0 ? t.hasErrors : !isDirty && stored !== null ? t.unchanged : null;
  const whyNoActivation = isDirty || stored === null ? t.saveFirst : isDraft ? null : texts.definitions.noDraft;
  const save = async () => {
    if (whyNoSave !== null || !("document" in parsed)) return;
    const id = await saveDraft(kind, stored, parsed.document);
    if (stored === null) {
      unsaved.delete(key);
      go(fillPath("/edit/:kind/:id", { kind, id }));
      return;
    }
    base.current = text.value;
    reload();
  };
  const activate = () => {
    if (stored !== null) askForActivation(kind, stored, () => go(fillPath(`/${kind}s/:id`, { id: stored.id })));
  };
  const group = texts.keys.groups.view;
  useKeys([
    { keys: "Mod+s", does: t.save, group, run: () => void save().catch(() => undefined) },
    { keys: "v", does: texts.definitions.compare, group, run: () => setQuery({ compare: query("compare") === "" ? "yes" : null }, { replace: true }) },
  ]);
  useCommands([{ text: t.save, group: texts.palette.here, disabled: whyNoSave, run: () => void save() }]);
  const title = stored?.latest.name ?? (kind === "channel" ? t.newChannel : t.newWorkflow);
  const compared = stored?.serving ?? stored?.latest;
  const list = kind === "channel" ? { text: texts.views.channels, to: href("/channels") } : { text: texts.views.workflows, to: href("/workflows") };
  const parents = stored === null ? [list] : [list, { text: stored.latest.name, to: href(fillPath(`/${kind}s/:id`, { id: stored.id })) }];
  return (
    <>
      <ViewHead
        title={stored === null ? title : t.edit}
        parents={parents}
        note={<Status of={isDirty || stored === null ? "waiting" : stored.latest.status} text={isDirty || stored === null ? t.unsaved : t.isStored(stored.latest.version, texts.definitions.states[stored.latest.status] ?? stored.latest.status)} />}
      >
        {compared !== undefined && (
          <Button icon="workflows" pressed={query("compare") !== ""} onClick={() => setQuery({ compare: query("compare") === "" ? "yes" : null }, { replace: true })}>
            {texts.definitions.compare}
          </Button>
        )}
        {isDirty && (
          <Button icon="rerun" onClick={() => void (text.value = original)}>
            {t.revert}
          </Button>
        )}
        {kind === "workflow" && stored !== null && (
          <Button icon="play" disabled={"problem" in parsed ? t.notJson : null} onClick={() => go(fillPath("/workflows/:id", { id: stored.id }), { tab: "trial", text: isDirty ? "unsaved" : null })}>
            {texts.workflows.try}
          </Button>
        )}
        <Button acts disabled={whyNoSave} onClick={save}>
          {t.save}
        </Button>
        <Button kind="primary" icon="check" acts disabled={whyNoActivation} onClick={activate}>
          {texts.definitions.activateWord}
        </Button>
      </ViewHead>
      <div class="view-body flush editor-view">
        {stored !== null && !isDraft && isDirty && <div class="editor-note"><Callout>{t.makesDraft(stored.latest.version + 1)}</Callout></div>}
        <div class="editor-columns">
          <div class="editor-source">
            <Editor
              label={t.sourceOf(title)}
              value={text.value}
              onChange={(next) => (text.value = next)}
              findings={marks}
              assist={assist}
              height="100%"
              reveal={revealed.value}
              {...(query("compare") !== "" && compared !== undefined ? { compareWith: textOf(kind, compared) } : {})}
            />
          </div>
          <div class="editor-side">
            <Findings result={result} issues={issues} reveal={(place) => (revealed.value = { place, count: (revealed.value?.count ?? 0) + 1 })} />
            {schema.data === null && <p class="hint muted">{t.noSchema}</p>}
            <p class="hint muted">{t.help}</p>
          </div>
        </div>
      </div>
    </>
  );
}

/** The view of the editor. */
export default function EditorView({ parameters }: ViewProps) {
  const kind: Kind = parameters["kind"] === "channel" ? "channel" : "workflow";
  const id = parameters["id"];
  const loaded = useLoad(id === undefined ? null : `edit ${kind} ${id}`, (signal) => readStored(kind, id ?? "", signal));
  if (parameters["kind"] !== kind) return <Empty text={texts.page.notFound} />;
  if (id === undefined) return <EditorBody key={`new ${kind}`} kind={kind} stored={null} reload={() => undefined} />;
  if (loaded.data !== undefined) return <EditorBody key={`${kind} ${id}`} kind={kind} stored={loaded.data} reload={loaded.reload} />;
  return (
    <>
      <ViewHead title={texts.views.editor} />
      <div class="view-body"><LoadState of={loaded} lines={8} /></div>
    </>
  );
}
