// One connector: its state on this node, breakers, token, last calls and masked configuration, with its test.

import { useSignal } from "@preact/signals";
import { act, api, read } from "../../api/client.ts";
import { isAbsent, readConnectorCalls } from "../../api/node.ts";
import type { ConnectorCall, ConnectorCalls } from "../../api/node-types.ts";
import type { Connector } from "../../api/types.ts";
import { shellQuote } from "../../core/format.ts";
import { useKeys } from "../../core/keys.ts";
import { liveNode } from "../../core/live-store.ts";
import { useLoad } from "../../core/load.ts";
import { href } from "../../core/router.ts";
import { formatDuration, now } from "../../core/time.ts";
import { texts } from "../../texts.ts";
import { Absent } from "../../ui/absent.tsx";
import { Button } from "../../ui/button.tsx";
import { Callout, CommandLine, Empty, Facts, LoadProblem, LoadState, Panel, Prose, ViewBody, ViewHead } from "../../ui/content.tsx";
import { Dependents } from "../../ui/dependents.tsx";
import { ask } from "../../ui/dialog.tsx";
import { JsonTree } from "../../ui/json.tsx";
import { Moment } from "../../ui/moment.tsx";
import { Status } from "../../ui/status.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import type { ViewProps } from "../registry.ts";
import { type Breaker, endsSoon, readBreakers } from "./breakers.ts";

const t = texts.connectors;

const EVERY = 5000;
const EVERY_CALLS = 3000;

interface Probe {
  reachable: boolean;
  supported: boolean;
  probe: string;
  error?: string;
}

function Outcome({ call }: { call: ConnectorCall }) {
  if (call.ok) return <Status of="ok" text={t.ok} />;
  const word = call.http_status === null ? (call.code ?? texts.status["error"] ?? "") : t.status(call.http_status);
  return (
    <span title={call.code ?? undefined}>
      <Status of={call.code === "circuit_open" ? "open" : "failed"} text={word} />
    </span>
  );
}

const COLUMNS: readonly Column<ConnectorCall>[] = [
  { name: "outcome", title: t.callColumns.outcome, width: "150px", cell: (call) => <Outcome call={call} /> },
  { name: "target", title: t.callColumns.target, cell: (call) => (call.target === null ? <span class="faint">–</span> : <code title={call.target}>{call.target}</code>) },
  { name: "channel", title: t.callColumns.channel, width: "170px", rank: 2, cell: (call) => <span title={call.channel}>{call.channel}</span> },
  { name: "function", title: t.callColumns.function, width: "110px", rank: 3, cell: (call) => <code>{call.function}</code> },
  { name: "attempts", title: t.callColumns.attempts, width: "84px", rank: 3, isNumber: true, cell: (call) => call.attempts },
  { name: "took", title: t.callColumns.took, width: "84px", isNumber: true, cell: (call) => formatDuration(call.ms) },
  { name: "ended", title: t.callColumns.ended, width: "96px", rank: 2, isNumber: true, cell: (call) => <Moment at={call.ended_at} as="distance" /> },
];

function askForReset(breaker: Pick<Breaker, "key" | "channel">, done: () => void): void {
  const node = liveNode.value?.id;
  const params = { path: { key: breaker.key }, query: (node === undefined ? {} : { node }) };
  ask({
    title: `${t.reset}: ${breaker.key}`,
    text: t.resetText(breaker.channel),
    confirm: t.reset,
    run: () => act(t.resetDone, api.POST("/api/v1/admin/connectors/circuit-breakers/{key}", { params })).then(done),
  });
}

interface BreakersProps {
  breakers: readonly Pick<Breaker, "key" | "channel" | "state">[];
  /** Hosts whose addresses messages compute; they heal by themselves alone. */
  hosts: readonly { host: string; state: string }[];
  isOn: boolean;
  reload: () => void;
}

function Breakers({ breakers, hosts, isOn, reload }: BreakersProps) {
  return (
    <Panel title={t.breakers} flush>
      {breakers.length + hosts.length === 0 ? (
        <p class="panel-body muted">
          <Prose text={isOn ? t.noBreakers : t.breakersOff} />
        </p>
      ) : (
        <ul class="connectors-breakers">
          {breakers.map((breaker) => (
            <li key={breaker.key} class="row">
              <Status of={breaker.state} text={breaker.state.replaceAll("_", " ")} />
              <span class="clip grow">{breaker.channel}</span>
              {breaker.state !== "closed" && (
                <Button acts onClick={() => askForReset(breaker, reload)}>
                  {t.reset}
                </Button>
              )}
            </li>
          ))}
          {hosts.map(({ host, state }) => (
            <li key={`host ${host}`} class="row">
              <Status of={state} text={state.replaceAll("_", " ")} />
              <code class="clip grow">{host}</code>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Token({ token }: { token: NonNullable<ConnectorCalls["token"]> }) {
  if (token.expires_at === null) return <span class="muted">{t.tokenNone}</span>;
  return (
    <span class="row">
      <Status of={endsSoon(token.expires_at, now.value) ? "degraded" : "ok"} text={t.tokenEnds} /> <Moment at={token.expires_at} as="distance" />
    </span>
  );
}

function askForStatus(connector: Connector, done: () => void): void {
  const params = { path: { id: connector.id } };
  const status = connector.enabled ? ("archived" as const) : ("active" as const);
  ask({
    title: `${connector.enabled ? t.disable : t.enable}: ${connector.name}`,
    text: connector.enabled ? t.disableText : t.enableText,
    confirm: connector.enabled ? t.disable : t.enable,
    isDanger: connector.enabled,
    run: () => act(connector.enabled ? t.disabled : t.enabled, api.PATCH("/api/v1/admin/connectors/{id}/status", { params, body: { status } })).then(done),
  });
}

/** The view of a connector. */
export default function ConnectorView({ parameters }: ViewProps) {
  const id = parameters["id"] ?? "";
  const params = { path: { id } };
  const probe = useSignal<Probe | null>(null);
  const loaded = useLoad(`connector ${id}`, (signal) => read(api.GET("/api/v1/admin/connectors/{id}", { params, signal })), { every: EVERY });
  const map = useLoad("breakers", (signal) => read(api.GET("/api/v1/admin/connectors/circuit-breakers", { signal })), { every: EVERY });
  const calls = useLoad(`calls ${id}`, (signal) => readConnectorCalls(id, signal), { every: EVERY_CALLS });
  const reload = () => {
    loaded.reload();
    map.reload();
    calls.reload();
  };
  useKeys([{ keys: "r", does: texts.keys.reload, group: texts.keys.groups.view, run: reload }]);
  const parents = [{ text: texts.views.connectors, to: href("/connectors") }];
  const connector = loaded.data?.data;
  if (connector === undefined) {
    return (
      <>
        <ViewHead title={texts.views.connector} parents={parents} />
        <ViewBody><LoadState of={loaded} lines={5} /></ViewBody>
      </>
    );
  }
  const test = async () => {
    const { body } = await act(t.testing, api.POST("/api/v1/admin/connectors/{id}/test", { params }));
    probe.value = body.data;
    calls.reload();
  };
  const { pool, token } = calls.data ?? {};
  const known = calls.data?.breakers ?? readBreakers(map.data?.data.breakers ?? {}, [connector.name]).filter((breaker) => breaker.connector === connector.name);
  const state = connector.load_status ?? "unknown";
  return (
    <>
      <ViewHead title={connector.name} parents={parents} note={<Status of={state} text={t.states[state] ?? state} />}>
        <Button icon="play" acts onClick={test}>
          {t.test}
        </Button>
        <Button icon={connector.enabled ? "pause" : "play"} acts onClick={() => askForStatus(connector, loaded.reload)}>
          {connector.enabled ? t.disable : t.enable}
        </Button>
      </ViewHead>
      <ViewBody>
        {connector.load_error !== undefined && <Callout kind="bad">{t.notLoaded(connector.load_error_stage ?? "", connector.load_error)}</Callout>}
        {token?.error != null && <Callout kind="warn">{t.tokenFailed(token.error)}</Callout>}
        {probe.value !== null && (
          <Callout {...(probe.value.reachable || !probe.value.supported ? { kind: "run" as const } : { kind: "bad" as const })} role="status">
            {!probe.value.supported ? t.unsupported : `${probe.value.reachable ? t.reachable : t.unreachable} (${probe.value.probe})`}
            {probe.value.error !== undefined && <p class="breaks">{probe.value.error}</p>}
          </Callout>
        )}
        <div class="grid">
          <Panel title={t.facts} note={calls.data && <span class="faint clip">{t.ofNode(calls.data.node)}</span>}>
            <Facts
              facts={[
                [t.id, <code class="breaks">{connector.id}</code>],
                [t.type, connector.connector_type],
                [
                  t.actor,
                  pool && (
                    <a class="link" href={href("/actors", { actor: pool.actor })}>
                      {pool.actor}
                    </a>
                  ),
                ],
                [t.inFlight, pool && t.calls(pool.in_flight, pool.bound, pool.high_water)],
                [t.token, token && <Token token={token} />],
                [t.tags, connector.tags.length === 0 ? null : connector.tags.join(", ")],
                [t.updated, <Moment at={connector.updated_at} as="full" />],
                [t.hash, <code class="breaks">{connector.content_hash.slice(0, 23)}</code>],
              ]}
            />
          </Panel>
          <Breakers breakers={known} hosts={(map.data?.data.hosts ?? []).filter((row) => row.connector === connector.name)} isOn={map.data?.data.enabled !== false} reload={reload} />
        </div>
        <Panel title={t.lastCalls} flush>
          {calls.data === undefined && calls.problem !== undefined ? (
            isAbsent(calls.problem) ? <Absent what={t.callsName} command={`svc-cli connectors get ${shellQuote(id)}`} /> : <LoadProblem of={calls} />
          ) : (
            <Table
              label={t.lastCalls}
              rows={calls.data?.calls ?? []}
              rowKey={(call) => `${call.ended_at} ${call.channel} ${call.target} ${call.ms}`}
              columns={COLUMNS}
              isLoading={calls.isLoading}
              isFree
              empty={<Empty icon="connectors" text={t.noCalls} command={`svc-cli connectors calls ${shellQuote(id)}`} />}
            />
          )}
        </Panel>
        <Dependents kind="connector" id={id} />
        <Panel title={t.config}>{connector.config === null ? <p class="bad">{t.noConfig}</p> : <JsonTree label={t.config} value={connector.config} />}</Panel>
        <CommandLine command={`svc-cli connectors calls ${shellQuote(id)}`} />
      </ViewBody>
    </>
  );
}
