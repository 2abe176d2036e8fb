// The attention weights of every head, for the current input.

import type { App, View } from "./app";
import { button, h, number, section } from "./dom";
import { DARK, paint, shades } from "./maps";

const A_PAGE = 12;

export function heads(app: App): { element: HTMLElement; views: View[] } {
  const view = new Heads(app);
  return { element: view.element, views: [view] };
}

class Heads implements View {
  readonly element: HTMLElement;
  private from = 0;
  private readonly grid = h("div", { class: "heads" });
  private readonly where = h("span", { class: "note" });
  private cards: { canvas: HTMLCanvasElement; query: HTMLElement; said: HTMLElement }[] = [];

  constructor(private readonly app: App) {
    const count = app.walk.heads.length;
    const turn = (by: number) => () => {
      this.from = Math.min(Math.max(this.from + by, 0), Math.floor((count - 1) / A_PAGE) * A_PAGE);
      this.list();
      this.update();
    };
    this.element = section(
      "heads",
      "Every layer's attention",
      "A row is a query, a column a key; the shade is the square root of the weight. The marked row is the chosen token's. Heads whose W_O is 0 add nothing and are left out.",
      count > A_PAGE ? h("div", { class: "controls" }, button("Earlier heads", turn(-A_PAGE)), button("Later heads", turn(A_PAGE)), this.where) : null,
      this.grid,
    );
    this.list();
    DARK.addEventListener("change", () => this.update());
  }

  private list(): void {
    const { app } = this;
    const shown = app.walk.heads.slice(this.from, this.from + A_PAGE);
    this.where.textContent = `heads ${this.from + 1} to ${this.from + shown.length} of ${app.walk.heads.length}`;
    this.cards = shown.map(() => ({ canvas: h("canvas", { role: "img" }), query: h("div", { class: "query" }), said: h("small") }));
    this.grid.replaceChildren(
      ...shown.map((one, k) => {
        const stage = app.data.network.stages[one.stage];
        const name = `${stage.name}${stage.layers > 1 ? `, layer ${one.layer}` : ""}, head ${one.head}`;
        const words = app.data.heads[`${one.stage}.${one.layer}.${one.head}`] ?? "";
        return h("div", { class: "card" }, h("div", { class: "heat" }, this.cards[k].canvas, this.cards[k].query), h("div", {}, h("b", {}, name), h("span", {}, words), this.cards[k].said));
      }),
    );
  }

  update(): void {
    const { app } = this;
    const n = app.network.tokens;
    const { paper, ink } = shades();
    this.cards.forEach(({ canvas, query, said }, k) => {
      const { weights } = app.walk.heads[this.from + k];
      paint(canvas, n, n, (at) => {
        const share = Math.sqrt(weights[at]);
        return [0, 1, 2].map((i) => paper[i] + share * (ink[i] - paper[i])) as [number, number, number];
      });
      query.style.top = `calc(${(100 * app.token) / n}% - 1.5px)`;
      query.style.height = `calc(${100 / n}% + 3px)`;
      const row = weights.subarray(app.token * n, (app.token + 1) * n);
      const best = row.indexOf(row.reduce((one, other) => Math.max(one, other), -Infinity));
      const alike = row.filter((one) => one === row[best]).length;
      said.textContent =
        alike > 1
          ? `token ${app.token} gives ${alike} tokens ${number(row[best], 3)} each`
          : `token ${app.token} looks most at token ${best}: ${number(row[best], 3)}`;
      canvas.setAttribute("aria-label", `attention weights, ${n} by ${n}; ${said.textContent}`);
    });
  }
}
