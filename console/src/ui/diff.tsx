// A comparison of two values, line by line.

import { useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { diffTexts, foldSame, stableJson } from "../core/diff.ts";
import { texts } from "../texts.ts";

/** Lines that are drawn at most; what is longer is for the editor. */
const MOST = 3000;

const SIGNS = { same: " ", removed: "−", added: "+", gap: "" } as const;

/** Two texts compared. */
export function TextDiff({ before, after, label }: { before: string; after: string; label: string }) {
  const isWhole = useSignal(false);
  const all = useMemo(() => diffTexts(before, after), [before, after]);
  const lines = (isWhole.value ? all : foldSame(all)).slice(0, MOST);
  if (all.every((line) => line.kind === "same")) return <p class="muted">{texts.diff.same}</p>;
  const hasGaps = isWhole.value || lines.some((line) => line.kind === "gap");
  return (
    <div class="stack">
      <div class="diff" role="group" aria-label={label} tabIndex={0}>
        <div class="diff-lines">
          {lines.map((line, index) =>
            line.kind === "gap" ? (
              <span class="gap" key={index}>
                {texts.diff.hidden(line.hidden ?? 0)}
              </span>
            ) : (
              [
                <span class={`sign ${line.kind}`} key={`s${index}`} aria-hidden={line.kind === "same" ? "true" : undefined}>
                  <span aria-hidden="true">{SIGNS[line.kind]}</span>
                  {line.kind !== "same" && <span class="hidden-text">{texts.diff[line.kind]}</span>}
                </span>,
                <span class={line.kind} key={`t${index}`}>
                  {line.text}
                </span>,
              ]
            ),
          )}
        </div>
      </div>
      {hasGaps && (
        <div>
          <button type="button" class="button plain" onClick={() => (isWhole.value = !isWhole.value)}>
            {isWhole.value ? texts.diff.fold : texts.diff.showAll}
          </button>
        </div>
      )}
    </div>
  );
}

/** Two JSON values compared. */
export function JsonDiff({ before, after, label }: { before: unknown; after: unknown; label: string }) {
  const [old, fresh] = useMemo(
    () => [before, after].map((value) => (value === undefined ? "" : stableJson(value))),
    [before, after],
  );
  return <TextDiff before={old ?? ""} after={fresh ?? ""} label={label} />;
}
