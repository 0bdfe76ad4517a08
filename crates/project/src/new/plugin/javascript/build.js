// Makes plugin.wasm of plugin.js. With every feature off the component imports nothing, as a plugin must.
import { writeFile } from "node:fs/promises";
import { componentize } from "@bytecodealliance/componentize-js";

const { component, imports } = await componentize({
  sourcePath: "plugin.js",
  witPath: "wit/plugin.wit",
  worldName: "plugin",
  disableFeatures: ["stdio", "random", "clocks", "http", "fetch-event"],
});
if (imports.length > 0) {
  throw new Error(`the component imports ${JSON.stringify(imports)}`);
}
await writeFile("plugin.wasm", component);
