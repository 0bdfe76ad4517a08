// Keys: each is declared once by the view or the part of the page that acts on it, and listed by `?`.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { hasSingleKeys } from "./preferences.ts";

/** A key, or two that are pressed one after the other. */
export interface KeyBinding {
  /** Such as `j`, `g r`, `Shift+x`, `Mod+k`; `Mod` is the key for commands of the system. */
  keys: string;
  /** What it does, for the list of keys. */
  does: string;
  /** The group in the list of keys. */
  group: string;
  run: () => void;
}

const SEQUENCE_MILLISECONDS = 1000;

const scopes = signal<readonly { bindings: readonly KeyBinding[] }[]>([]);
let first: { key: string; at: number } | null = null;

/** The bindings of now, the newest part of the page first. */
export function boundKeys(): readonly KeyBinding[] {
  return scopes.value.flatMap((scope) => scope.bindings);
}

/** Binds keys as long as the component is shown. */
export function useKeys(bindings: readonly KeyBinding[]): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  const names = bindings.map((binding) => binding.keys).join(",");
  useLayoutEffect(() => {
    const scope = { bindings: bindings.map((binding, index) => ({ ...binding, run: () => latest.current[index]?.run() })) };
    scopes.value = [scope, ...scopes.value];
    return () => {
      scopes.value = scopes.value.filter((other) => other !== scope);
    };
  }, [names]);
}

/** Returns the name of a pressed key, such as `Mod+k` or `Shift+ArrowDown`. */
export function nameKey(event: Pick<KeyboardEvent, "key" | "metaKey" | "ctrlKey" | "altKey" | "shiftKey">): string {
  const key = event.key === " " ? "Space" : event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const isLetter = /^[a-z]$/.test(key);
  const shift = event.shiftKey && (isLetter || event.key.length > 1) ? "Shift+" : "";
  return `${event.metaKey || event.ctrlKey ? "Mod+" : ""}${event.altKey ? "Alt+" : ""}${shift}${key}`;
}

/** Returns whether what has the focus takes letters. */
function takesText(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement && ["checkbox", "radio", "button"].includes(target.type)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

function find(keys: string): KeyBinding | undefined {
  return boundKeys().find((binding) => binding.keys === keys);
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const name = nameKey(event);
  const hasModifier = name.startsWith("Mod+") || name.startsWith("Alt+");
  if (!hasModifier && (takesText(event) || document.querySelector("dialog[open]") !== null)) return;
  if (!hasModifier && name.length === 1 && !hasSingleKeys.value) return;
  const isSecond = first !== null && event.timeStamp - first.at < SEQUENCE_MILLISECONDS;
  const binding = (isSecond ? find(`${first?.key} ${name}`) : undefined) ?? find(name);
  const begins = boundKeys().some((other) => other.keys.startsWith(`${name} `));
  first = begins && !isSecond ? { key: name, at: event.timeStamp } : null;
  if (binding === undefined) return;
  event.preventDefault();
  binding.run();
}

/** Follows the keys of the page. */
export function startKeys(): void {
  document.addEventListener("keydown", onKey);
}

/** Returns keys as people read them, one text for each. */
export function showKeys(keys: string): string[] {
  const isMac = typeof navigator !== "undefined" && /mac|iphone|ipad/i.test(navigator.platform);
  const names: Record<string, string> = {
    Mod: isMac ? "⌘" : "Ctrl", Shift: "⇧", Alt: isMac ? "⌥" : "Alt", ArrowDown: "↓", ArrowUp: "↑", Enter: "↵", Escape: "Esc",
  };
  return keys.split(/[ +]/).map((key) => names[key] ?? (key.length === 1 ? key.toUpperCase() : key));
}
