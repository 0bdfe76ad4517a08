// The project that `svc-server dev` watches: whether the last save serves, and what was found in it.

import { signal } from "@preact/signals";
import { api, read } from "../../api/client.ts";
import { isAbsent } from "../../api/node.ts";
import { asProblem } from "../../api/problem.ts";
import type { DevFinding, DevProject } from "../../api/types.ts";
import { identity } from "../../core/credential.ts";
import { useLoad } from "../../core/load.ts";
import { texts } from "../../texts.ts";
import { Panel } from "../../ui/content.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { placeOfFinding } from "./findings.ts";

const t = texts.now;

const EVERY = 2000;

/** Whether the service may be one that watches a project; it is asked until it has answered. */
const isWatching = signal(true);

async function readProject(cancelled: AbortSignal): Promise<DevProject | null> {
  try {
    return (await read(api.GET("/api/v1/admin/dev", { signal: cancelled }))).data;
  } catch (thrown) {
    if (!isAbsent(asProblem(thrown))) throw thrown;
    isWatching.value = false;
    return null;
  }
}

const LOOKS: Record<string, string> = { served: "ok", refused: "failed", loading: "starting" };

function Finding({ finding }: { finding: DevFinding }) {
  const isError = finding.severity === "error";
  return (
    <li class={`finding ${isError ? "bad" : "warn"}`}>
      <Icon name={isError ? "alert" : "info"} />
      <span class="grow breaks">
        <span class="hidden-text">{isError ? texts.definitions.error : texts.definitions.warning} </span>
        <code>{placeOfFinding(finding)}</code> {finding.message} {finding.fix !== undefined && <span class="muted">{finding.fix}</span>} <code class="faint">{finding.check}</code>
      </span>
    </li>
  );
}

/** The watched project; nothing on any other service. A service that watches asks for no key. */
export function Project() {
  const mayWatch = isWatching.value && identity.value?.key_id === null;
  const project = useLoad(mayWatch ? "watched project" : null, readProject, { every: EVERY }).data;
  if (!project) return null;
  const { state, findings, problems } = project;
  return (
    <Panel title={t.project} note={<code class="faint clip">{project.directory}</code>} actions={project.served_at && <Moment at={project.served_at} />}>
      <div class="stack" role="status">
        <Status of={LOOKS[state] ?? "unknown"} text={t.projectStates[state] ?? state} />
        {findings.length + problems.length > 0 && (
          <ul class="findings">
            {findings.map((finding, index) => (
              <Finding key={index} finding={finding} />
            ))}
            {problems.map((problem) => (
              <li class="finding bad" key={problem}>
                <Icon name="alert" />
                <span class="grow breaks">{problem}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </Panel>
  );
}
