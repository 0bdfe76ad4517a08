// The editor itself: CodeMirror with the colours of the console. Import it by `import()` only.

import { autocompletion, type CompletionContext, type CompletionResult, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, forceLinting, linter, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension, StateEffect, Transaction } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** Something wrong in a text, by the places of its first and last character. */
export interface EditorFinding {
  from: number;
  to: number;
  severity: "error" | "warning" | "info";
  message: string;
}

/** What an editor is made with. */
export interface EditorOptions {
  label: string;
  value: string;
  onChange?: (text: string) => void;
  compareWith?: string;
  assist?: {
    complete?: (context: CompletionContext) => CompletionResult | null | Promise<CompletionResult | null>;
    /** Returns the hint for a place of the text. */
    hint?: (text: string, place: number) => { from: number; to: number; text: string } | null;
  };
}

/** An editor on the page. */
export interface EditorHandle {
  setValue: (text: string) => void;
  setFindings: (findings: readonly EditorFinding[]) => void;
  /** Puts the cursor at a place and brings it in sight. */
  reveal: (place: number) => void;
  destroy: () => void;
}

const checkSyntax = jsonParseLinter();

const newFindings = StateEffect.define<null>();

/** What is wrong in the texts of editors; the check of the syntax shows it with its own findings. */
const found = new WeakMap<EditorView, readonly Diagnostic[]>();

/** Width in pixels from which a comparison has two columns. */
const TWO_COLUMNS = 900;

const look = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--surface)", color: "var(--text)", fontSize: "12px" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--accent)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--text-3)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft)",
  },
  ".cm-panels, .cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--active)", color: "var(--text)" },
  ".cm-tooltip.cm-tooltip-hover": { padding: "6px 10px", maxWidth: "420px" },
  ".cm-textfield": { backgroundColor: "var(--raised)", border: "1px solid var(--control-line)" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--raised)", border: "1px solid var(--line-strong)" },
  ".cm-changedLine, .cm-insertedLine": { backgroundColor: "var(--ok-soft) !important" },
  ".cm-deletedChunk, &.cm-merge-a .cm-changedLine": { backgroundColor: "var(--bad-soft) !important" },
  ".cm-changedText": { background: "color-mix(in oklab, var(--ok) 24%, transparent) !important" },
  ".cm-deletedText, &.cm-merge-a .cm-changedText": { background: "color-mix(in oklab, var(--bad) 24%, transparent) !important" },
  ".cm-collapsedLines": { background: "var(--sunken)", color: "var(--text-2)" },
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: "''" },
});

const frame = ":host{display:block;height:100%}.cm-mergeView,.cm-mergeViewEditors,.cm-editor{height:100%}";

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--text)" },
  { tag: tags.string, color: "var(--ok)" },
  { tag: tags.number, color: "var(--run)" },
  { tag: [tags.bool, tags.null], color: "var(--wait)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

function hints(assist: EditorOptions["assist"]): Extension {
  const hint = assist?.hint;
  if (hint === undefined) return [];
  return hoverTooltip((view, place) => {
    const found = hint(view.state.doc.toString(), place);
    if (found === null) return null;
    return {
      pos: found.from,
      end: found.to,
      create: () => {
        const dom = document.createElement("div");
        dom.textContent = found.text;
        return { dom };
      },
    };
  });
}

function extensionsOf(options: EditorOptions): Extension[] {
  const { onChange, assist } = options;
  const reading: Extension[] = [
    lineNumbers(), foldGutter(), highlightSpecialChars(), drawSelection(), bracketMatching(), search({ top: true }), highlightSelectionMatches(),
    json(), look, syntaxHighlighting(colours), EditorView.lineWrapping, lintGutter(), hints(assist),
    EditorView.contentAttributes.of({ "aria-label": options.label, tabindex: "0" }),
  ];
  if (onChange === undefined) {
    return [...reading, EditorState.readOnly.of(true), keymap.of([...defaultKeymap, ...searchKeymap, ...foldKeymap])];
  }
  return [
    ...reading,
    history(), indentOnInput(), highlightActiveLine(), linter((view) => [...checkSyntax(view), ...(found.get(view) ?? [])], {
      delay: 300,
      needsRefresh: (update) => update.transactions.some((transaction) => transaction.effects.some((effect) => effect.is(newFindings))),
    }),
    autocompletion(assist?.complete === undefined ? {} : { override: [assist.complete] }),
    keymap.of([...completionKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap, indentWithTab]),
    EditorView.updateListener.of((update) => {
      const isByPerson = update.transactions.some((transaction) => transaction.annotation(Transaction.userEvent) !== undefined);
      if (update.docChanged && isByPerson) onChange(update.state.doc.toString());
    }),
  ];
}

/** Makes an editor in a shadow root. */
export function mountEditor(root: ShadowRoot, options: EditorOptions): EditorHandle {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(frame);
  root.adoptedStyleSheets = [sheet];
  root.replaceChildren();
  const extensions = extensionsOf(options);
  const { compareWith, value } = options;
  const width = root.host.clientWidth;
  if (compareWith !== undefined && width >= TWO_COLUMNS) {
    const readOnly = extensionsOf({ label: options.label, value: compareWith });
    const merge = new MergeView({
      a: { doc: compareWith, extensions: readOnly },
      b: { doc: value, extensions },
      parent: root,
      root,
      collapseUnchanged: { margin: 3, minSize: 6 },
    });
    return handleOf(merge.b, () => merge.destroy());
  }
  const unified = compareWith === undefined ? [] : unifiedMergeView({ original: compareWith, mergeControls: false });
  const view = new EditorView({ doc: value, extensions: [...extensions, unified], parent: root, root });
  return handleOf(view, () => view.destroy());
}

function handleOf(view: EditorView, destroy: () => void): EditorHandle {
  return {
    destroy,
    setValue: (text) => {
      const old = view.state.doc.toString();
      if (text !== old) view.dispatch({ changes: { from: 0, to: old.length, insert: text } });
    },
    reveal: (place) => {
      const anchor = Math.min(place, view.state.doc.length);
      view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
      view.focus();
    },
    setFindings: (findings) => {
      const end = view.state.doc.length;
      const diagnostics = findings.map((finding): Diagnostic => ({
        ...finding,
        from: Math.min(finding.from, end),
        to: Math.min(finding.to, end),
      }));
      found.set(view, diagnostics);
      if (view.state.readOnly) view.dispatch(setDiagnostics(view.state, diagnostics));
      else {
        view.dispatch({ effects: newFindings.of(null) });
        forceLinting(view);
      }
    },
  };
}
