// Texts of a run to copy: requests for curl and commands for svc-cli. The key is a variable of the shell, never the key.

import type { Trace } from "../../api/types.ts";
import { shellQuote } from "../../core/format.ts";
import { texts } from "../../texts.ts";
import type { Timeline } from "./steps.ts";

/** A text to copy. */
export interface Copy {
  text: string;
  name: string;
}

const KEY = `-H "authorization: Bearer $SVC_ADMIN_KEY"`;
const JSON_TYPE = "-H 'content-type: application/json'";

/** Returns the texts of a run; `root` is the address of the service. */
export function copiesOf(trace: Trace, timeline: Timeline, root: string): Copy[] {
  const address = `${root}/api/v1/admin/traces/${encodeURIComponent(trace.id)}`;
  const copies: Copy[] = [
    { name: texts.runView.copies.cli, text: `svc-cli traces get ${trace.id}` },
    { name: texts.runView.copies.curl, text: `curl -s ${KEY} ${shellQuote(address)}` },
    { name: texts.runView.copies.cliRerun, text: `svc-cli traces rerun ${trace.id} --version same` },
    {
      name: texts.runView.copies.curlRerun,
      text: `curl -s ${KEY} ${JSON_TYPE} ${shellQuote(`${address}/rerun`)} -d '{"version":"same"}'`,
    },
  ];
  const payload = timeline.input?.payload;
  if (payload !== undefined && (trace.mode === "sync" || trace.mode === "async")) {
    const path = `${root}/api/v1/data/${encodeURIComponent(trace.channel)}${trace.mode === "async" ? "/async" : ""}`;
    const method = String(timeline.input?.request?.["http_method"] ?? "POST");
    const body = `${JSON_TYPE} -d ${shellQuote(JSON.stringify(payload))}`;
    copies.push({ name: texts.runView.copies.call, text: `curl -s -X ${shellQuote(method)} ${body} ${shellQuote(path)}` });
  }
  if (timeline.hasDetails) {
    copies.push({ name: texts.runView.copies.case, text: `svc-cli traces get ${trace.id} -o json | svc-cli case --from-trace -` });
  }
  copies.push({ name: texts.runView.copies.json, text: JSON.stringify(trace, null, 2) });
  return copies;
}
