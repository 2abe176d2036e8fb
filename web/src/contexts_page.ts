// The page of a measurement: is each layer a contextual mapping, how far apart are contexts, and which are closest?

import { chart } from "./charts";
import type { ContextsPageData, Kind, LayerData, Piece, SideData, WitnessData } from "./contexts_data";
import { choice, h, number, section } from "./dom";

const data = JSON.parse(document.getElementById("data")?.textContent ?? "") as ContextsPageData;
const page = document.getElementById("page") as HTMLElement;
const { layers } = data;
const names = layers.map((_, k) => String(k));
const KINDS = Object.keys(data.kinds) as Kind[];
const VERDICTS = { contextual: "contextual", not_contextual: "not contextual", undecided: "undecided" } as const;

const state = { layer: layers.length - 1, kind: KINDS[0], changed: 0 };

const relative = (value: number | null | undefined, layer: LayerData): number | null =>
  value === null || value === undefined ? null : layer.spread > 0 ? value / layer.spread : value;

function header(): HTMLElement {
  const facts: [string, string][] = [
    ["different sequences", number(data.sequences) + (data.repeated ? ` (and ${number(data.repeated)} repeated)` : "")],
    ["places", number(data.places)],
    ["different tokens", number(data.tokens)],
    ["layers", number(layers.length)],
    ["same context", data.symmetry === "equivariant" ? "equal, or permutations" : "equal sequences"],
    ["closest pairs", layers.every((one) => one.any_tokens.is_exact) ? "exact" : "exact, but not of any two tokens"],
    ["nearest of any token", layers.every((one) => one.any_tokens.recall === null) ? "exact" : `by an index, recall ${number(Math.min(...layers.map((one) => one.any_tokens.recall ?? 1)), 3)}`],
  ];
  return h(
    "header",
    {},
    h("p", { class: "kicker" }, "anyformer · does it map contexts apart?"),
    h("h1", {}, data.model),
    h("p", { class: "lead" }, `In one sentence: ${data.ending}.`),
    h("p", {}, "A layer is a contextual mapping if no two positions of a sequence share a vector, and no two different sequences do: a token's vector then tells its whole context. Vectors are apart if their distance is above the margin, which is what rounding may do unless it was chosen."),
    data.ids_in_words === null ? null : h("p", { id: "ids" }, data.ids_in_words),
    h("dl", {}, ...facts.map(([name, fact]) => h("div", {}, h("dt", {}, name), h("dd", {}, fact)))),
  );
}

function table(): HTMLElement {
  const heads = ["layer", "verdict", "within", "same token", "any tokens", "spread", "margin", "apart"];
  const rows = layers.map((layer, k) => {
    const cells = [layer.name, VERDICTS[layer.verdict], ...[layer.within, layer.same_token, layer.any_tokens].map((one) => (one.distance === null ? "–" : number(one.distance))), number(layer.spread), number(layer.margin, 2), layer.apart === null ? "–" : `${number(100 * layer.apart, 3)} %`];
    const row = h("tr", { "data-layer": k }, ...cells.map((cell, at) => h("td", at === 1 ? { class: layer.verdict } : {}, cell)));
    row.addEventListener("click", () => chooseLayer(k));
    return row;
  });
  return section(
    "layers",
    "Layer by layer",
    "The smallest distances between vectors that must be apart. Apart: the share of places whose nearest vector of the same token in another context is farther than the margin. Choose a layer for its witnesses below.",
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", {}, head)))), h("tbody", {}, ...rows))),
  );
}

const distances = h("div");
const spreads = h("div");

function drawDistances(): void {
  const line = (kind: Kind, name: string, colour: number) => ({ name, colour, values: layers.map((layer) => relative(layer[kind].distance, layer)) });
  distances.replaceChildren(
    chart({
      label: "Smallest distances over the layers, in units of the spread",
      places: names,
      below: "layer",
      log: true,
      chosen: state.layer,
      choose: chooseLayer,
      lines: [line("within", "within a sequence", 2), line("same_token", "same token, two contexts", 0), line("any_tokens", "any two tokens, two contexts", 1)],
    }),
  );
  const at = (index: number) => layers.map((layer) => relative(layer.same_token.quantiles[index], layer));
  spreads.replaceChildren(
    chart({
      label: "Nearest distances of the same token over the layers: quartiles, and from 1 to 95 percent",
      places: names,
      below: "layer",
      log: true,
      chosen: state.layer,
      choose: chooseLayer,
      bands: [{ low: at(1), high: at(6), colour: 0 }, { low: at(3), high: at(5), colour: 0 }],
      lines: [{ name: "median", values: at(4), colour: 0 }],
    }),
  );
}

function similarity(): HTMLElement {
  const line = (name: string, colour: number, pick: (layer: LayerData) => number | null, dashed = false) => ({ name, colour, dashed, values: layers.map(pick) });
  return chart({
    label: "Similarities over the layers, corrected for anisotropy",
    places: names,
    below: "layer",
    log: false,
    lines: [
      line("self-similarity", 0, (one) => one.similarity.self_similarity),
      line("within sequences", 1, (one) => one.similarity.within_sequences),
      line("explained variance", 2, (one) => one.similarity.explained_variance),
      line("anisotropy itself", 7, (one) => one.similarity.anisotropy, true),
    ],
  });
}

const movement = h("div");

function drawMovement(): void {
  const one = data.sensitivity[state.changed];
  const gaps = one.gaps.map((first) => (first < 3 ? String(first) : `${first}–${2 * (first - 1)}`));
  const few = layers.length <= 8 ? layers.map((_, k) => k) : [...new Set([0, 1, 2, 3, 4, 5, 6, 7].map((k) => Math.round((k * (layers.length - 1)) / 7)))];
  movement.replaceChildren(
    chart({
      label: "How far vectors move, by their distance to the nearest changed token",
      places: gaps,
      below: "tokens away from the nearest changed one",
      log: true,
      lines: few.map((k, colour) => ({ name: layers[k].name, colour, values: one.moved[k] })),
    }),
  );
}

function sensitivity(): HTMLElement {
  const options = data.sensitivity.map((one) => (one.changed === 1 ? "one token" : `${one.changed} tokens`));
  drawMovement();
  return section(
    "sensitivity",
    "How far context is carried",
    "Some tokens of a sequence are exchanged for others. Shown is how far the vectors of all other places move, in units of the layer's spread, by their distance to the nearest exchanged token.",
    h("div", { class: "controls" }, choice("exchange", options, 0, (index) => ((state.changed = index), drawMovement()))),
    movement,
  );
}

function side(given: SideData, place: readonly [number, number]): HTMLElement {
  const pieces = (listed: readonly Piece[]) => listed.map(([text, isSame]) => h("span", { class: isSame ? "same" : "own" }, text));
  return h(
    "p",
    { class: "context" },
    h("span", { class: "place" }, `${place[0]}:${place[1]}`),
    ...pieces(given.before),
    h("mark", {}, given.token),
    ...pieces(given.after),
  );
}

function pair(one: WitnessData): HTMLElement {
  return h("li", {}, h("p", { class: "distance" }, `distance ${number(one.distance)}`), ...one.sides.map((given, k) => side(given, one.places[k])));
}

const list = h("ol", { class: "witnesses" });
const said = h("p", { class: "said", "aria-live": "polite" });

function drawWitnesses(): void {
  const layer = layers[state.layer];
  const shown = layer.witnesses.filter((one) => one.kind === state.kind);
  list.replaceChildren(...shown.map(pair));
  said.textContent = shown.length ? `${layer.name}, ${VERDICTS[layer.verdict]}: the closest of ${data.kinds[state.kind]}.` : `${layer.name}: no two places to compare.`;
}

const layerChoice = choice("layer", layers.map((layer, k) => `${k}: ${layer.name}`), state.layer, chooseLayer);

function witnesses(): HTMLElement {
  return section(
    "witnesses",
    "Witnesses",
    "The closest pairs, the token marked, each with its sequence and position. Pieces of the context that differ are set off; those that both sides have at the same distance from the token are faint. At most one pair for each pair of tokens.",
    h("div", { class: "controls" }, layerChoice, choice("pairs of", KINDS.map((kind) => data.kinds[kind]), 0, (index) => ((state.kind = KINDS[index]), drawWitnesses()))),
    said,
    list,
  );
}

function chooseLayer(layer: number): void {
  state.layer = layer;
  (layerChoice.querySelector("select") as HTMLSelectElement).value = String(layer);
  for (const row of document.querySelectorAll("[data-layer]")) row.classList.toggle("chosen", row.getAttribute("data-layer") === String(layer));
  drawDistances();
  drawWitnesses();
}

page.replaceChildren(
  header(),
  table(),
  section("distances", "How far apart", "Smallest distances in units of the layer's spread, the root mean square distance of its vectors from their mean. On the lowest line: 0.", distances),
  section("distribution", "The nearest of the same token", "For every place, the distance to the nearest vector of the same token in another context: median, quartiles, and from 1 % to 95 % of the places.", spreads),
  section("similarity", "The usual figures", "Mean cosines of the same token in different contexts, and of vectors with their sequence's mean, both less the mean cosine of random places (the anisotropy); and how much of a token's vectors one direction explains, less that of random places.", similarity()),
);
if (data.sensitivity.length) page.append(sensitivity());
page.append(witnesses());
chooseLayer(state.layer);

Object.assign(window, { anyformer: { data: () => data, chooseLayer, state: () => ({ ...state }) } });
