// The palette: views, acts of the present view, and definitions and runs by name.

import { useEffect, useId, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { type Command, currentCommands, isPaletteOpen } from "../core/commands.ts";
import { fuzzyFind } from "../core/fuzzy.ts";
import { isRunId } from "../core/format.ts";
import { showKeys } from "../core/keys.ts";
import { fillPath, go } from "../core/router.ts";
import { notify } from "../core/toasts.ts";
import { texts } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icons.tsx";
import { findNames } from "./names.ts";

function highlight(text: string, places: readonly number[]) {
  const at = new Set(places);
  return Array.from(text, (character, index) => (at.has(index) ? <mark key={index}>{character}</mark> : character));
}

/** The palette of commands. */
export function Palette() {
  const typed = useSignal("");
  const active = useSignal(0);
  const names = useSignal<readonly Command[]>([]);
  const list = useRef<HTMLDivElement>(null);
  const listId = useId();
  const close = () => (isPaletteOpen.value = false);
  useEffect(() => {
    const reading = new AbortController();
    findNames(reading.signal).then(
      (found) => (names.value = found),
      () => undefined,
    );
    return () => reading.abort();
  }, []);

  const text = typed.value.trim();
  const runs: Command[] = isRunId(text)
    ? [{ text: texts.palette.openRun(text), group: texts.palette.found, run: () => go(fillPath("/runs/:id", { id: text })) }]
    : [];
  const known = text === "" ? currentCommands() : [...currentCommands(), ...names.value];
  const matches = fuzzyFind(known, text, (command) => command.text, 40);
  const shown = [...runs.map((item) => ({ item, places: [] as number[] })), ...matches];
  const chosen = Math.min(active.value, shown.length - 1);

  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    if (command.disabled) {
      notify({ kind: "note", text: command.disabled });
      return;
    }
    close();
    command.run();
  };
  const press = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined) {
      active.value = (chosen + step + shown.length) % Math.max(1, shown.length);
      queueMicrotask(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }));
    } else if (event.key === "Enter") run(shown[chosen]?.item);
    else return;
    event.preventDefault();
  };
  let group = "";
  return (
    <Dialog title={texts.palette.title} kind="palette" hasHead={false} onClose={close}>
      <div class="palette-input">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={chosen >= 0 ? `${listId}-${chosen}` : undefined}
          aria-label={texts.palette.hint}
          placeholder={texts.palette.hint}
          autocomplete="off"
          spellcheck={false}
          autofocus
          value={typed.value}
          onInput={(event) => {
            typed.value = event.currentTarget.value;
            active.value = 0;
          }}
          onKeyDown={press}
        />
        <kbd>Esc</kbd>
      </div>
      {shown.length === 0 && (
        <p class="table-note" role="status">
          {texts.palette.empty}
        </p>
      )}
      <div class="palette-list" role="listbox" tabIndex={-1} id={listId} aria-label={texts.palette.title} ref={list}>
        {shown.map(({ item, places }, index) => {
          const isFirst = text === "" && item.group !== group;
          group = item.group;
          return [
            isFirst && (
              <div class="option-group" role="presentation" key={`g-${item.group}`}>
                {item.group}
              </div>
            ),
            <div
              class="option"
              role="option"
              id={`${listId}-${index}`}
              key={`${item.group} ${item.text}`}
              aria-selected={index === chosen}
              aria-disabled={item.disabled ? "true" : undefined}
              title={item.disabled ?? undefined}
              onMouseMove={() => (active.value = index)}
              onClick={() => run(item)}
            >
              <span class="clip">{highlight(item.text, places)}</span>
              <span class="end">
                {item.keys === undefined ? text !== "" && item.group : showKeys(item.keys).map((key) => <kbd key={key}>{key}</kbd>)}
              </span>
            </div>,
          ];
        })}
      </div>
    </Dialog>
  );
}
