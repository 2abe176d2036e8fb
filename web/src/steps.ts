// A compiled network: the program node by node, what each should be, what the network holds, what is proved.

import type { App, View } from "./app";
import type { StepData } from "./data";
import { button, choice, h, number, section } from "./dom";
import { range } from "./network";

const FIRST = 24;

export function steps(app: App): { element: HTMLElement; views: View[] } {
  const view = new Steps(app);
  return { element: view.element, views: [view] };
}

interface Row {
  readonly step: StepData;
  readonly exact: HTMLElement;
  readonly network: HTMLElement;
  readonly gap: HTMLElement;
  readonly bar: HTMLElement;
}

class Steps implements View {
  readonly element: HTMLElement;
  private readonly rows: Row[] = [];
  private readonly body = h("tbody");
  private readonly picker: HTMLLabelElement;

  constructor(private readonly app: App) {
    const { data, network } = app;
    this.picker = choice("at token", range(network.tokens).map(String), app.token, (token) => app.choose(token));
    const more = data.steps.length - FIRST;
    const all = button(`Show ${more} more steps`, () => {
      all.remove();
      this.list(data.steps);
      this.update();
    });
    this.list(data.steps.slice(0, FIRST));
    this.element = section(
      "walk",
      "Through the program, step by step",
      "Every step of the program has a channel of the stream. What the step should be, computed from the formula in float64; what the network holds; and the error that is proved of it for every input. The bar is the difference as a part of the proved error.",
      h("div", { class: "controls" }, this.picker),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "steps of the program" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, ...["step", "exact", "network", "difference", "proved", "of proved"].map((one) => h("th", { scope: "col" }, one)))),
          this.body,
        ),
      ),
      more > 0 ? all : null,
      ...data.outputs.map((text, k) => h("p", { class: "formula" }, `output ${data.outputs.length > 1 ? k : ""} = ${text}`)),
    );
  }

  private list(found: readonly StepData[]): void {
    this.rows.length = 0;
    this.body.replaceChildren(
      ...found.map((step) => {
        const row: Row = { step, exact: h("td", { class: "n" }), network: h("td", { class: "n" }), gap: h("td", { class: "n" }), bar: h("i") };
        this.rows.push(row);
        return h(
          "tr",
          {},
          h("th", { scope: "row" }, h("span", { class: "formula" }, `${step.name} = ${step.formula}`), h("small", { class: "long" }, step.where)),
          row.exact,
          row.network,
          row.gap,
          h("td", { class: "n" }, number(step.proved, 3)),
          h("td", { class: "share" }, row.bar),
        );
      }),
    );
  }

  update(): void {
    const { app } = this;
    (this.picker.querySelector("select") as HTMLSelectElement).value = String(app.token);
    const exact = app.program?.nodes(app.input);
    const state = app.walk.states[app.walk.states.length - 1];
    for (const { step, ...cells } of this.rows) {
      const held = heldBy(step, state, app.token, app.network.stream);
      const wanted = exact?.[step.node][app.token] ?? NaN;
      const gap = Math.abs(held - wanted);
      cells.exact.textContent = number(wanted, 7);
      cells.network.textContent = number(held, 7);
      cells.gap.textContent = number(gap, 3);
      cells.bar.style.width = `${100 * Math.min(step.proved > 0 ? gap / step.proved : 0, 1)}%`;
    }
  }
}

/** What the network holds of a step: a reading of its stream. Channels are written once, so the last state has all. */
export function heldBy(step: StepData, state: Float64Array, token: number, stream: number): number {
  let total = 0;
  for (const [channel, weight] of step.row) total += state[token * stream + channel] * weight;
  return total + (typeof step.constant === "number" ? step.constant : step.constant[token]);
}
