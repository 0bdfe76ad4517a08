// The credential of the person. No other module sees the key, and the key is in no URL, log or message.

import { computed, signal } from "@preact/signals";
import { texts } from "../texts.ts";

/** The caller, as the service knows it. */
export interface Identity {
  principal: string;
  key_id: string | null;
  access: string;
}

/** The state of the sign-in: `unknown` until the service has answered. */
export type SignInState = "unknown" | "required" | "done";

const STORED = "svc-console.key";

let key: string | null = null;

/** The caller, once the service has recognised the key, or needs none. */
export const identity = signal<Identity | null>(null);

/** The state of the sign-in. */
export const signInState = signal<SignInState>("unknown");

/** The reason for which the person has to sign in again, if there is one. */
export const signInReason = signal<string | null>(null);

/** The reason for which acts are not possible, or null if they are. */
export const actsDisabled = computed<string | null>(() => {
  const caller = identity.value;
  if (caller === null) return texts.signIn.notSignedIn;
  return caller.access === "full" ? null : texts.signIn.readOnly(caller.principal);
});

function session(): Storage | null {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}

/** Takes up the key that this tab keeps, if it keeps one. It counts as valid until the service refuses it. */
export function restoreKey(): void {
  key = session()?.getItem(STORED) ?? null;
  if (key !== null) signInState.value = "done";
}

/** Takes a key for this page, and keeps it in the tab over a reload if that is wanted. */
export function useKey(text: string, keepInTab: boolean): void {
  key = text;
  if (keepInTab) session()?.setItem(STORED, text);
  else session()?.removeItem(STORED);
}

/** Returns whether there is a key. */
export function hasKey(): boolean {
  return key !== null;
}

/** Adds the key to the headers of a request to the service. */
export function authorize(headers: Headers): void {
  if (key !== null) headers.set("authorization", `Bearer ${key}`);
}

/** Notes that the service knows the caller. */
export function acceptIdentity(caller: Identity): void {
  identity.value = caller;
  signInReason.value = null;
  signInState.value = "done";
}

/** Notes that the service could not say who the caller is. */
export function noteAbsence(reason: string): void {
  signInReason.value = reason;
}

/** Forgets the key, and asks for one. */
export function signOut(reason: string | null = null): void {
  key = null;
  session()?.removeItem(STORED);
  identity.value = null;
  signInReason.value = reason;
  signInState.value = "required";
}
