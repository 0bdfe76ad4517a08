// The sign-in with an admin key.

import { useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { checkCaller } from "../api/session.ts";
import { signInReason, useKey } from "../core/credential.ts";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Callout, Prose } from "../ui/content.tsx";

/** The form that takes a key. */
export function SignIn() {
  const input = useRef<HTMLInputElement>(null);
  const keep = useSignal(true);
  const isShown = useSignal(false);
  const isBusy = useSignal(false);
  const toggle = () => {
    isShown.value = !isShown.value;
    if (input.current !== null) input.current.type = isShown.value ? "text" : "password";
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const key = input.current?.value.trim() ?? "";
    if (key === "" || isBusy.value) return;
    isBusy.value = true;
    useKey(key, keep.value);
    await checkCaller(texts.signIn.wrong);
    isBusy.value = false;
  };
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <div class="stack">
          <h1>
            {texts.product} {texts.console}
          </h1>
          <p class="muted">{texts.signIn.lead}</p>
        </div>
        {signInReason.value !== null && (
          <Callout kind="bad" role="alert">
            {signInReason.value}
          </Callout>
        )}
        <div class="field">
          <label for="admin-key">{texts.signIn.key}</label>
          <div class="row">
            <input
              id="admin-key"
              class="input"
              ref={input}
              type="password"
              autocomplete="off"
              spellcheck={false}
              autofocus
              required
            />
            <Button icon="eye" label={texts.signIn.show} pressed={isShown.value} onClick={toggle} />
          </div>
        </div>
        <label class="check">
          <input type="checkbox" checked={keep.value} onChange={(event) => (keep.value = event.currentTarget.checked)} />
          {texts.signIn.keep}
        </label>
        <Button kind="primary" type="submit">
          {texts.signIn.enter}
        </Button>
        <p class="muted">
          <Prose text={texts.signIn.where} />
        </p>
      </form>
    </main>
  );
}
