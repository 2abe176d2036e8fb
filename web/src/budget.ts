// Who spends how much of ε, and which stage has how many layers and units; for sparse models, the pattern and its reach.

import type { App } from "./app";
import type { NeighboursData } from "./data";
import { h, number, section } from "./dom";
import { DARK, paint, shades } from "./maps";
import { range } from "./network";

const MOST_STEPS = 16;
const MOST_REACHES = 12;
const MOST_PATTERNS = 4;

export function budget(app: App): HTMLElement {
  const { data } = app;
  const used = data.certified / data.tolerance;
  const shares = data.terms.filter((term) => term.share !== null);
  const steps = data.terms.filter((term) => term.share === null);
  const bar = h(
    "div",
    { class: "spent", role: "img", "aria-label": `${number(100 * used, 3)} % of the tolerance is used` },
    ...(shares.length ? shares : [{ name: "proved", words: "", value: data.certified, share: used }]).map((term, k) => {
      const part = h("span", { class: `part p${k}` });
      part.style.width = `${100 * Math.min(term.share ?? 0, 1)}%`;
      return part;
    }),
  );
  const rows = shares.map((term, k) =>
    h("tr", {}, h("th", { scope: "row" }, h("i", { class: `key p${k}` }), term.words), h("td", { class: "n" }, number(term.value)), h("td", { class: "n" }, `${number(100 * (term.share ?? 0), 3)} %`)),
  );
  const left = 1 - shares.reduce((sum, term) => sum + (term.share ?? 0), 0);
  const table = shares.length
    ? h(
        "table",
        {},
        h("thead", {}, h("tr", {}, h("th", {}, "who spends"), h("th", { class: "n" }, `its ${data.norm} error`), h("th", { class: "n" }, `of ε^p`))),
        h("tbody", {}, ...rows, h("tr", {}, h("th", { scope: "row" }, "left over"), h("td", { class: "n" }, ""), h("td", { class: "n" }, `${number(100 * left, 3)} %`))),
      )
    : null;
  return section(
    "budget",
    "Who spends how much of ε",
    `The tolerance ε is ${number(data.tolerance)} in ${data.norm}; the proof gives ${number(data.certified)}, ${number(100 * used, 3)} % of it. ` +
      (shares.length ? "Errors on parts of the domain add up in their p-th powers, which is what the bar shows." : "The terms below are proved bounds that hold for every input."),
    bar,
    table,
    shares.length
      ? h("p", { class: "note" }, steps.map((term) => `${capital(term.words)}: ${number(term.value, 3)}.`).join(" "))
      : logBars(steps.map((term) => [term.words, term.value] as const)),
    stages(app),
  );
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Numbers of very different sizes, a decade as long as any other. */
function logBars(terms: readonly (readonly [string, number])[]): HTMLElement {
  const sizes = terms.map(([, value]) => value).filter((value) => value > 0);
  const low = Math.log10(Math.min(...sizes)) - 0.5;
  const high = Math.log10(Math.max(...sizes));
  const sorted = [...terms].sort((one, other) => other[1] - one[1]);
  return h(
    "div",
    { class: "bars" },
    ...sorted.slice(0, MOST_STEPS).map(([words, value]) => {
      const bar = h("i", { "aria-hidden": "true" });
      bar.style.width = value > 0 ? `${100 * Math.max((Math.log10(value) - low) / (high - low || 1), 0.01)}%` : "0";
      return h("div", {}, h("span", { class: "formula" }, words), h("span", { class: "track" }, bar), h("span", { class: "n" }, value > 0 ? number(value, 3) : "exact"));
    }),
    sorted.length > MOST_STEPS ? h("p", { class: "note" }, `${sorted.length - MOST_STEPS} smaller ones are left out. Bars are on a logarithmic scale.`) : h("p", { class: "note" }, "Bars are on a logarithmic scale."),
  );
}

function stages(app: App): HTMLElement {
  const found = app.data.network.stages;
  const most = Math.max(...found.map((stage) => stage.layers));
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "layers and units by stage" },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, h("th", {}, "stage"), h("th", { class: "n" }, "layers"), h("th", { class: "n" }, "hidden units"), h("th", {}, ""))),
      h(
        "tbody",
        {},
        ...found.map((stage) => {
          const bar = h("i");
          bar.style.width = `${(100 * stage.layers) / most}%`;
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, stage.name, h("small", {}, stage.kind === "attention" ? "attention" : "feed-forward")),
            h("td", { class: "n" }, stage.layers.toLocaleString("en")),
            h("td", { class: "n" }, stage.units ? stage.units.toLocaleString("en") : "–"),
            h("td", { class: "share" }, bar),
          );
        }),
      ),
    ),
  );
}

/** The pattern, and what each token has seen after so many attention layers. */
export function pattern(app: App, layers: readonly (readonly NeighboursData[])[]): HTMLElement {
  const n = app.network.tokens;
  const see = (lists: readonly NeighboursData[]): boolean[][] =>
    range(n).map((query) => {
      const row = new Array<boolean>(n).fill(false);
      for (const list of lists) for (let i = list.starts[query]; i < list.starts[query + 1]; i++) row[list.keys[i]] = true;
      return row;
    });
  const count = app.data.network.stages.reduce((sum, stage) => sum + (stage.kind === "attention" ? stage.layers : 0), 0);
  let reach = range(n).map((query) => range(n).map((key) => query === key));
  const grown = [reach];
  for (let k = 0; k < Math.min(count, MOST_REACHES); k++) {
    const seen = see(layers[k % layers.length]);
    const before = reach;
    reach = before.map((own, query) => own.map((has, key) => has || seen[query].some((looks, middle) => looks && before[middle][key])));
    grown.push(reach);
  }
  const card = (matrix: boolean[][], title: string, words: string) => {
    const canvas = h("canvas", { role: "img", "aria-label": `${title}: ${words}` });
    const draw = () => {
      const { paper, ink } = shades();
      paint(canvas, n, n, (k) => (matrix[Math.floor(k / n)][k % n] ? ink : paper));
    };
    draw();
    DARK.addEventListener("change", draw);
    return h("div", { class: "card" }, h("div", { class: "heat" }, canvas), h("div", {}, h("b", {}, title), h("span", {}, words)));
  };
  const least = (matrix: boolean[][]) => Math.min(...matrix.map((row) => row.filter(Boolean).length));
  return section(
    "pattern",
    "The pattern, and how far each token has seen",
    `Who may look at whom in a layer, and what has reached each token after every attention layer: a row is a token, a column what it knows of. ${count > MOST_REACHES ? `The first ${MOST_REACHES} of ${count} layers are drawn. ` : ""}${layers.length > MOST_PATTERNS ? `The pattern repeats after ${layers.length} layers, of which the first ${MOST_PATTERNS} are drawn.` : ""}`,
    h(
      "div",
      { class: "heads" },
      // Heads of different lists see different tokens: each list is drawn, never their union.
      ...layers.slice(0, MOST_PATTERNS).flatMap((lists, k) =>
        lists.map((list, j) => {
          const matrix = see([list]);
          const links = matrix.reduce((sum, row) => sum + row.filter(Boolean).length, 0);
          const name = layers.length > 1 ? `pattern, layer ${k} of ${layers.length}` : "pattern of every layer";
          return card(matrix, lists.length > 1 ? `${name}, list ${j} of ${lists.length}` : name, `${links} of ${n * n} pairs`);
        }),
      ),
      ...grown.slice(1).map((matrix, k) => card(matrix, `seen after ${k + 1} ${k ? "layers" : "layer"}`, least(matrix) === n ? "every token has seen all" : `every token has seen ${least(matrix)} or more of ${n}`)),
    ),
  );
}
