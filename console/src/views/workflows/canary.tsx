// A canary: how the two versions do, and the share of the newer one.

import { useSignal } from "@preact/signals";
import { act, api, read } from "../../api/client.ts";
import type { Workflow } from "../../api/types.ts";
import { formatCount, formatShare } from "../../core/format.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, href, query } from "../../core/router.ts";
import { formatDuration, rangeOf } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { LoadProblem, Panel } from "../../ui/content.tsx";
import { ask } from "../../ui/dialog.tsx";
import { IssueList } from "../../ui/issues.tsx";
import { Status } from "../../ui/status.tsx";
import { type Canary, figuresOf, judge, type VersionFigures } from "./figures.ts";

const t = texts.workflows;

const EVERY = 5000;
/** Newest runs of which durations are read. */
const NEWEST = 200;

async function readFigures(id: string, version: number, range: string, signal: AbortSignal): Promise<VersionFigures> {
  const query = { workflow: [id], version: [version], since: `-${range}`, limit: NEWEST, include_counts: true };
  const page = await read(api.GET("/api/v1/admin/traces", { params: { query: query }, signal }));
  return figuresOf(page.counts ?? {}, page.data);
}

function askForShare(id: string, share: number, canary: Canary<Workflow>, done: () => void): void {
  const params = { path: { id } };
  const body = { rollout_percentage: share };
  const [fresh, old] = [canary.canary.version, canary.stable.version];
  const title = share === 0 ? t.abort(fresh) : share === 100 ? t.promote(fresh) : t.setShare(fresh, share);
  ask({
    title,
    text: share === 0 ? t.abortText(fresh, old) : share === 100 ? t.promoteText(fresh, old) : t.shareText(fresh, share, old),
    preview: async (cancelled) => {
      const answer = await read(api.PATCH("/api/v1/admin/workflows/{id}/rollout", { params: { ...params, query: { dry_run: true } }, body, signal: cancelled }));
      return <IssueList report={answer} />;
    },
    confirm: title,
    isDanger: share === 0,
    run: () => act(t.shareDone(fresh, share), api.PATCH("/api/v1/admin/workflows/{id}/rollout", { params, body })).then(done),
  });
}

function VersionFiguresView(props: { id: string; version: Workflow; share: number; figures: VersionFigures | undefined; name: string; isWorse: boolean }) {
  const { id, version, figures } = props;
  const range = rangeOf(query("range"));
  const filter = { workflow: id, version: String(version.version), since: `-${range.name}` };
  const facts: readonly (readonly [string, string])[] = [
    [t.errorShare, figures?.errorShare === null || figures === undefined ? "–" : formatShare(figures.errorShare)],
    [t.p50, formatDuration(figures?.p50)],
    [t.p95, formatDuration(figures?.p95)],
    [t.runsOnRecord, figures === undefined ? "–" : formatCount(figures.runs)],
  ];
  return (
    <section class={`canary-version${props.isWorse ? " worse" : ""}`}>
      <div class="row wraps">
        <h3>
          {props.name}{" "}
          <a class="link number" title={t.showVersion(version.version)} href={href(fillPath("/workflows/:id", { id }), { version: String(version.version) })}>
            v{version.version}
          </a>
        </h3>
        <span class="number canary-share">{props.share} %</span>
        <span class="grow" />
        <a class="link" href={href("/runs", { ...filter, status: "failed" })}>
          {t.failures}
        </a>
        <a class="link" href={href("/runs", filter)}>
          {texts.views.runs}
        </a>
      </div>
      <dl class="canary-figures">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="number">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The two versions side by side, and the slider. */
export function CanaryPanel({ id, canary, reload }: { id: string; canary: Canary<Workflow>; reload: () => void }) {
  const range = rangeOf(query("range"));
  const wanted = useSignal<number | null>(null);
  const [fresh, old] = [canary.canary, canary.stable];
  const both = useLoad(
    `canary ${id} ${fresh.version} ${old.version} ${range.name}`,
    (signal) => Promise.all([readFigures(id, fresh.version, range.name, signal), readFigures(id, old.version, range.name, signal)]),
    { every: EVERY, keep: true },
  );
  const [freshFigures, oldFigures] = both.data ?? [];
  const verdict = freshFigures && oldFigures ? judge(freshFigures, oldFigures) : "few";
  const share = wanted.value ?? canary.share;
  const finish = () => {
    wanted.value = null;
    reload();
  };
  const set = (value: number) => askForShare(id, value, canary, finish);
  const shapes = { few: "pending", worse: "failed", slower: "degraded", fine: "ok" } as const;
  return (
    <Panel title={t.canary} note={<Status of={shapes[verdict]} text={t.verdicts[verdict]} />}>
      <div class="stack canary">
        <LoadProblem of={both} />
        <div class="canary-versions">
          <VersionFiguresView id={id} version={fresh} share={canary.share} figures={freshFigures} name={t.canaryVersion} isWorse={verdict === "worse"} />
          <VersionFiguresView id={id} version={old} share={100 - canary.share} figures={oldFigures} name={t.stableVersion} isWorse={false} />
        </div>
        <div class="canary-slider">
          <span class="number">v{fresh.version}</span>
          <input
            type="range"
            min={0}
            max={100}
            step={1}
            value={share}
            style={{ "--share": `${share}%` }}
            aria-label={t.shareOf(fresh.version)}
            aria-valuetext={`${share} %`}
            onInput={(event) => (wanted.value = Number(event.currentTarget.value))}
          />
          <label class="row">
            <input
              class="input number canary-number"
              type="number"
              min={0}
              max={100}
              value={share}
              aria-label={t.shareOf(fresh.version)}
              onInput={(event) => (wanted.value = Math.max(0, Math.min(100, Math.round(Number(event.currentTarget.value) || 0))))}
            />
            %
          </label>
          <Button kind="primary" acts disabled={share === canary.share ? t.shareUnchanged : null} onClick={() => set(share)}>
            {t.setShare(fresh.version, share)}
          </Button>
          <span class="grow" />
          <Button icon="stop" acts onClick={() => set(0)}>
            {t.abort(fresh.version)}
          </Button>
          <Button icon="check" acts onClick={() => set(100)}>
            {t.promote(fresh.version)}
          </Button>
        </div>
        <p class="faint">{t.figuresNote(freshFigures?.sampled ?? 0, oldFigures?.sampled ?? 0)}</p>
      </div>
    </Panel>
  );
}
