// Builds the page's script and style sheet. `node build.mjs FOLDER` writes them elsewhere than beside the Python code.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "..", "src", "anyformer", "explorer", "asset");
const shared = { bundle: true, minify: true, charset: "utf8", legalComments: "none", logLevel: "warning" };

await build({
  ...shared,
  entryPoints: [join(here, "src", "main.ts")],
  outfile: join(out, "explorer.js"),
  format: "iife",
  target: "es2022",
});
await build({ ...shared, entryPoints: [join(here, "src", "page.css")], outfile: join(out, "explorer.css") });

// Without Node, tests compare this with the sources as they are.
const sources = ["package.json", "build.mjs", ...readdirSync(join(here, "src")).sort().map((name) => `src/${name}`)];
const digest = createHash("sha256");
for (const name of sources) digest.update(name).update("\0").update(readFileSync(join(here, name))).update("\0");
writeFileSync(join(out, "sources.sha256"), digest.digest("hex") + "\n");
