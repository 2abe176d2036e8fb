// A table: the tokens walk into their cells, to their codes, to their context ids, to their values.

import type { App, View } from "./app";
import { drawn, h, number, s, section, set } from "./dom";
import { range } from "./network";
import { PATIENCE, colour } from "./tokens";

const ROW = 58;
const MOST = 8;

export function walk(app: App): { element: HTMLElement; views: View[] } {
  const picture = new Picture(app);
  const table = new Table(app);
  const element = section(
    "walk",
    "The walk, stage by stage",
    "Each line is a stage of the proof, with its own scale; the tokens walk down from the input to the output, moved by the network's own weights. " +
      (app.network.width > 1 ? "Drawn is the number that holds the code, before that the first of each token. " : "") +
      "Codes and ids are whole numbers, in units of a cell.",
    picture.element,
    table.element,
  );
  return { element, views: [picture, table] };
}

/** What is drawn of a token after a stage: its code where it holds one, else its first number. */
function readingAt(app: App, state: Float64Array, row: number, token: number): number {
  const { stream } = app.network;
  const table = app.data.table;
  if (!table?.code || !table.coded.includes(row - 1)) return state[token * stream];
  return codeOf(app, state, token) as number;
}

export function codeOf(app: App, state: Float64Array, token: number): number | null {
  const code = app.data.table?.code;
  if (!code) return null;
  const { stream } = app.network;
  return code.direction.reduce((sum, one, i) => sum + one * state[token * stream + i], 0) / code.unit;
}

class Picture implements View {
  readonly element = h("div", { class: "panel" });
  private width = 0;
  private readonly spans: [number, number][];
  private dots: SVGCircleElement[][] = [];
  private lines: SVGPolylineElement[] = [];
  private readonly shown: number;

  constructor(private readonly app: App) {
    this.shown = Math.min(app.network.tokens, MOST);
    this.spans = this.ranges();
    drawn(this.element, (width) => {
      this.width = width;
      this.draw();
      this.update();
    });
  }

  private ranges(): [number, number][] {
    const { app } = this;
    const spans = app.walk.states.map((): [number, number] => [Infinity, -Infinity]);
    // Tokens in one cell have no ids of their own, and may end anywhere: scales are those of different tokens.
    const apart = (x: Float64Array) => new Set(range(app.network.tokens).map((token) => cellsOf(app, token, x))).size === app.network.tokens;
    const end = performance.now() + PATIENCE;
    const drawn = range(200).map(() => app.random());
    const chosen = app.data.network.around.positional_encoding ? drawn : drawn.filter(apart);
    for (const x of [app.input, ...(chosen.length ? chosen : drawn).slice(0, 60)]) {
      if (performance.now() > end) break;
      app.network.walk(x).states.forEach((state, row) => {
        for (const token of range(app.network.tokens)) {
          const value = readingAt(app, state, row, token);
          spans[row] = [Math.min(spans[row][0], value), Math.max(spans[row][1], value)];
        }
      });
    }
    return spans.map(([low, high]) => (high > low ? [low, high] : [low - 0.5, high + 0.5]));
  }

  private x(row: number, value: number): number {
    const [low, high] = this.spans[row];
    const share = Math.min(Math.max((value - low) / (high - low), -0.02), 1.02);
    return 12 + share * (this.width - 24);
  }

  private y(row: number): number {
    return 34 + row * ROW;
  }

  private draw(): void {
    const { app } = this;
    const rows = app.walk.states.length;
    const svg = s("svg", { width: this.width, height: this.y(rows - 1) + 22, role: "img", "aria-label": "the tokens' way through the stages; the table below has the numbers" });
    const words: SVGElement[] = [];
    range(rows).forEach((row) => {
      const y = this.y(row);
      const stage = row > 0 ? app.data.network.stages[row - 1] : null;
      const name = stage ? stage.name : app.data.network.around.positional_encoding ? "input, moved to its place" : "input";
      svg.append(s("line", { x1: 12, x2: this.width - 12, y1: y, y2: y, class: "axis" }));
      words.push(
        s("text", { x: 12, y: y - 12, class: "label" }, name),
        s("text", { x: 12, y: y + 14, class: "tick" }, number(this.spans[row][0], 3)),
        s("text", { x: this.width - 12, y: y + 14, class: "tick", "text-anchor": "end" }, number(this.spans[row][1], 3)),
      );
      if (stage && this.width > 560) {
        words.push(s("text", { x: this.width - 12, y: y - 12, class: "tick", "text-anchor": "end" }, stage.purpose));
      }
    });
    this.lines = range(this.shown).map((token) => s("polyline", { class: `way ${colour(app, token)}` }));
    this.dots = range(this.shown).map((token) => range(rows).map(() => s("circle", { r: 4.5, class: `dot ${colour(app, token)}` })));
    svg.append(...this.lines, ...words, ...this.dots.flat());
    this.element.replaceChildren(svg);
  }

  update(): void {
    const { app } = this;
    this.dots.forEach((dots, token) => {
      const points = app.walk.states.map((state, row) => [this.x(row, readingAt(app, state, row, token)), this.y(row)]);
      points.forEach(([x, y], row) => set(dots[row], { cx: x, cy: y }));
      set(this.lines[token], { points: points.map((point) => point.join()).join(" ") });
      this.lines[token].classList.toggle("chosen", token === app.token);
    });
  }
}

class Table implements View {
  readonly element: HTMLElement;
  private readonly cells: HTMLTableCellElement[][];

  constructor(private readonly app: App) {
    const { data, network } = app;
    const shown = range(Math.min(network.tokens, MOST));
    this.cells = app.walk.states.map(() => shown.map(() => h("td", { class: "n" })));
    this.element = h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "the tokens after every stage" },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "after"), ...shown.map((token) => h("th", { scope: "col", class: "n" }, `token ${token}`)))),
        h(
          "tbody",
          {},
          ...this.cells.map((row, k) => {
            const stage = k > 0 ? data.network.stages[k - 1] : null;
            const title = stage ? `${stage.name}` : "input";
            const layers = stage ? `${stage.layers.toLocaleString("en")} ${stage.layers === 1 ? "layer" : "layers"}` : "";
            return h("tr", {}, h("th", { scope: "row" }, title, h("small", {}, layers), h("small", { class: "long" }, stage?.purpose ?? "")), ...row);
          }),
        ),
      ),
      network.tokens > MOST ? h("p", { class: "note" }, `The first ${MOST} of ${network.tokens} tokens.`) : null,
    );
  }

  update(): void {
    const { app } = this;
    this.cells.forEach((row, k) =>
      row.forEach((cell, token) => {
        const { stream } = app.network;
        const state = app.walk.states[k];
        const values = range(stream).map((i) => number(state[token * stream + i], 5));
        cell.replaceChildren(values.join(", "), h("small", {}, this.note(k, token)));
        cell.classList.toggle("chosen", token === app.token);
      }),
    );
  }

  private note(row: number, token: number): string {
    const { app } = this;
    const table = app.data.table;
    if (!table) return "";
    if (row === 0) return cellsOf(app, token);
    const stage = app.data.network.stages[row - 1];
    if (table.coded.includes(row - 1)) {
      const code = codeOf(app, app.walk.states[row], token) as number;
      return `${stage.role === "CONTEXT_ID" ? "context id" : "code"} ${number(code, 8)}`;
    }
    return row === app.walk.states.length - 1 ? "the output" : "";
  }
}

/** The cell of every number of a token. */
export function cellsOf(app: App, token: number, x: ArrayLike<number> = app.input): string {
  const table = app.data.table;
  if (!table) return "";
  const { width } = app.network;
  const found = range(width).map((i) => {
    const value = x[token * width + i];
    const cell = table.lows[i].findIndex((low, k) => value >= low && value <= table.highs[i][k]);
    if (cell >= 0) return `cell ${cell}`;
    const { low, high } = app.data.domain;
    return value < low[i] || value > high[i] ? "outside" : "between cells";
  });
  return found.join(", ");
}
