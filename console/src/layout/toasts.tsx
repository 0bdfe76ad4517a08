// Messages about what was done and what failed.

import { dismiss, toasts } from "../core/toasts.ts";
import { href } from "../core/router.ts";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icons.tsx";

const ICONS = { done: "check", failed: "alert", note: "info" } as const;

/** The messages, announced to readers of the screen. */
export function Toasts() {
  return (
    <div class="toasts" role="log" aria-live="polite" aria-label={texts.act.done}>
      {toasts.value.map((toast) => (
        <div class={`toast ${toast.kind}`} key={toast.id} role={toast.kind === "failed" ? "alert" : undefined}>
          <Icon name={ICONS[toast.kind]} />
          <div class="grow breaks">
            <p>{toast.text}</p>
            {toast.detail && <p class="muted mono">{toast.detail}</p>}
            {toast.auditId && (
              <a class="link" href={href("/audit", { entry: toast.auditId })}>
                {texts.act.audit}
              </a>
            )}
          </div>
          <Button kind="plain" icon="close" label={texts.page.close} onClick={() => dismiss(toast.id)} />
        </div>
      ))}
    </div>
  );
}
