// JSON as a tree: large values open on demand.

import { useSignal } from "@preact/signals";
import { texts } from "../texts.ts";
import { Icon } from "./icons.tsx";

/** Members of one level that are drawn before more are asked for. */
const PAGE = 60;
/** Characters of a text that are drawn before the whole is asked for. */
const TEXT = 600;

/** A JSON value as a tree; the levels above `depth` are open. */
export function JsonTree({ value, depth = 2, label }: { value: unknown; depth?: number; label: string }) {
  return (
    <div class="json" role="group" aria-label={label} tabIndex={0}>
      <JsonValue value={value} depth={depth} />
    </div>
  );
}

function JsonValue({ value, depth }: { value: unknown; depth: number }) {
  if (typeof value === "string") return <JsonText text={value} />;
  if (typeof value === "number") return <span class="json-number">{String(value)}</span>;
  if (value === null || typeof value !== "object") return <span class="json-word">{String(value)}</span>;
  return <JsonBranch value={value} depth={depth} />;
}

function JsonText({ text }: { text: string }) {
  const isWhole = useSignal(text.length <= TEXT);
  return (
    <>
      <span class="json-text">{JSON.stringify(isWhole.value ? text : text.slice(0, TEXT))}</span>
      {!isWhole.value && (
        <button type="button" class="button plain" onClick={() => (isWhole.value = true)}>
          {texts.json.wholeText}
        </button>
      )}
    </>
  );
}

function JsonBranch({ value, depth }: { value: object; depth: number }) {
  const isOpen = useSignal(depth > 0);
  const shown = useSignal(PAGE);
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return <span class="muted">{open + close}</span>;
  const count = isList ? texts.json.items(entries.length) : texts.json.members(entries.length);
  const rest = entries.length - shown.value;
  return (
    <>
      <button
        type="button"
        class="json-toggle"
        aria-expanded={isOpen.value}
        aria-label={`${isOpen.value ? texts.json.collapse : texts.json.expand}, ${count}`}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <Icon name="chevron" size={12} />
        {isOpen.value ? open : `${open} ${count} ${close}`}
      </button>
      {isOpen.value && (
        <>
          <ul>
            {entries.slice(0, shown.value).map(([name, member]) => (
              <li key={name}>
                {!isList && <span class="json-name">{name}: </span>}
                <JsonValue value={member} depth={depth - 1} />
              </li>
            ))}
            {rest > 0 && (
              <li>
                <button type="button" class="button plain" onClick={() => (shown.value += PAGE * 4)}>
                  {texts.json.more(rest)}
                </button>
              </li>
            )}
          </ul>
          <span class="muted">{close}</span>
        </>
      )}
    </>
  );
}
