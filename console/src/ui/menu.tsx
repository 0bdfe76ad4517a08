// A button with a list of acts.

import { useLayoutEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { notify } from "../core/toasts.ts";
import { Button, showFailure } from "./button.tsx";
import { Icon, type IconName } from "./icons.tsx";

/** An act of a menu. */
export interface MenuItem {
  text: string;
  icon?: IconName;
  disabled?: string | null;
  run: () => void | Promise<unknown>;
}

/** A button that opens a list of acts. */
export function Menu(props: { label: string; text?: string; icon?: IconName; items: readonly MenuItem[] }) {
  const isOpen = useSignal(false);
  const box = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    if (!isOpen.value) return;
    const outside = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) isOpen.value = false;
    };
    document.addEventListener("pointerdown", outside);
    box.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    return () => document.removeEventListener("pointerdown", outside);
  }, [isOpen.value]);

  const close = () => {
    isOpen.value = false;
    box.current?.querySelector<HTMLElement>("button")?.focus();
  };
  const move = (event: KeyboardEvent) => {
    if (!isOpen.value) return;
    const items = [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const place = items.indexOf(document.activeElement as HTMLElement);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (event.key === "Escape") close();
    else if (event.key === "Tab") isOpen.value = false;
    else if (step !== undefined) items[(place + step + items.length) % items.length]?.focus();
    else return;
    if (event.key !== "Tab") event.preventDefault();
  };
  const choose = async (item: MenuItem) => {
    if (item.disabled) {
      notify({ kind: "note", text: item.disabled });
      return;
    }
    close();
    try {
      await item.run();
    } catch (thrown) {
      showFailure(thrown);
    }
  };
  return (
    <span class="menu-anchor" ref={box} onKeyDown={move}>
      <Button icon={props.icon ?? "more"} label={props.label} pressed={isOpen.value} onClick={() => void (isOpen.value = !isOpen.value)}>
        {props.text}
      </Button>
      {isOpen.value && (
        <div class="menu" role="menu" aria-label={props.label}>
          {props.items.map((item) => (
            <button
              type="button"
              class="option"
              role="menuitem"
              key={item.text}
              tabIndex={-1}
              aria-disabled={item.disabled ? "true" : undefined}
              title={item.disabled ?? undefined}
              onClick={() => void choose(item)}
            >
              {item.icon && <Icon name={item.icon} />}
              <span class="clip">{item.text}</span>
            </button>
          ))}
        </div>
      )}
    </span>
  );
}
