// Buttons that say why they cannot be used, and wait for what they began.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { asProblem, isAbort } from "../api/problem.ts";
import { actsDisabled } from "../core/credential.ts";
import { notify } from "../core/toasts.ts";
import { texts } from "../texts.ts";
import { Icon, type IconName } from "./icons.tsx";

/** The look and the act of a button. */
export interface ButtonProps {
  children?: ComponentChildren;
  icon?: IconName;
  /** The name of a button that shows a symbol only. */
  label?: string;
  kind?: "primary" | "danger" | "plain";
  /** The reason for which it cannot be used now. */
  disabled?: string | null | undefined;
  /** Whether it changes something, so that read-only keys cannot use it. */
  acts?: boolean;
  pressed?: boolean;
  type?: "button" | "submit";
  title?: string;
  onClick?: (event: MouseEvent) => void | Promise<unknown>;
}

/** Shows a failure of an act with code, message and request id. */
export function showFailure(thrown: unknown): void {
  if (isAbort(thrown)) return;
  const problem = asProblem(thrown);
  const request = problem.requestId === null ? "" : ` · ${texts.problem.request(problem.requestId)}`;
  const places = problem.details.map((detail) => `${detail.path}: ${detail.message}`).join("; ");
  notify({ kind: "failed", text: places || problem.message, detail: `${problem.code}${request}` });
}

/** A button. While its act goes on it cannot be used again; a failure is shown as a message. */
export function Button(props: ButtonProps) {
  const { children, icon, label, kind, pressed, type = "button", title } = props;
  const isBusy = useSignal(false);
  const reasonId = useId();
  const reason = (props.acts ? actsDisabled.value : null) ?? props.disabled ?? null;
  const click = async (event: MouseEvent) => {
    if (reason !== null) {
      event.preventDefault();
      notify({ kind: "note", text: reason });
      return;
    }
    if (isBusy.value) return;
    const begun = props.onClick?.(event);
    if (!(begun instanceof Promise)) return;
    isBusy.value = true;
    try {
      await begun;
    } catch (thrown) {
      showFailure(thrown);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <button
      type={type}
      class={`button${kind ? ` ${kind}` : ""}${children === undefined ? " icon" : ""}`}
      aria-label={children === undefined ? label : undefined}
      aria-disabled={reason !== null || isBusy.value ? "true" : undefined}
      aria-describedby={reason === null ? undefined : reasonId}
      aria-pressed={pressed}
      aria-busy={isBusy.value || undefined}
      title={reason ?? title ?? (children === undefined ? label : undefined)}
      onClick={(event) => void click(event)}
    >
      {icon && <Icon name={icon} />}
      {children}
      {/* It describes the button, and is no part of its name. */}
      {reason !== null && (
        <span id={reasonId} hidden>
          {reason}
        </span>
      )}
    </button>
  );
}

/** A button that puts a text on the clipboard. */
export function CopyButton({ text, label, children }: { text: string | (() => string); label?: string; children?: ComponentChildren }) {
  const copy = async () => {
    await navigator.clipboard.writeText(typeof text === "string" ? text : text());
    notify({ kind: "note", text: texts.page.copied });
  };
  return (
    <Button kind="plain" icon="copy" label={label ?? texts.page.copy} onClick={copy}>
      {children}
    </Button>
  );
}

/** A choice of one of a few. */
export function Segments<T extends string>(props: {
  label: string;
  options: readonly { value: T; text: string }[];
  value: T;
  onChange: (value: T) => void;
}) {
  return (
    <div class="segments" role="group" aria-label={props.label}>
      {props.options.map(({ value, text }) => (
        <button type="button" key={value} aria-pressed={value === props.value} onClick={() => props.onChange(value)}>
          {text}
        </button>
      ))}
    </div>
  );
}
