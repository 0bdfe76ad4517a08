// One plugin: its component on this node, its functions, its versions compared, and who uses it.

import { act, api, asDryRun, read } from "../../api/client.ts";
import { pluginText } from "../../core/definitions/documents.ts";
import { shellQuote } from "../../core/format.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { go, href } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Callout, CommandLine, Facts, LoadState, Panel, ViewBody, ViewHead } from "../../ui/content.tsx";
import { Dependents } from "../../ui/dependents.tsx";
import { ask } from "../../ui/dialog.tsx";
import { IssueList } from "../../ui/issues.tsx";
import { JsonTree } from "../../ui/json.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Moment } from "../../ui/moment.tsx";
import { NodeNote } from "../../ui/node-note.tsx";
import { Status } from "../../ui/status.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Versions } from "../../ui/versions.tsx";
import type { ViewProps } from "../registry.ts";
import { functionsOf, type PluginFunction, type PluginRow, rowOf } from "./rows.ts";

const t = texts.plugins;
const common = texts.definitions;

const EVERY = 3000;

const FUNCTIONS: readonly Column<PluginFunction>[] = [
  { name: "name", title: t.functionColumns.name, width: "26%", cell: (row) => <code>{row.name}</code> },
  { name: "inputs", title: t.functionColumns.inputs, cell: (row) => <code class="muted">{row.inputs}</code> },
  { name: "description", title: t.functionColumns.description, rank: 2, cell: (row) => row.description },
];

function askForStatus(row: PluginRow, status: "active" | "archived", done: () => void): void {
  const parts = { params: { path: { id: row.id } }, body: { status } };
  const version = row.latest.version;
  const isActivation = status === "active";
  ask({
    title: isActivation ? common.activateTitle(version) : t.archiveTitle(row.id),
    text: isActivation ? t.activateText : t.archiveText,
    preview: async (signal) => <IssueList report={await read(api.PATCH("/api/v1/admin/plugins/{id}/status", { ...asDryRun(parts), signal }))} />,
    confirm: isActivation ? common.activate(version) : t.archive,
    isDanger: !isActivation,
    run: () => act(isActivation ? t.activateDone(version) : t.archiveDone, api.PATCH("/api/v1/admin/plugins/{id}/status", parts)).then(done),
  });
}

function askForDeletion(id: string): void {
  ask({
    title: t.deleteTitle(id),
    text: t.deleteText,
    confirm: t.delete,
    isDanger: true,
    run: () => act(t.deleteDone(id), api.DELETE("/api/v1/admin/plugins/{id}", { params: { path: { id } } })).then(() => go("/plugins")),
  });
}

/** The view of a plugin. */
export default function PluginView({ parameters }: ViewProps) {
  const id = parameters["id"] ?? "";
  const params = { path: { id } };
  const loaded = useLoad(`plugin ${id}`, (signal) => read(api.GET("/api/v1/admin/plugins/{id}", { params, signal })), { every: EVERY });
  useKeys([{ keys: "r", does: texts.keys.reload, group: texts.keys.groups.view, run: loaded.reload }]);
  const row = rowOf(loaded.data?.data ?? []);
  const parents = [{ text: texts.views.plugins, to: href("/plugins") }];
  if (row === null) {
    return (
      <>
        <ViewHead title={id} parents={parents} />
        <ViewBody><LoadState of={loaded} lines={5} /></ViewBody>
      </>
    );
  }
  const { latest, serving, state } = row;
  const shown = serving ?? latest;
  const isDraft = latest.status === "draft";
  const limits = shown.manifest["limits"];
  return (
    <>
      <ViewHead title={id} parents={parents} note={<Status of={state} text={t.states[state] ?? common.states[state] ?? state} />}>
        {isDraft && (
          <Button kind="primary" icon="check" acts onClick={() => askForStatus(row, "active", loaded.reload)}>
            {common.activate(latest.version)}
          </Button>
        )}
        <Button icon="stop" acts disabled={serving === undefined ? common.notServing : null} onClick={() => askForStatus(row, "archived", loaded.reload)}>
          {t.archive}
        </Button>
        <Menu
          label={texts.page.more}
          items={[
            { text: t.delete, icon: "trash", disabled: serving === undefined ? null : t.archiveFirst, run: () => askForDeletion(id) },
            { text: texts.views.audit, icon: "audit", run: () => go("/audit", { resource_type: "plugin", resource_id: id }) },
          ]}
        />
      </ViewHead>
      <ViewBody>
        {isDraft && <Callout kind="run">{serving === undefined ? common.onlyDraft : common.hasDraft(latest.version, serving.version)}</Callout>}
        {shown.load_error !== undefined && <Callout kind="bad">{t.cannotBeUsed(shown.load_error)}</Callout>}
        <Panel title={t.facts(shown.version)} note={<NodeNote />}>
          <Facts
            facts={[
              [t.release, String(shown.manifest["version"] ?? "")],
              [t.world, <code class="breaks">{String(shown.manifest["abi"] ?? "")}</code>],
              [t.component, <code class="breaks">{shown.digest}</code>],
              [t.signature, shown.signed ? t.signed : t.unsigned],
              [t.columns.changed, <Moment at={shown.updated_at} as="full" />],
              [t.limits, limits !== undefined && <JsonTree label={t.limits} value={limits} />],
            ]}
          />
        </Panel>
        <Panel title={t.columns.functions} flush>
          <Table label={t.columns.functions} rows={functionsOf(shown)} rowKey={(found) => found.name} columns={FUNCTIONS} isFree empty={null} />
        </Panel>
        <Dependents kind="plugin" id={id} />
        <Versions versions={row.versions} textOf={pluginText} more={null} />
        <CommandLine command={`svc-cli plugins get ${shellQuote(id)}`} />
      </ViewBody>
    </>
  );
}
