// The contextual map: the ids of all contexts on a line, and where the tokens of the current input are.

import type { App, View } from "./app";
import type { ContextsData } from "./data";
import { drawn, h, number, s, section, set } from "./dom";
import { range } from "./network";
import { colour } from "./tokens";
import { cellsOf, codeOf } from "./walk";

const NEAR = 9;

export function contexts(app: App, data: ContextsData): { element: HTMLElement; views: View[] } {
  const view = new Contexts(app, data);
  const element = section(
    "contexts",
    "The contextual map",
    "Every token of every context has an id of its own, so a value can be given to it. Above: all ids on a line, the current tokens marked. Below: the ids next to the chosen token's, evenly spaced, with what they are ids of.",
    view.element,
    h("p", { class: "note" }, data.said),
  );
  return { element, views: [view] };
}

interface Tick {
  readonly id: number;
  readonly words: string;
  readonly faint: boolean;
}

class Contexts implements View {
  readonly element = h("div", { class: "panel" });
  private readonly ticks: Tick[];
  private width = 0;
  private marks: SVGGElement[] = [];
  private near = s("g");
  private readonly row: number;

  constructor(private readonly app: App, private readonly data: ContextsData) {
    const found = new Map<number, Tick>();
    data.ids.forEach((ids, context) =>
      ids.forEach((id, token) => {
        const cells = data.cells[context];
        const words = `${cells[token]} in {${cells.join(", ")}}`;
        if (!found.has(id) || found.get(id)?.faint) found.set(id, { id, words, faint: data.coinciding[context] && !app.data.network.around.positional_encoding });
      }),
    );
    this.ticks = [...found.values()].sort((one, other) => one.id - other.id);
    this.row = Math.max(...(app.data.table?.coded ?? [0])) + 1;
    drawn(this.element, (width) => {
      this.width = width;
      this.draw();
      this.update();
    });
  }

  private x(id: number): number {
    const [low, high] = [this.ticks[0].id, this.ticks[this.ticks.length - 1].id];
    return 14 + ((id - low) / (high - low || 1)) * (this.width - 28);
  }

  private draw(): void {
    const { app } = this;
    const svg = s("svg", { width: this.width, height: 196, role: "img", "aria-label": `${this.ticks.length} ids on a line, and the current tokens' among them` });
    const path = (faint: boolean) =>
      this.ticks.filter((tick) => tick.faint === faint).map((tick) => `M${this.x(tick.id).toFixed(1)} 44v18`).join("");
    svg.append(
      s("line", { x1: 14, x2: this.width - 14, y1: 62, y2: 62, class: "axis" }),
      s("path", { d: path(true), class: "id faint" }),
      s("path", { d: path(false), class: "id" }),
      s("text", { x: 14, y: 78, class: "tick" }, number(this.ticks[0].id, 6)),
      s("text", { x: this.width - 14, y: 78, class: "tick", "text-anchor": "end" }, number(this.ticks[this.ticks.length - 1].id, 6)),
    );
    this.marks = range(Math.min(app.network.tokens, 8)).map((token) =>
      s("g", { class: colour(app, token) }, s("path", { d: "M0 42l-6 -11h12z", class: "dot" }), s("text", { y: 25, class: "label", "text-anchor": "middle" }, String(token))),
    );
    this.near = s("g");
    svg.append(...this.marks, this.near);
    this.element.replaceChildren(svg);
  }

  update(): void {
    const { app } = this;
    const state = app.walk.states[this.row];
    const ids = range(app.network.tokens).map((token) => codeOf(app, state, token) as number);
    this.marks.forEach((mark, token) => {
      const x = Math.min(Math.max(this.x(ids[token]), 8), this.width - 8);
      set(mark, { transform: `translate(${x} 0)` });
      mark.classList.toggle("chosen", token === app.token);
    });
    this.zoom(ids);
  }

  /** Where only some contexts are drawn, with the current one; between cells a token holds no id. */
  private completed(ids: readonly number[]): readonly Tick[] {
    const { app, data, ticks } = this;
    if (data.ids.length === data.total) return ticks;
    const known = new Set(ticks.map((tick) => tick.id));
    const cells = ids.map((_, token) => cellsOf(app, token).replace(/cell /g, ""));
    const own = ids.map((id, token) => ({ id, words: `${cells[token]} in {${cells.join("; ")}}`, faint: false }));
    const added = own.filter(({ id }) => Number.isInteger(id) && !known.has(id));
    return [...ticks, ...added].sort((one, other) => one.id - other.id);
  }

  private zoom(ids: readonly number[]): void {
    const { app } = this;
    const ticks = this.completed(ids);
    const mine = ids[app.token];
    let at = ticks.findIndex((tick) => tick.id >= mine);
    if (at < 0) at = ticks.length - 1;
    const count = Math.min(this.width < 560 ? 5 : NEAR, ticks.length);
    const from = Math.min(Math.max(at - Math.floor(count / 2), 0), ticks.length - count);
    const gap = (this.width - 28) / count;
    this.near.replaceChildren(
      s("line", { x1: 14, x2: this.width - 14, y1: 132, y2: 132, class: "axis" }),
      ...ticks.slice(from, from + count).map((tick, k) => {
        const x = 14 + (k + 0.5) * gap;
        const owner = ids.indexOf(tick.id);
        return s(
          "g",
          { class: owner >= 0 ? colour(app, owner) : "" },
          s("line", { x1: x, x2: x, y1: 120, y2: 132, class: tick.faint ? "id faint" : "id" }),
          owner >= 0 ? s("circle", { cx: x, cy: 110, r: 6, class: "dot" }) : null,
          s("text", { x, y: 150, class: "tick strong", "text-anchor": "middle" }, number(tick.id, 7)),
          ...wrapped(tick.words, gap).map((line, i) => s("text", { x, y: 166 + 13 * i, class: "tick", "text-anchor": "middle" }, line)),
        );
      }),
      ...(ids.some((id) => id === mine && ticks.every((tick) => tick.id !== id))
        ? [s("text", { x: 14, y: 100, class: "tick" }, `token ${app.token} holds ${number(mine, 8)}, which is none of the ids drawn`)]
        : []),
    );
  }
}

/** "3 in {1, 3, 4}", in two lines where there is little room. */
function wrapped(words: string, room: number): string[] {
  const most = Math.max(6, Math.floor(room / 6.2));
  const cut = (text: string) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const [cell, rest] = words.split(" in ");
  return words.length <= most ? [words] : [cut(`cell ${cell} in`), cut(rest)];
}
