// The parts of a view: its head and body, panels, problems, empty states, commands.

import type { ComponentChildren } from "preact";
import type { ApiProblem } from "../api/problem.ts";
import { fillPath, href } from "../core/router.ts";
import { texts } from "../texts.ts";
import { Button, CopyButton } from "./button.tsx";
import { Icon, type IconName } from "./icons.tsx";

/** A text in which what stands between backticks is code. */
export function Prose({ text }: { text: string }) {
  return <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}

/** The head of a view. `parents` are the views above it. */
export function ViewHead(props: {
  title: string;
  parents?: readonly { text: string; to: string }[];
  note?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <header class="view-head">
      <div class="crumbs">
        {props.parents?.map((parent) => (
          <span class="row" key={parent.to}>
            <a href={parent.to}>{parent.text}</a>
            <span class="faint" aria-hidden="true">
              /
            </span>
          </span>
        ))}
        <h1 class="clip" tabIndex={-1} data-view-title>
          {props.title}
        </h1>
        {props.note}
      </div>
      <div class="actions">{props.children}</div>
    </header>
  );
}

/** The body of a view that scrolls as a whole. */
export function ViewBody({ children }: { children: ComponentChildren }) {
  return (
    <div class="view-body" tabIndex={-1}>
      <div class="column">{children}</div>
    </div>
  );
}

/** A part of a view with a title. */
export function Panel(props: { title: string; actions?: ComponentChildren; flush?: boolean; children: ComponentChildren; note?: ComponentChildren }) {
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>{props.title}</h2>
        {props.note}
        {props.actions && <div class="actions">{props.actions}</div>}
      </div>
      <div class={`panel-body${props.flush ? " flush" : ""}`}>{props.children}</div>
    </section>
  );
}

/** A message of importance within a view. */
export function Callout(props: { kind?: "bad" | "warn" | "run"; icon?: IconName; children: ComponentChildren; role?: "alert" | "status" }) {
  return (
    <div class={`callout ${props.kind ?? ""}`} role={props.role}>
      <Icon name={props.icon ?? (props.kind === undefined || props.kind === "run" ? "info" : "alert")} />
      <div class="grow breaks">{props.children}</div>
    </div>
  );
}

/** A refusal or failure of a request: message, places, code, request id. */
export function ProblemBox({ problem, retry }: { problem: ApiProblem; retry?: () => void }) {
  return (
    <Callout kind="bad" role="alert">
      <div class="row wraps">
        <div class="grow">
          <p>{problem.message}</p>
          {problem.details.map((detail) => (
            <p key={detail.path + detail.message}>
              <code>{detail.path}</code> {detail.message}
            </p>
          ))}
          <p class="muted">
            <code>{problem.code}</code>
            {problem.requestId !== null && (
              <>
                {" · "}
                <code>{texts.problem.request(problem.requestId)}</code>
              </>
            )}
            {problem.traceId !== null && (
              <>
                {" · "}
                <a class="link" href={href(fillPath("/runs/:id", { id: problem.traceId }))}>
                  {texts.problem.trace}
                </a>
              </>
            )}
          </p>
        </div>
        {retry && <Button onClick={retry}>{texts.page.retry}</Button>}
      </div>
    </Callout>
  );
}

/** What is read for a view, as `useLoad` and `usePages` return it. */
export interface Readable {
  data?: unknown;
  problem: ApiProblem | undefined;
  isLoading: boolean;
  reload: () => void;
}

/** The failure to read something, with a button to try again; nothing while it can be read. */
export function LoadProblem({ of: read }: { of: Readable }) {
  return read.problem === undefined ? null : <ProblemBox problem={read.problem} retry={read.reload} />;
}

/** The place of what has not been read: the failure to read it, or its lines until it comes. */
export function LoadState({ of: read, lines }: { of: Readable; lines: number }) {
  return read.problem === undefined ? <Skeleton lines={lines} /> : <LoadProblem of={read} />;
}

/** A command to type, with a button to copy it. */
export function CommandLine({ command }: { command: string }) {
  return (
    <div class="command">
      <code tabIndex={0}>{command}</code>
      <CopyButton text={command} />
    </div>
  );
}

/** What is shown where there is nothing to show: why, and the command that helps. */
export function Empty(props: { icon?: IconName; text: string; hint?: ComponentChildren; command?: string | undefined }) {
  return (
    <div class="empty">
      <Icon name={props.icon ?? "empty"} size={28} />
      <p>{props.text}</p>
      {props.hint && <p class="muted">{typeof props.hint === "string" ? <Prose text={props.hint} /> : props.hint}</p>}
      {props.command && <CommandLine command={props.command} />}
    </div>
  );
}

/** The place of what is being read. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  const widths = ["72%", "48%", "60%", "35%", "66%"];
  return (
    <div class="stack" role="status" aria-label={texts.page.loading}>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} class="skeleton" style={{ width: widths[index % widths.length] }} />
      ))}
    </div>
  );
}

/** Facts as name and value. Those without a value are left out. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value || value === 0)
        .map(([name, value]) => [<dt key={`n-${name}`}>{name}</dt>, <dd key={`v-${name}`}>{value}</dd>])}
    </dl>
  );
}

/** A link to a workflow, at a version of it. */
export function WorkflowLink({ id, version }: { id: string; version: number | null | undefined }) {
  return (
    <a class="link" href={href(fillPath("/workflows/:id", { id }), version ? { version: String(version) } : {})}>
      {id} {version && `v${version}`}
    </a>
  );
}

/** A link to the list of runs of an id, or of a name. */
export function RunLink({ id, children }: { id: string; children?: ComponentChildren }) {
  return (
    <a class="link mono" href={href(fillPath("/runs/:id", { id }))}>
      {children ?? id}
    </a>
  );
}
