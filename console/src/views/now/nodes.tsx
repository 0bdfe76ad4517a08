// The figures that each node wrote last, if there is more than one.

import type { Node } from "../../api/types.ts";
import { formatRate } from "../../core/format.ts";
import { href } from "../../core/router.ts";
import { formatDuration } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Panel } from "../../ui/content.tsx";
import { Status } from "../../ui/status.tsx";

const t = texts.now;

/** The nodes that are alive, with their figures and the age of these. */
export function NodeLines({ nodes }: { nodes: readonly Node[] }) {
  const live = nodes.filter((node) => node.status === "live");
  if (live.length < 2) return null;
  return (
    <Panel title={t.nodes} note={<span class="badge">{live.length}</span>} flush>
      <ul class="lines">
        {live.map((node) => (
          <li key={node.id}>
            <a class="line" href={href("/nodes")}>
              <Status of={node.status} symbolOnly />
              <span class="line-name clip mono">{node.id}</span>
              <span class="line-text muted clip">
                {node.version} {node.is_this && `· ${t.thisNode}`}
              </span>
              {node.figures ? (
                <>
                  <span class="number now-rate">{formatRate(node.figures.traffic.requests)}</span>
                  <span class={`number now-errors${node.figures.traffic.errors > 0 ? " bad" : " faint"}`}>
                    {formatRate(node.figures.traffic.errors)} <span class="hidden-text">{t.errors}</span>
                  </span>
                  <span class="number now-p99 muted">{formatDuration(node.figures.traffic.p99_ms)}</span>
                  <span class="number faint">{texts.time.ago(formatDuration((node.figures.age_secs ?? 0) * 1000))}</span>
                </>
              ) : (
                <span class="faint">{t.noFigures}</span>
              )}
            </a>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
