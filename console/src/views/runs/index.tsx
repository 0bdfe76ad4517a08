import { texts } from "../../texts.ts";
import { ViewBody, ViewHead } from "../../ui/content.tsx";

export default function View() {
  return (
    <>
      <ViewHead title={texts.views.runs} />
      <ViewBody>{null}</ViewBody>
    </>
  );
}
