// Builds the pages' scripts and style sheets. `node build.mjs FOLDER` writes them elsewhere than beside the Python code.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "..", "src", "anyformer", "explorer", "asset");
const shared = { bundle: true, minify: true, charset: "utf8", legalComments: "none", logLevel: "warning" };

// A page each: its script and its style sheet, which may take in parts of the other's.
const pages = { explorer: ["main.ts", "page.css"], contexts: ["contexts_page.ts", "contexts_page.css"] };
for (const [name, [script, style]] of Object.entries(pages)) {
  await build({
    ...shared,
    entryPoints: [join(here, "src", script)],
    outfile: join(out, `${name}.js`),
    format: "iife",
    target: "es2022",
  });
  await build({ ...shared, entryPoints: [join(here, "src", style)], outfile: join(out, `${name}.css`) });
}

// Without Node, tests compare this with the sources as they are.
const sources = ["package.json", "build.mjs", ...readdirSync(join(here, "src")).sort().map((name) => `src/${name}`)];
const digest = createHash("sha256");
for (const name of sources) digest.update(name).update("\0").update(readFileSync(join(here, name))).update("\0");
writeFileSync(join(out, "sources.sha256"), digest.digest("hex") + "\n");
