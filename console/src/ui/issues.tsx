// Findings of the service about a definition: the messages of `lint`, with their places.

import { texts } from "../texts.ts";
import { Icon } from "./icons.tsx";

/** A finding. */
interface Finding {
  field: string;
  message: string;
}

/** The findings of a check, or of a dry run. */
export interface CheckReport {
  errors: readonly Finding[];
  warnings: readonly Finding[];
}

/** Returns whether an answer is that of a check: what is changed is answered with the change. */
export const isReport = (data: object): data is CheckReport => "errors" in data && "warnings" in data;

/** The findings of a check. */
export function IssueList({ report: { data } }: { report: { data: object } }) {
  if (!isReport(data)) return null;
  const { errors, warnings } = data;
  if (errors.length + warnings.length === 0) return null;
  const line = (finding: Finding, kind: "bad" | "warn", index: number) => (
    <li key={`${kind} ${index}`} class={`finding ${kind}`}>
      <Icon name={kind === "bad" ? "alert" : "info"} />
      <span class="grow breaks">
        <span class="hidden-text">{kind === "bad" ? texts.definitions.error : texts.definitions.warning} </span>
        {finding.field !== "(root)" && <code>{finding.field}</code>} {finding.message}
      </span>
    </li>
  );
  return (
    <ul class="findings">
      {errors.map((finding, index) => line(finding, "bad", index))}
      {warnings.map((finding, index) => line(finding, "warn", index))}
    </ul>
  );
}
