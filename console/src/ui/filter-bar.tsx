// The filter bar: chips of what is chosen, a text with suggestions, and counts.

import { useId, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { type FilterWord, readChips, readTyped, toggleValue } from "../core/filters.ts";
import { fuzzyFind } from "../core/fuzzy.ts";
import { useKeys } from "../core/keys.ts";
import { place, setQuery } from "../core/router.ts";
import { formatCount } from "../core/format.ts";
import { texts } from "../texts.ts";
import { Icon } from "./icons.tsx";

/** A line of the suggestions. */
interface Suggestion {
  text: string;
  hint: string;
  count?: number | undefined;
  choose: () => void;
}

/** What a filter bar offers. */
export interface FilterBarProps {
  words: readonly FilterWord[];
  /** Numbers of rows of the values of a word. */
  counts?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Names of words that any text may follow, such as those of channels. */
  known?: Readonly<Record<string, readonly string[]>>;
  /** Called when a person turns to the bar, to read the names. */
  prepare?: () => void;
}

function valueSuggestions(word: FilterWord, text: string, props: FilterBarProps, done: () => void): Suggestion[] {
  const values = word.values ?? props.known?.[word.name] ?? [];
  const pick = (value: string) => () => {
    const old = place.value.query.get(word.name) ?? "";
    setQuery({ [word.name]: toggleValue(old, value, word.several !== false), cursor: null });
    done();
  };
  const found = fuzzyFind(values, text, (value) => value, 40).map(({ item }) => ({
    text: item,
    hint: "",
    count: props.counts?.[word.name]?.[item],
    choose: pick(item),
  }));
  const isFree = word.values === undefined && text !== "" && !found.some((suggestion) => suggestion.text === text);
  return isFree ? [{ text, hint: word.hint, choose: pick(text) }, ...found] : found;
}

/** A bar that filters a list. Its state is in the URL. */
export function FilterBar(props: FilterBarProps) {
  const typed = useSignal("");
  const isOpen = useSignal(false);
  const active = useSignal(0);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const { word, text } = readTyped(typed.value, props.words);

  const done = () => {
    typed.value = "";
    active.value = 0;
    input.current?.focus();
  };
  const suggestions: Suggestion[] =
    word !== null
      ? valueSuggestions(word, text, props, done)
      : fuzzyFind(props.words, text, (candidate) => `${candidate.name} ${candidate.hint}`).map(({ item }) => ({
          text: item.name,
          hint: item.hint,
          choose: () => {
            typed.value = `${item.name}:`;
            active.value = 0;
            input.current?.focus();
          },
        }));
  const chosen = Math.min(active.value, suggestions.length - 1);

  const press = (event: KeyboardEvent) => {
    if (event.key === "Backspace" && typed.value === "") {
      const last = readChips(place.value.query, props.words).at(-1);
      if (last !== undefined) setQuery({ [last.word]: null, cursor: null });
      return;
    }
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined) {
      isOpen.value = true;
      active.value = (chosen + step + suggestions.length) % Math.max(1, suggestions.length);
    } else if (event.key === "Enter" && isOpen.value) suggestions[chosen]?.choose();
    else if (event.key === "Escape" && isOpen.value) isOpen.value = false;
    else return;
    event.preventDefault();
  };
  useKeys([{ keys: "f", does: texts.keys.filter, group: texts.keys.groups.list, run: () => input.current?.focus() }]);

  const chips = readChips(place.value.query, props.words);
  return (
    <div class="filter-bar" role="search" aria-label={texts.filter.label}>
      <Icon name="filter" />
      {chips.map((chip) => (
        <span class="chip" key={chip.word}>
          <span class="word">{chip.word}</span>
          <button type="button" class="clip" onClick={() => ((typed.value = `${chip.word}:`), (isOpen.value = true), input.current?.focus())}>
            {chip.values.join(", ")}
          </button>
          <button type="button" aria-label={texts.filter.remove(chip.word)} onClick={() => setQuery({ [chip.word]: null, cursor: null })}>
            <Icon name="close" size={12} />
          </button>
        </span>
      ))}
      <div class="filter-input">
        <input
          ref={input}
          type="text"
          role="combobox"
          aria-label={texts.filter.hint}
          aria-expanded={isOpen.value}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={isOpen.value && chosen >= 0 ? `${listId}-${chosen}` : undefined}
          placeholder={texts.filter.hint}
          autocomplete="off"
          spellcheck={false}
          value={typed.value}
          onInput={(event) => {
            typed.value = event.currentTarget.value;
            active.value = 0;
            isOpen.value = true;
          }}
          onFocus={() => {
            isOpen.value = true;
            props.prepare?.();
          }}
          onBlur={() => (isOpen.value = false)}
          onKeyDown={press}
        />
        {isOpen.value && suggestions.length > 0 && (
          <div class="suggestions" role="listbox" tabIndex={-1} id={listId} aria-label={texts.filter.suggestions} onMouseDown={(event) => event.preventDefault()}>
            {suggestions.map((suggestion, index) => (
              <div class="option" role="option" key={suggestion.text} id={`${listId}-${index}`} aria-selected={index === chosen} onClick={suggestion.choose}>
                <span class={word === null ? "mono" : "clip"}>{suggestion.text}</span>
                <span class="end clip">{suggestion.count === undefined ? suggestion.hint : formatCount(suggestion.count)}</span>
              </div>
            ))}
          </div>
        )}
      </div>
      {chips.length > 1 && (
        <button type="button" class="button plain" onClick={() => setQuery({ ...Object.fromEntries(chips.map((chip) => [chip.word, null])), cursor: null })}>
          {texts.filter.clear}
        </button>
      )}
    </div>
  );
}
