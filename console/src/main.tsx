// The start of the console.

import { render } from "preact";
import { effect } from "@preact/signals";
import { checkCaller } from "./api/session.ts";
import { restoreKey, signInReason, signInState } from "./core/credential.ts";
import { startKeys } from "./core/keys.ts";
import { forgetAnswers } from "./core/load.ts";
import { startLive } from "./core/live.ts";
import { startLiveStore } from "./core/live-store.ts";
import { startPreferences } from "./core/preferences.ts";
import { startRouter } from "./core/router.ts";
import { startClock } from "./core/time.ts";
import { preloadView, Shell } from "./layout/shell.tsx";
import { SignIn } from "./layout/sign-in.tsx";
import { Toasts } from "./layout/toasts.tsx";
import { texts } from "./texts.ts";
import { startHints } from "./ui/clipped.ts";
import { Empty } from "./ui/content.tsx";

function Page() {
  if (signInState.value === "done") return <Shell />;
  return (
    <>
      {signInState.value === "required" && <SignIn />}
      {signInState.value === "unknown" && signInReason.value !== null && (
        <main class="sign-in">
          <Empty icon="clock" text={signInReason.value} command="svc-cli health" />
        </main>
      )}
      <Toasts />
    </>
  );
}

startPreferences();
restoreKey();
startRouter();
startKeys();
startClock();
startHints();
startLiveStore();
startLive();
preloadView();
void checkCaller(texts.signIn.noLongerValid);
effect(() => {
  // What one person read is not shown to the next.
  if (signInState.value === "required") forgetAnswers();
});
const place = document.getElementById("app");
// The view that comes with the start is there by then, and is drawn at once.
if (place !== null) queueMicrotask(() => render(<Page />, place));
