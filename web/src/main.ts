import { App, type View } from "./app";
import { fused } from "./arithmetic";
import { budget, pattern } from "./budget";
import { contexts } from "./contexts";
import type { PageData } from "./data";
import { h } from "./dom";
import { heads } from "./heads";
import { maps } from "./maps";
import { Network } from "./network";
import { steps } from "./steps";
import { tokens } from "./tokens";
import { walk } from "./walk";

const data = JSON.parse(document.getElementById("data")?.textContent ?? "") as PageData;
const app = new App(data);
const page = document.getElementById("page") as HTMLElement;

function header(): HTMLElement {
  return h(
    "header",
    {},
    h("p", { class: "kicker" }, "anyformer · the proof at work"),
    h("h1", {}, data.title),
    ...data.words.map((sentence, k) => h("p", { class: k < 2 ? "lead" : "" }, sentence)),
    h("dl", {}, ...data.facts.flatMap(([name, fact]) => [h("div", {}, h("dt", {}, name), h("dd", {}, fact))])),
    h("details", {}, h("summary", {}, "What the proof relies on"), h("ul", {}, ...data.trusted.map((one) => h("li", {}, one)))),
  );
}

function footer(): HTMLElement {
  const isTable = data.table !== null;
  return h(
    "footer",
    {},
    h("h2", {}, "What is computed here"),
    h(
      "p",
      {},
      "The page computes with the network's own weights, in the order of operations that defines it, every multiply-add rounded once. ",
      isTable
        ? "On the cells of a table all attention weights are exact, and the bits are those of Python. Between cells, "
        : "Sums and products have the bits of Python; ",
      "a browser's exponential may differ from NumPy's in the last place, and what follows from it by as little.",
    ),
    data.omitted.length ? h("p", {}, "Left out: ", data.omitted.join(" ")) : null,
    data.table === null ? h("p", {}, "This network needs no contextual map: it computes steps, and looks up no ids.") : null,
  );
}

const views: View[] = [];
function put(part: { element: HTMLElement; views: View[] }): void {
  page.append(part.element);
  views.push(...part.views);
}

page.replaceChildren(header());
put(tokens(app));
put(maps(app));
if (data.table) put(walk(app));
else if (data.steps.length) put(steps(app));
if (app.walk.heads.length) put(heads(app));
if (data.table?.contexts) put(contexts(app, data.table.contexts));
if (data.network.pattern) page.append(pattern(app, data.network.pattern));
page.append(budget(app), footer());
for (const view of views) app.add(view);
app.refresh();

Object.assign(window, {
  anyformer: {
    evaluate: (inputs: number[][]) => inputs.map((one) => Array.from(app.network.evaluate(one))),
    target: (inputs: number[][]) => (app.target ? inputs.map((one) => Array.from(app.wantedAt(one) as Float64Array)) : null),
    evaluateWith: (other: PageData["network"], inputs: number[][]) => {
      const network = new Network(other);
      return inputs.map((one) => Array.from(network.evaluate(one)));
    },
    fused,
    nodes: (input: number[]) => app.program?.nodes(input).map((one) => Array.from(one)) ?? null,
    states: (input: number[]) => app.network.walk(input).states.map((one) => Array.from(one)),
    input: () => Array.from(app.input),
    output: () => Array.from(app.walk.output),
    frame: () => app.frame,
    refresh: () => (app.refresh(), app.frame),
  },
});
