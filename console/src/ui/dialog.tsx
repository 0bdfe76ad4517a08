// Dialogs, and the question before an act.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { signal, useSignal } from "@preact/signals";
import { type ApiProblem, asProblem } from "../api/problem.ts";
import { texts } from "../texts.ts";
import { Button } from "./button.tsx";
import { ProblemBox, Skeleton } from "./content.tsx";

/** A dialog over the page. It is closed by Escape and by a click outside of it. */
export function Dialog(props: {
  title: string;
  kind?: "wide" | "palette";
  hasHead?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Before the next event: what is typed right after the key that opens it is its own.
  useLayoutEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const outside = (event: MouseEvent) => {
    if (event.target === element.current) props.onClose();
  };
  return (
    <dialog
      ref={element}
      class={props.kind ?? ""}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onMouseDown={outside}
    >
      {props.hasHead === false ? (
        <h2 id={titleId} class="hidden-text">
          {props.title}
        </h2>
      ) : (
        <div class="dialog-head">
          <h2 id={titleId} class="grow">
            {props.title}
          </h2>
          <Button kind="plain" icon="close" label={texts.page.close} onClick={props.onClose} />
        </div>
      )}
      {props.children}
    </dialog>
  );
}

/** A question before an act. */
export interface Question {
  title: string;
  /** What the act does, in a sentence. */
  text?: ComponentChildren;
  /** Fields of the act. */
  fields?: ComponentChildren;
  /** What the act would meet, read before it can be confirmed. */
  preview?: (cancelled: AbortSignal) => Promise<ComponentChildren>;
  /** The word of the button, such as `Requeue 120 dead letters`. */
  confirm: string | (() => string);
  /** The reason for which it cannot be confirmed, such as a field that is empty. */
  disabled?: () => string | null;
  isDanger?: boolean;
  run: () => Promise<unknown>;
}

const question = signal<Question | null>(null);

/** Asks before an act; the act is carried out once it is confirmed. */
export function ask(asked: Question): void {
  question.value = asked;
}

/** The place of the questions, once on the page. */
export function Questions() {
  const asked = question.value;
  return asked === null ? null : <QuestionDialog asked={asked} close={() => (question.value = null)} />;
}

function QuestionDialog({ asked, close }: { asked: Question; close: () => void }) {
  const preview = useSignal<ComponentChildren>(undefined);
  const problem = useSignal<ApiProblem | null>(null);
  const isReading = useSignal(asked.preview !== undefined);
  useEffect(() => {
    const reading = new AbortController();
    asked.preview?.(reading.signal).then(
      (shown) => {
        preview.value = shown;
        isReading.value = false;
      },
      (thrown: unknown) => {
        if (reading.signal.aborted) return;
        problem.value = asProblem(thrown);
        isReading.value = false;
      },
    );
    return () => reading.abort();
  }, []);
  const confirm = async () => {
    problem.value = null;
    try {
      await asked.run();
      close();
    } catch (thrown) {
      problem.value = asProblem(thrown);
    }
  };
  const disabled = (isReading.value ? texts.act.preview : null) ?? asked.disabled?.() ?? null;
  return (
    <Dialog title={asked.title} onClose={close}>
      <div class="dialog-body">
        {asked.text && <p class="muted">{asked.text}</p>}
        {asked.fields}
        {isReading.value ? <Skeleton lines={2} /> : preview.value}
        {problem.value && <ProblemBox problem={problem.value} />}
      </div>
      <div class="dialog-foot">
        <Button onClick={close}>{texts.act.cancel}</Button>
        <Button kind={asked.isDanger ? "danger" : "primary"} acts disabled={disabled} onClick={confirm}>
          {typeof asked.confirm === "string" ? asked.confirm : asked.confirm()}
        </Button>
      </div>
    </Dialog>
  );
}
