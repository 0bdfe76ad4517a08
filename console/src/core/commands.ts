// Commands of the palette: the views, what the present view can do, and what is found by name.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** A command of the palette. */
export interface Command {
  /** Its text, by which it is found. */
  text: string;
  /** The group under which it is shown. */
  group: string;
  /** Its keys, if it has some. */
  keys?: string;
  /** The reason for which it is not possible now. */
  disabled?: string | null;
  run: () => void;
}

const parts = signal<readonly { commands: readonly Command[] }[]>([]);

/** Whether the palette is open. */
export const isPaletteOpen = signal(false);

/** Whether the list of keys is open. */
export const isHelpOpen = signal(false);

/** Returns the commands of now, those of the view first. */
export function currentCommands(): readonly Command[] {
  return parts.value.flatMap((part) => part.commands);
}

/** Offers commands as long as the component is shown. */
export function useCommands(commands: readonly Command[]): void {
  const latest = useRef(commands);
  latest.current = commands;
  const names = commands.map((command) => `${command.text}\n${command.disabled ?? ""}`).join("\n");
  useEffect(() => {
    const part = { commands: commands.map((command, index) => ({ ...command, run: () => latest.current[index]?.run() })) };
    parts.value = [part, ...parts.value];
    return () => {
      parts.value = parts.value.filter((other) => other !== part);
    };
  }, [names]);
}
