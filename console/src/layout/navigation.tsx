// The navigation: views by group, the state of the stream, who is signed in, and how the page looks.

import type { JSX } from "preact";
import { identity, signOut } from "../core/credential.ts";
import { isHelpOpen, isPaletteOpen } from "../core/commands.ts";
import { liveState } from "../core/live.ts";
import { liveNode } from "../core/live-store.ts";
import { isNavigationNarrow, showsUtc, theme, type Theme } from "../core/preferences.ts";
import { showKeys } from "../core/keys.ts";
import { href, matchPath, place } from "../core/router.ts";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icons.tsx";
import { Status } from "../ui/status.tsx";
import { GROUPS, type View, VIEWS } from "../views/registry.ts";

const LIVE_LOOKS: Record<string, string> = {
  open: "ok", connecting: "running", lost: "retrying", paused: "paused", full: "degraded", absent: "scheduled", off: "stopped",
};

function LiveMark() {
  const state = liveState.value;
  const node = liveNode.value;
  const title = node === null ? undefined : `${texts.live.node(node.id)} (${texts.live.instance(node.name)})`;
  return (
    <div class="who" title={title} role="status">
      <Status of={LIVE_LOOKS[state] ?? "stopped"} text={texts.live[state]} symbolOnly={isNavigationNarrow.value} />
    </div>
  );
}

function Mark(): JSX.Element {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent-fill)" />
      <path d="M9 11h6l3 5h5M9 21h6l3-5" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

const NEXT_THEME: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const THEME_ICONS = { system: "system", light: "sun", dark: "moon" } as const;

/** The navigation. On narrow screens it lies over the view. */
export function Navigation({ isOpen }: { isOpen: boolean }) {
  const { path } = place.value;
  const present = VIEWS.find((view) => matchPath(view.path, path) !== null);
  const isAt = (view: View) =>
    view.name === (present?.under ?? present?.name) || (view.path !== "/" && path.startsWith(`${view.path}/`));
  const isNarrow = isNavigationNarrow.value;
  const caller = identity.value;
  return (
    <nav class={`sidebar${isOpen ? " open" : ""}`} aria-label={texts.page.navigation}>
      <a class="brand" href={href("/")} aria-label={`${texts.product} ${texts.console}`}>
        <Mark />
        <span>{texts.product}</span>
      </a>
      <button type="button" class="nav-item" onClick={() => (isPaletteOpen.value = true)} aria-label={isNarrow ? texts.page.search : undefined}>
        <Icon name="search" />
        <span>{texts.page.search}</span>
        <kbd aria-hidden="true">{showKeys("Mod+k").join(" ")}</kbd>
      </button>
      {GROUPS.filter((group) => VIEWS.some((view) => view.group === group)).map((group) => (
        <div class="nav-group" key={group}>
          <h2>{texts.groups[group]}</h2>
          <ul>
            {VIEWS.filter((view) => view.group === group).map((view) => (
              <li key={view.name}>
                <a
                  class="nav-item"
                  href={href(view.path)}
                  aria-current={isAt(view) ? "page" : undefined}
                  aria-label={isNarrow ? texts.views[view.title] : undefined}
                  title={isNarrow ? texts.views[view.title] : undefined}
                >
                  <Icon name={view.icon} />
                  <span>{texts.views[view.title]}</span>
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
      <div class="sidebar-foot">
        <LiveMark />
        <div class="row wraps">
          <Button
            kind="plain"
            icon={THEME_ICONS[theme.value]}
            label={`${texts.page.theme}: ${texts.page.themes[theme.value]}`}
            onClick={() => void (theme.value = NEXT_THEME[theme.value])}
          />
          <Button
            kind="plain"
            icon="clock"
            label={showsUtc.value ? texts.page.local : texts.page.utc}
            pressed={showsUtc.value}
            onClick={() => void (showsUtc.value = !showsUtc.value)}
          />
          <Button kind="plain" icon="keys" label={texts.page.keys} onClick={() => void (isHelpOpen.value = true)} />
          <span class="wide-only">
            <Button
              kind="plain"
              icon="narrow"
              label={isNarrow ? texts.page.wide : texts.page.narrow}
              pressed={isNarrow}
              onClick={() => void (isNavigationNarrow.value = !isNarrow)}
            />
          </span>
        </div>
        {caller !== null && (
          <div class="who">
            <span class="avatar" aria-hidden="true">
              {caller.principal.slice(0, 1)}
            </span>
            <span class="who-text grow clip" title={caller.key_id ?? undefined}>
              {caller.principal}
              {caller.access !== "full" && <span class="faint"> · {texts.page.readOnly}</span>}
            </span>
            {caller.key_id !== null && (
              <Button
                kind="plain"
                icon="leave"
                label={texts.page.signOut}
                onClick={() => signOut()}
              />
            )}
          </div>
        )}
      </div>
    </nav>
  );
}
