// A request to try against the guards of a channel: it is signed in the page, takes nothing, and runs nothing.

import type { ComponentChildren } from "preact";
import { signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { isAbsent, tryRequest } from "../../api/node.ts";
import { apiRoot } from "../../api/client.ts";
import type { GuardTrialResult } from "../../api/node-types.ts";
import { asProblem, type ApiProblem } from "../../api/problem.ts";
import type { Channel } from "../../api/types.ts";
import { shellQuote } from "../../core/format.ts";
import { texts } from "../../texts.ts";
import { Button } from "../../ui/button.tsx";
import { Callout, Panel, ProblemBox } from "../../ui/content.tsx";
import { Absent } from "../../ui/absent.tsx";
import { Status } from "../../ui/status.tsx";
import { type AuthBlock, canSign, credentialHeader, type Headers, PRESETS, presetScheme, readHeaders, schemeOf, signRequest } from "./sign.ts";

const t = texts.refusals;

/** The way in which a request is signed: as the channel says, by a preset, or not at all. */
const AS_CHANNEL = "channel";
const UNSIGNED = "none";

const LOOKS: Record<string, string> = { passed: "ok", refused: "failed", unchecked: "pending", not_met: "skipped" };

interface Draft {
  method: string;
  path: string;
  headers: string;
  body: string;
  by: string;
  secret: string;
}

const dataPath = (channel: Channel): string => `/api/v1/data${channel.route_pattern ?? `/${encodeURIComponent(channel.name)}`}`;

const draftOf = (channel: Channel): Draft => ({
  method: channel.methods?.[0] ?? "POST",
  path: dataPath(channel),
  headers: "content-type: application/json",
  body: "{}",
  by: AS_CHANNEL,
  secret: "",
});

const authOf = (channel: Channel): AuthBlock | undefined => channel.config["auth"] as AuthBlock | undefined;

/** Returns the headers of the request with its credential. */
async function buildHeaders(channel: Channel, draft: Draft): Promise<Headers> {
  const { headers } = readHeaders(draft.headers);
  if (draft.by === UNSIGNED || draft.secret === "") return headers;
  const auth = authOf(channel);
  const scheme = draft.by === AS_CHANNEL ? schemeOf(auth) : presetScheme(draft.by);
  if (scheme === null) return { ...headers, ...credentialHeader(auth, draft.secret) };
  return signRequest(scheme, draft.secret, headers, draft.body, Math.floor(Date.now() / 1000));
}

function curlOf(draft: Draft, headers: Headers): string {
  const parts = Object.entries(headers).map(([name, value]) => `-H ${shellQuote(`${name}: ${value}`)}`);
  const body = draft.method === "GET" || draft.body === "" ? [] : [`--data-binary ${shellQuote(draft.body)}`];
  return ["curl -i", `-X ${draft.method}`, shellQuote(apiRoot + draft.path), ...parts, ...body].join(" ");
}

function Verdict({ result }: { result: GuardTrialResult }) {
  const { refusal } = result;
  return (
    <div class="stack" role="status">
      {refusal === null ? (
        <Callout kind="run" icon="check">
          {t.admitted}
        </Callout>
      ) : (
        <Callout kind="bad">
          <p>
            <strong>{t.wouldBe(refusal.status, refusal.guard)}</strong> {refusal.explanation}
          </p>
          <p class="muted">
            <code>{refusal.reason}</code> · {t.callerSees} <code>{refusal.code}</code> {refusal.message}
          </p>
        </Callout>
      )}
      <ol class="refusals-guards">
        {result.guards.map((guard) => (
          <li key={guard.guard} class="row wraps">
            <Status of={LOOKS[guard.result] ?? "pending"} text={t.results[guard.result] ?? guard.result} />
            <code>{guard.guard}</code>
            {guard.note && <span class="muted breaks">{guard.note}</span>}
          </li>
        ))}
      </ol>
      <p class="faint breaks">{t.byNode(result.node)}</p>
    </div>
  );
}

function Field({ id, label, children }: { id: string; label: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
    </div>
  );
}

/** The form of a request to try, and the verdict. */
export function Trial({ channel, done }: { channel: Channel; done: () => void }) {
  const draft = useMemo(() => signal(draftOf(channel)), [channel.channel_id]);
  const result = useSignal<GuardTrialResult | null>(null);
  const problem = useSignal<ApiProblem | null>(null);
  const auth = authOf(channel);
  const mode = typeof auth?.["mode"] === "string" ? auth["mode"] : null;
  const change = (changes: Partial<Draft>) => void (draft.value = { ...draft.value, ...changes });
  const { method, path, headers, body, by, secret } = draft.value;
  const { wrong } = readHeaders(headers);
  const signs = by !== UNSIGNED && (by !== AS_CHANNEL || mode === "hmac");
  const reason = wrong !== null ? t.wrongHeader(wrong) : signs && secret !== "" && !canSign() ? t.cannotSign : null;

  const run = async () => {
    problem.value = null;
    try {
      const built = await buildHeaders(channel, draft.value);
      const { body: answer } = await tryRequest(channel.channel_id, { method, path, headers: built, ...(body === "" ? {} : { body }) }, t.tried);
      result.value = answer.data;
      done();
    } catch (thrown) {
      result.value = null;
      problem.value = asProblem(thrown);
    }
  };
  const copy = async () => {
    await navigator.clipboard.writeText(curlOf(draft.value, await buildHeaders(channel, draft.value)));
  };
  const secretLabel = signs ? t.secret : mode === "jwt" ? t.token : t.key;
  return (
    <Panel title={t.try} note={<span class="faint clip">{t.tryNote}</span>}>
      <div class="refusals-trial">
        <form
          class="stack refusals-form"
          onSubmit={(event) => {
            event.preventDefault();
          }}
        >
          <div class="row refusals-line">
            <Field id="try-method" label={t.method}>
              <select id="try-method" class="input" value={method} onChange={(event) => change({ method: event.currentTarget.value })}>
                {["GET", "POST", "PUT", "PATCH", "DELETE"].map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </Field>
            <Field id="try-path" label={t.path}>
              <input id="try-path" class="input mono" spellcheck={false} value={path} onInput={(event) => change({ path: event.currentTarget.value })} />
            </Field>
          </div>
          <Field id="try-headers" label={t.headers}>
            <textarea id="try-headers" class="input" rows={3} spellcheck={false} value={headers} onInput={(event) => change({ headers: event.currentTarget.value })} />
          </Field>
          <Field id="try-body" label={t.body}>
            <textarea id="try-body" class="input" rows={5} spellcheck={false} value={body} onInput={(event) => change({ body: event.currentTarget.value })} />
          </Field>
          <div class="row refusals-line">
            <Field id="try-by" label={t.by}>
              <select id="try-by" class="input" value={by} onChange={(event) => change({ by: event.currentTarget.value })}>
                <option value={AS_CHANNEL}>{mode === null ? t.noAuth : t.asChannel(mode)}</option>
                {Object.keys(PRESETS).map((name) => (
                  <option key={name} value={name}>
                    {t.preset(name)}
                  </option>
                ))}
                <option value={UNSIGNED}>{t.unsigned}</option>
              </select>
            </Field>
            <Field id="try-secret" label={secretLabel}>
              <input
                id="try-secret"
                class="input mono"
                type="password"
                autocomplete="off"
                disabled={by === UNSIGNED || (by === AS_CHANNEL && mode === null)}
                value={secret}
                onInput={(event) => change({ secret: event.currentTarget.value })}
              />
            </Field>
          </div>
          <p class="muted">{signs ? t.secretStays : t.credentialGoes}</p>
          <div class="row wraps">
            <Button type="submit" kind="primary" icon="play" acts disabled={reason} onClick={run}>
              {t.run}
            </Button>
            <Button icon="copy" disabled={reason} onClick={copy}>
              {t.copyCurl}
            </Button>
          </div>
        </form>
        <div class="stack">
          {problem.value !== null && (isAbsent(problem.value) ? <Absent what={t.trialName} /> : <ProblemBox problem={problem.value} />)}
          {result.value !== null && <Verdict result={result.value} />}
          {result.value === null && problem.value === null && <p class="muted">{t.tryHint}</p>}
        </div>
      </div>
    </Panel>
  );
}
