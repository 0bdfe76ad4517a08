// The editor, in a shadow root: its styles are adopted there and need no exception from the page's policy. Its code is
// loaded with the first editor.

import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { EditorFinding, EditorHandle, EditorOptions } from "./editor-core.ts";
import { Skeleton } from "./content.tsx";

/** An editor of a text. */
export interface EditorProps {
  label: string;
  value: string;
  /** Called at each change; without it the text can be read only. */
  onChange?: (text: string) => void;
  /** A text with which `value` is compared, side by side on wide screens. */
  compareWith?: string;
  /** What is wrong in the text. */
  findings?: readonly EditorFinding[];
  /** Names and texts for completion and hints, such as those of a JSON Schema. */
  assist?: EditorOptions["assist"];
  /** A place to bring in sight; `count` tells one wish from the next. */
  reveal?: { place: number; count: number } | null;
  /** Its height in CSS. */
  height?: string;
}

/** An editor of JSON and other texts, loaded on demand. */
export function Editor(props: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const handle = useRef<EditorHandle | null>(null);
  const isReady = useSignal(false);
  const latest = useRef(props);
  latest.current = props;
  // What the person typed and has not come back as a value yet: it must not be put over what was typed since.
  const typed = useRef<string[]>([]);

  useEffect(() => {
    let isGone = false;
    void import("./editor-core.ts").then(({ mountEditor }) => {
      const element = host.current;
      if (isGone || element === null) return;
      const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
      const { label, value, onChange, compareWith, assist } = latest.current;
      handle.current = mountEditor(root, {
        label,
        value,
        ...(onChange === undefined ? {} : { onChange: (text: string) => (typed.current.push(text), latest.current.onChange?.(text)) }),
        ...(compareWith === undefined ? {} : { compareWith }),
        ...(assist === undefined ? {} : { assist }),
      });
      handle.current.setFindings(latest.current.findings ?? []);
      isReady.value = true;
    });
    return () => {
      isGone = true;
      handle.current?.destroy();
      handle.current = null;
      isReady.value = false;
    };
  }, [props.compareWith, props.onChange === undefined]);
  useEffect(() => {
    const place = typed.current.lastIndexOf(props.value);
    typed.current = place < 0 ? [] : typed.current.slice(place + 1);
    if (place < 0) handle.current?.setValue(props.value);
  }, [props.value]);
  useEffect(() => handle.current?.setFindings(props.findings ?? []), [props.findings]);
  useEffect(() => {
    if (props.reveal) handle.current?.reveal(props.reveal.place);
  }, [props.reveal?.count]);

  return (
    <div class="editor" style={{ height: props.height ?? "420px" }}>
      {!isReady.value && (
        <div class="panel-body">
          <Skeleton lines={6} />
        </div>
      )}
      <div class="editor-host" ref={host} />
    </div>
  );
}
