// Configuration: every setting in effect on this node, secrets struck out, with the place that gave it.

import { act, api } from "../../api/client.ts";
import { isAbsent, readConfiguration } from "../../api/node.ts";
import type { EffectiveSetting } from "../../api/node-types.ts";
import { useKeys } from "../../core/keys.ts";
import { useLoad } from "../../core/load.ts";
import { query, setQuery } from "../../core/router.ts";
import { texts } from "../../texts.ts";
import { Absent } from "../../ui/absent.tsx";
import { Button, Segments } from "../../ui/button.tsx";
import { Empty, LoadProblem, ViewHead } from "../../ui/content.tsx";
import { SearchBox } from "../../ui/list.tsx";
import { NodeNote } from "../../ui/node-note.tsx";
import { ask } from "../../ui/dialog.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { findSettings, showValue } from "./settings.ts";

const t = texts.configuration;

const SOURCES = ["", "set", "file", "environment", "flag", "program"];

function Value({ value }: { value: unknown }) {
  const text = showValue(value);
  return text === null ? <span class="faint">{t.unset}</span> : <code title={text}>{text === "" ? '""' : text}</code>;
}

const COLUMNS: readonly Column<EffectiveSetting>[] = [
  {
    name: "key",
    title: t.columns.key,
    width: "32%",
    cell: (row) => (
      <code class="configuration-key" title={row.variable ?? row.key}>
        {row.key}
      </code>
    ),
  },
  { name: "value", title: t.columns.value, cell: (row) => <Value value={row.value} /> },
  { name: "source", title: t.columns.source, width: "108px", cell: (row) => <span class={row.source === "default" ? "faint" : "tag"}>{t.sources[row.source] ?? row.source}</span> },
  { name: "default", title: t.columns.default, width: "18%", rank: 3, cell: (row) => <Value value={row.default} /> },
  { name: "takes", title: t.columns.takes, width: "110px", rank: 3, cell: (row) => <span class="muted">{row.reloadable ? t.reload : t.restart}</span> },
];

function askForReload(done: () => void): void {
  ask({
    title: t.reloadAct,
    text: t.reloadText,
    confirm: t.reloadAct,
    run: () => act(t.reloadDone, api.POST("/api/v1/admin/engine/reload")).then(done),
  });
}

/** The view of the configuration. */
export default function Configuration() {
  const loaded = useLoad("configuration", (signal) => readConfiguration(signal));
  useKeys([{ keys: "r", does: texts.keys.reload, group: texts.keys.groups.view, run: loaded.reload }]);
  const settings = loaded.data?.settings ?? [];
  const source = SOURCES.includes(query("source")) ? query("source") : "";
  const rows = findSettings(settings, query("q"), source);
  const present = SOURCES.filter((name) => name === "" || name === "set" || settings.some((setting) => setting.source === name));
  const options = present.map((value) => ({ value, text: value === "" ? texts.page.all : value === "set" ? t.onlySet : (t.sources[value] ?? value) }));
  const file = loaded.data?.file;
  return (
    <>
      <ViewHead title={texts.views.configuration} note={<NodeNote />}>
        <SearchBox label={t.search} />
        <Segments label={t.columns.source} options={options} value={source} onChange={(value) => setQuery({ source: value })} />
        <Button icon="reload" acts onClick={() => askForReload(loaded.reload)}>
          {t.reloadAct}
        </Button>
      </ViewHead>
      <div class="view-body flush">
        {loaded.problem && loaded.data === undefined ? (
          isAbsent(loaded.problem) ? (
            <Absent what={t.name} />
          ) : (
            <div class="panel-body">
              <LoadProblem of={loaded} />
            </div>
          )
        ) : (
          <Table
            label={texts.views.configuration}
            rows={rows}
            rowKey={(row) => row.key}
            columns={COLUMNS}
            isLoading={loaded.isLoading}
            note={
              loaded.data && (
                <span class="breaks">
                  {t.count(rows.length, settings.length)}. {file == null ? t.noFile : t.file(file)}
                </span>
              )
            }
            empty={<Empty icon="configuration" text={t.none} command="svc-cli engine config" />}
          />
        )}
      </div>
    </>
  );
}
