// What a person chose for the look and the keys, kept in the browser. None of it is secret.

import { effect, signal } from "@preact/signals";

/** The theme: that of the system, or a chosen one. */
export type Theme = "system" | "light" | "dark";

function read(name: string): string | null {
  try {
    return localStorage.getItem(`svc-console.${name}`);
  } catch {
    return null;
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(`svc-console.${name}`, value);
  } catch {
    // Without storage the choice holds until the page is closed.
  }
}

const stored = typeof localStorage === "undefined" ? null : read("theme");

/** The chosen theme. */
export const theme = signal<Theme>(stored === "light" || stored === "dark" ? stored : "system");

/** Whether times are shown in UTC in place of the local zone. */
export const showsUtc = signal(typeof localStorage !== "undefined" && read("utc") === "true");

/** Whether keys without a modifier act. Speech input and some assistive tools need them off. */
export const hasSingleKeys = signal(typeof localStorage === "undefined" || read("single-keys") !== "false");

/** Whether the navigation shows symbols only. */
export const isNavigationNarrow = signal(typeof localStorage !== "undefined" && read("narrow") === "true");

/** Keeps the choices, and gives the theme to the page. */
export function startPreferences(): void {
  effect(() => {
    if (theme.value === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme.value;
    write("theme", theme.value);
  });
  effect(() => write("utc", String(showsUtc.value)));
  effect(() => write("single-keys", String(hasSingleKeys.value)));
  effect(() => write("narrow", String(isNavigationNarrow.value)));
}
