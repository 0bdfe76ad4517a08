// Builds `dist`: hashed assets, their compressed forms, the page and the licences. Two builds are byte-equal.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";
import { minify } from "terser";
import { collectLicences } from "./licences.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");

/** Adds the style sheet of every view to the one style sheet of the page, so that a view is a folder and nothing more. */
const viewStyles = {
  name: "view-styles",
  setup(plugin) {
    plugin.onResolve({ filter: /^view-styles$/ }, () => ({ path: "view-styles", namespace: "view-styles" }));
    plugin.onLoad({ filter: /.*/, namespace: "view-styles" }, () => {
      const views = join(root, "src", "views");
      const names = readdirSync(views, { withFileTypes: true }).filter((entry) => entry.isDirectory());
      const sheets = names.map((entry) => `./${entry.name}/style.css`).sort();
      const present = sheets.filter((sheet) => existsSync(join(views, sheet)));
      return {
        contents: present.map((sheet) => `@import ${JSON.stringify(sheet)};`).join("\n"),
        loader: "css",
        resolveDir: views,
      };
    });
  },
};

/** The registry of the views, whose imports are joined. */
const REGISTRY = /views[\\/]registry\.ts$/;
/** The view that most people see first; it comes with the start of the page. */
const FIRST = "./now/index.tsx";
/** The view of the editor has a file of its own, which is loaded with the editor alone. */
const EDITOR = /^\.\/editor\//;

/**
 * Puts the views into one file: alike as they are, they take much less room together. The views and the editor use the
 * start as well, so that what they share is not divided into files by who uses it.
 */
const joinedViews = {
  name: "joined-views",
  setup(plugin) {
    const paths = new Set();
    plugin.onLoad({ filter: REGISTRY }, ({ path }) => {
      const text = readFileSync(path, "utf8").replaceAll(/import\("(\.\/[^"]+)"\)/g, (whole, view) => {
        if (EDITOR.test(view)) return whole;
        if (view === FIRST) return "Promise.resolve(first)";
        paths.add(view);
        return `import("joined-views").then((views) => views[${JSON.stringify(view)}])`;
      });
      return { contents: `import * as first from ${JSON.stringify(FIRST)};\n${text}`, loader: "ts" };
    });
    plugin.onLoad({ filter: /views[\\/]editor[\\/]index\.tsx$/ }, ({ path }) => ({ contents: `import "joined-views";\n${readFileSync(path, "utf8")}`, loader: "tsx" }));
    plugin.onResolve({ filter: /^joined-views$/ }, () => ({ path: "joined-views", namespace: "joined-views" }));
    plugin.onLoad({ filter: /.*/, namespace: "joined-views" }, () => ({
      contents: ['import "../main.tsx";', ...[...paths].sort().map((view) => `export * as ${JSON.stringify(view)} from ${JSON.stringify(view)};`)].join("\n"),
      loader: "js",
      resolveDir: join(root, "src", "views"),
    }));
  },
};

function hashOf(bytes) {
  return createHash("sha256").update(bytes).digest("base64url").replaceAll(/[-_]/g, "").slice(0, 8);
}

function writeCompressed(path, bytes) {
  writeFileSync(path, bytes);
  const parameters = {
    [constants.BROTLI_PARAM_QUALITY]: 11,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: parameters }));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}

/** Returns the assets that an output loads at once, itself included. */
function staticImports(outputs, entry, found = new Set()) {
  if (found.has(entry)) return found;
  found.add(entry);
  for (const imported of outputs[entry].imports) {
    if (imported.kind === "import-statement") staticImports(outputs, imported.path, found);
  }
  return found;
}

rmSync(dist, { recursive: true, force: true });
mkdirSync(join(dist, "assets"), { recursive: true });

/** The editor keeps the names that it has: it is large, and has room. */
const EDITOR_CORE = /editor-core-[^/]*$/;

/** Names of the same kind are reused in every scope, by which a script takes 4 % less room than with those of esbuild. */
async function shorten(text) {
  const { code } = await minify(text, { module: true, ecma: 2020, compress: true, mangle: true });
  return Buffer.from(code);
}
const { version: shortener } = JSON.parse(readFileSync(join(root, "node_modules", "terser", "package.json"), "utf8"));

const result = await build({
  absWorkingDir: root,
  entryPoints: { main: "src/main.tsx", style: "src/styles/index.css" },
  outdir: "dist",
  entryNames: "assets/[name]-[hash]",
  chunkNames: "assets/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  target: ["es2022", "chrome123", "firefox128", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  // A part of the hashed names: another version may write other bytes.
  banner: { js: `/* terser ${shortener} */` },
  charset: "utf8",
  metafile: true,
  write: false,
  plugins: [viewStyles, joinedViews],
  logLevel: "warning",
});

for (const file of result.outputFiles) writeCompressed(file.path, file.path.endsWith(".js") && !EDITOR_CORE.test(file.path) ? await shorten(file.text) : Buffer.from(file.contents));

const { outputs } = result.metafile;
const entryOf = (source) => Object.keys(outputs).find((name) => outputs[name].entryPoint === source);
const script = entryOf("src/main.tsx");
const style = entryOf("src/styles/index.css");
const icon = readFileSync(join(root, "src", "icon.svg"));
const iconName = `assets/icon-${hashOf(icon)}.svg`;
writeCompressed(join(dist, iconName), icon);

const address = (name) => `__BASE__/${name.replace(/^dist\//, "")}`;
const preloaded = [...staticImports(outputs, script)].filter((name) => name !== script).sort();
const page = readFileSync(join(root, "src", "index.html"), "utf8")
  .replace("{{icon}}", `__BASE__/${iconName}`)
  .replace("{{style}}", address(style))
  .replace("{{script}}", address(script))
  .replace(
    "{{preloads}}",
    preloaded.map((name) => `<link rel="modulepreload" href="${address(name)}">`).join("\n"),
  );
// The server fills in the mount path, so the page has no compressed form.
writeFileSync(join(dist, "index.html"), page);
writeFileSync(join(dist, "LICENSES.txt"), collectLicences(root, Object.keys(result.metafile.inputs)));
mkdirSync(join(root, "node_modules", ".cache"), { recursive: true });
writeFileSync(join(root, "node_modules", ".cache", "console-build.json"), JSON.stringify(result.metafile));
