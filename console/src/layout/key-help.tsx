// The list of the keys of the page and of the present view.

import { boundKeys, showKeys, type KeyBinding } from "../core/keys.ts";
import { isHelpOpen } from "../core/commands.ts";
import { hasSingleKeys } from "../core/preferences.ts";
import { texts } from "../texts.ts";
import { Dialog } from "../ui/dialog.tsx";

/** The keys that act now, by group. */
export function KeyHelp() {
  const groups = new Map<string, KeyBinding[]>();
  for (const binding of boundKeys()) {
    const list = groups.get(binding.group) ?? [];
    if (!list.some((other) => other.keys === binding.keys)) groups.set(binding.group, [...list, binding]);
  }
  return (
    <Dialog title={texts.keys.title} kind="wide" onClose={() => (isHelpOpen.value = false)}>
      <div class="dialog-body">
        <div class="key-list">
          {[...groups].map(([group, bindings]) => (
            <section key={group} class="stack">
              <h3>{group}</h3>
              <ul>
                {bindings.map((binding) => (
                  <li key={binding.keys}>
                    <span>{binding.does}</span>
                    <span class="row">
                      {showKeys(binding.keys).map((key, index) => (
                        <kbd key={index}>{key}</kbd>
                      ))}
                    </span>
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </div>
        <label class="check">
          <input
            type="checkbox"
            checked={hasSingleKeys.value}
            onChange={(event) => (hasSingleKeys.value = event.currentTarget.checked)}
          />
          <span>
            {texts.keys.single} <span class="muted">{texts.keys.singleHint}</span>
          </span>
        </label>
      </div>
    </Dialog>
  );
}
