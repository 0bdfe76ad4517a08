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

interface ValueProps {
  value: unknown;
  depth: number;
  /** The name of the member whose value it is. */
  name?: string | undefined;
}

function JsonValue({ value, depth, name }: ValueProps) {
  const label = name === undefined ? null : <span class="json-name">{name}: </span>;
  if (value !== null && typeof value === "object") {
    if (Object.keys(value).length > 0) return <JsonBranch value={value} depth={depth} name={name} />;
    return (
      <>
        {label}
        <span class="muted">{Array.isArray(value) ? "[]" : "{}"}</span>
      </>
    );
  }
  return (
    <>
      {label}
      <JsonScalar value={value} />
    </>
  );
}

function JsonScalar({ value }: { value: unknown }) {
  if (typeof value === "string") return <JsonText text={value} />;
  return <span class={typeof value === "number" ? "json-number" : "json-word"}>{String(value)}</span>;
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

function JsonBranch({ value, depth, name }: { value: object; depth: number; name: string | undefined }) {
  const isOpen = useSignal(depth > 0);
  const shown = useSignal(PAGE);
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  const count = isList ? texts.json.items(entries.length) : texts.json.members(entries.length);
  const rest = entries.length - shown.value;
  return (
    <>
      <button
        type="button"
        class="json-toggle"
        aria-expanded={isOpen.value}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <Icon name="chevron" size={12} />
        {name !== undefined && <span class="json-name">{name}:</span>}
        {isOpen.value ? open : `${open} ${count} ${close}`}
      </button>
      {isOpen.value && (
        <>
          <ul>
            {entries.slice(0, shown.value).map(([key, member]) => (
              <li key={key}>
                <JsonValue value={member} depth={depth - 1} name={isList ? undefined : key} />
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
