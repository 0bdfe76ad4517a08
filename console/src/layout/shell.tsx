// The frame of the page: navigation, the present view, and what lies over both.

import { Component, type ComponentChildren, type ComponentType } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { pausedUntil } from "../api/client.ts";
import { isHelpOpen, isPaletteOpen, useCommands } from "../core/commands.ts";
import { useKeys } from "../core/keys.ts";
import { liveLostSince } from "../core/live.ts";
import { isOutdated } from "../core/live-store.ts";
import { isNavigationNarrow, showsUtc } from "../core/preferences.ts";
import { go, href, matchPath, place } from "../core/router.ts";
import { formatInstant, now } from "../core/time.ts";
import { texts } from "../texts.ts";
import { Button } from "../ui/button.tsx";
import { Callout, Empty, Skeleton, ViewHead } from "../ui/content.tsx";
import { Questions } from "../ui/dialog.tsx";
import { Icon } from "../ui/icons.tsx";
import { VIEWS, type View, type ViewProps } from "../views/registry.ts";
import { KeyHelp } from "./key-help.tsx";
import { Navigation } from "./navigation.tsx";
import { Palette } from "./palette.tsx";
import { Toasts } from "./toasts.tsx";

/** Milliseconds after which the code of the other views is loaded, so that each of them appears at once. */
const OTHERS_AFTER = 1500;

function loadOthers(): void {
  for (const view of VIEWS) if (view.group !== undefined) view.load().catch(() => undefined);
}

/** Returns the view of a path, with the parameters of the path. */
function findView(path: string): { view: View; parameters: Record<string, string> } | null {
  for (const view of VIEWS) {
    const parameters = matchPath(view.path, path);
    if (parameters !== null) return { view, parameters };
  }
  return null;
}

const loaded = new Map<string, ComponentType<ViewProps>>();

/** Loads the code of the present view, while the service is asked who the caller is. */
export function preloadView(): void {
  const view = findView(place.value.path)?.view;
  // A failure is shown by the view itself, which loads once more.
  view?.load().then(({ default: component }) => loaded.set(view.name, component), () => undefined);
}

/** Shows a failure within a view in its place, so that the rest of the page goes on. */
class Guard extends Component<{ children: ComponentChildren }, { failure: unknown }> {
  override state = { failure: undefined as unknown };

  static override getDerivedStateFromError(failure: unknown) {
    return { failure };
  }

  override render() {
    if (this.state.failure === undefined) return this.props.children;
    const text = this.state.failure instanceof Error ? this.state.failure.message : String(this.state.failure);
    return (
      <div class="view-body">
        <Callout kind="bad" role="alert">
          <p>{texts.page.viewFailed}</p>
          <p class="muted mono">{text}</p>
          <Button onClick={() => this.setState({ failure: undefined })}>{texts.page.retry}</Button>
        </Callout>
      </div>
    );
  }
}

function PresentView() {
  const found = findView(place.value.path);
  const name = found?.view.name ?? "";
  const ready = useSignal(loaded.size);
  const failed = useSignal(false);
  const title = found === null ? texts.views.notFound : texts.views[found.view.title];
  const View = loaded.get(name);

  useEffect(() => {
    document.title = `${title} · ${texts.product}`;
    failed.value = false;
    if (found === null || View !== undefined) return;
    found.view.load().then(
      ({ default: component }) => {
        loaded.set(name, component);
        ready.value++;
      },
      () => (failed.value = true),
    );
  }, [name]);
  // Before the next event, so that it takes the focus from nothing that a person chose in the view.
  useLayoutEffect(() => {
    // A reader of the screen hears the title of the view that it went to.
    if (ready.value > 0) document.querySelector<HTMLElement>("[data-view-title]")?.focus({ preventScroll: true });
  }, [name, ready.value]);

  if (found === null) {
    return (
      <>
        <ViewHead title={texts.views.notFound} />
        <Empty text={texts.page.notFound} />
      </>
    );
  }
  if (failed.value) {
    return (
      <div class="view-body">
        <Callout kind="warn" role="alert">
          <div class="row wraps">
            <span class="grow">{texts.page.viewOutdated}</span>
            <Button onClick={() => location.reload()}>{texts.page.loadAnew}</Button>
          </div>
        </Callout>
      </div>
    );
  }
  if (View === undefined) {
    return (
      <div class="view-body">
        <Skeleton lines={5} />
      </div>
    );
  }
  const { parameters } = found;
  return (
    <Guard key={`${name} ${JSON.stringify(parameters)}`}>
      <View parameters={parameters} />
    </Guard>
  );
}

/** Milliseconds without a stream after which the page says so. */
const LOST = 2500;

function StateBanner() {
  const since = liveLostSince.value;
  if (isOutdated.value) {
    return (
      <div class="banner" role="status">
        <Icon name="info" />
        <span class="grow">{texts.page.outdated}</span>
        <Button onClick={() => location.reload()}>{texts.page.loadAnew}</Button>
      </div>
    );
  }
  if (since === 0 || Math.max(now.value, Date.now()) - since < LOST) return null;
  return (
    <div class="banner" role="status">
      <Icon name="alert" />
      {texts.live.lostSince(formatInstant(since, showsUtc.value).slice(11))}
    </div>
  );
}

function PauseBanner() {
  const seconds = Math.ceil((pausedUntil.value - Math.max(now.value, Date.now())) / 1000);
  if (seconds <= 0) return null;
  return (
    <div class="banner" role="status">
      <Icon name="clock" />
      {texts.live.waits(seconds)}
    </div>
  );
}

/** The page of a person who is signed in. */
export function Shell() {
  const isOpen = useSignal(false);
  const { path } = place.value;
  useEffect(() => {
    isOpen.value = false;
  }, [path]);
  useEffect(() => {
    const timer = setTimeout(loadOthers, OTHERS_AFTER);
    return () => clearTimeout(timer);
  }, []);
  const { groups } = texts.keys;
  const goKeys = VIEWS.filter((view) => view.key !== undefined).map((view) => ({
    keys: `g ${view.key}`,
    does: texts.views[view.title],
    group: groups.go,
    run: () => go(view.path),
  }));
  useKeys([
    { keys: "Mod+k", does: texts.keys.palette, group: groups.page, run: () => (isPaletteOpen.value = !isPaletteOpen.value) },
    { keys: "/", does: texts.keys.palette, group: groups.page, run: () => (isPaletteOpen.value = true) },
    { keys: "?", does: texts.keys.help, group: groups.page, run: () => (isHelpOpen.value = true) },
    ...goKeys,
  ]);
  useCommands(
    VIEWS.filter((view) => view.group !== undefined).map((view) => ({
      text: texts.views[view.title],
      group: texts.palette.go,
      ...(view.key === undefined ? {} : { keys: `g ${view.key}` }),
      run: () => go(view.path),
    })),
  );
  return (
    <div class={`shell${isNavigationNarrow.value ? " narrow" : ""}`}>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        {texts.page.skip}
      </a>
      <header class="topbar">
        <Button kind="plain" icon="menu" label={texts.page.openNavigation} onClick={() => void (isOpen.value = true)} />
        <a class="grow" href={href("/")}>
          {texts.product}
        </a>
        <Button kind="plain" icon="search" label={texts.page.search} onClick={() => void (isPaletteOpen.value = true)} />
      </header>
      {isOpen.value && (
        <button type="button" class="scrim" aria-label={texts.page.closeNavigation} onClick={() => (isOpen.value = false)} />
      )}
      <Navigation isOpen={isOpen.value} />
      <main class="main" id="main" tabIndex={-1}>
        <StateBanner />
        <PauseBanner />
        <PresentView />
      </main>
      {isPaletteOpen.value && <Palette />}
      {isHelpOpen.value && <KeyHelp />}
      <Questions />
      <Toasts />
    </div>
  );
}
