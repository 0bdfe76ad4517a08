// What is shown where the node is too old to answer.

import { texts } from "../texts.ts";
import { Empty } from "./content.tsx";

/** The state of a view, or of a part of it, whose endpoint the node does not have. `command` shows what else helps. */
export function Absent({ what, command }: { what: string; command?: string }) {
  return <Empty icon="info" text={texts.absent.text(what)} hint={texts.absent.hint} command={command} />;
}
