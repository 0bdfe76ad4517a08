// Findings of the service about a definition: the messages of `lint`, with their places.

import { texts } from "../texts.ts";
import { Icon } from "./icons.tsx";

/** A finding. */
interface Finding {
  field: string;
  message: string;
}

/** The answer of a check, or of a dry run. */
export interface CheckReport {
  data: { valid: boolean; errors: readonly Finding[]; warnings: readonly Finding[] };
}

/** The findings of a check. */
export function IssueList({ report }: { report: CheckReport }) {
  const { errors = [], warnings = [] } = report.data;
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
