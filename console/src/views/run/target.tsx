// The connector or the channel that a step called.

import { definitionNames } from "../../layout/names.ts";
import { useLoad } from "../../core/load.ts";
import { fillPath, href } from "../../core/router.ts";
import type { Step } from "./steps.ts";

/** The function whose target is a channel; that of any other is a connector. */
export const CHANNEL_CALL = "channel_call";

/** A link to what a step called, or its name if that is defined no more. */
export function TargetLink({ step }: { step: Pick<Step, "function" | "target"> }) {
  const names = useLoad(step.target === null ? null : "names of definitions", definitionNames);
  const isChannel = step.function === CHANNEL_CALL;
  const row = (isChannel ? names.data?.channels : names.data?.connectors)?.find(({ name }) => name === step.target);
  if (row === undefined) return <>{step.target}</>;
  return (
    <a class="link breaks" href={href(fillPath(isChannel ? "/channels/:id" : "/connectors/:id", { id: row.id }))}>
      {step.target}
    </a>
  );
}
