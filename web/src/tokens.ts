// The input as points to drag, and under each of them what the network and the target make of it.

import type { App, View } from "./app";
import { button, drawn, h, number, s, section, set } from "./dom";
import { range } from "./network";

const LEFT = 46;
const RIGHT = 10;
const TOP = 26;
const HEIGHT = 204;
const BOTTOM = 24;
/** Milliseconds that looking for the range of a scale may take. */
export const PATIENCE = 200;

export function tokens(app: App): { element: HTMLElement; views: View[] } {
  const { width } = app.network;
  const span = outputRange(app);
  const inputs = range(width).map((coordinate) => new InputPanel(app, coordinate));
  const outputs = range(width).map((coordinate) => new OutputPanel(app, coordinate, span[coordinate]));
  const said = new Said(app);
  const worst = app.data.worst;
  const caption =
    "Above: the input, a point a token. Drag points, or focus one and use the arrow keys (left and right choose the token). " +
    (app.data.table ? "Lines are the walls of cells. " : "") +
    "Below: what comes out, the network as a dot and the target as a ring" +
    (app.data.entry_bound === null ? "." : "; the whisker is the proved error of every entry.");
  const small = app.data.table ? ` An error in ${app.data.norm} may be large where inputs are few: between cells, or with two tokens in one cell.` : "";
  const element = section(
    "tokens",
    "The input, and what comes out",
    caption,
    h(
      "div",
      { class: "controls" },
      button("Random input", () => app.replace(app.random())),
      button("Begin again", () => app.replace(app.data.start)),
      worst ? button(`Where the error is largest: ${number(worst.error, 3)}`, () => app.replace(worst.input)) : null,
    ),
    h("div", { class: width > 1 ? "pair" : "" }, ...inputs.map((panel) => panel.element)),
    h("div", { class: width > 1 ? "pair" : "" }, ...outputs.map((panel) => panel.element)),
    said.element,
    worst
      ? h("p", { class: "note" }, `Largest error found among ${worst.samples.toLocaleString("en")} inputs, in any entry: ${number(worst.error)}. It is a sample; the proof covers all inputs.${small}`)
      : null,
  );
  return { element, views: [...inputs, ...outputs, said] };
}

/** What outputs range over, from some inputs. */
function outputRange(app: App): [number, number][] {
  const { width } = app.network;
  const spans = range(width).map((): [number, number] => [Infinity, -Infinity]);
  const seen = [app.input, ...range(40).map(() => app.random())];
  const end = performance.now() + PATIENCE;
  for (const x of seen) {
    if (performance.now() > end) break;
    for (const values of [app.network.evaluate(x), app.wantedAt(x)]) {
      values?.forEach((value, k) => {
        const span = spans[k % width];
        span[0] = Math.min(span[0], value);
        span[1] = Math.max(span[1], value);
      });
    }
  }
  return spans.map(([low, high]) => {
    const room = (high - low || 1) * 0.08;
    return [low - room, high + room];
  });
}

abstract class Panel implements View {
  readonly element = h("div", { class: "panel" });
  protected width = 0;

  constructor(
    protected readonly app: App,
    protected readonly coordinate: number,
    private readonly ends: readonly [number, number],
    private readonly title: string,
  ) {
    drawn(this.element, (width) => {
      this.width = width;
      const svg = s("svg", { width, height: HEIGHT, role: "group", "aria-label": this.title });
      svg.append(...this.axis());
      this.fill(svg);
      this.element.replaceChildren(svg);
      this.update();
    });
  }

  abstract fill(svg: SVGSVGElement): void;
  abstract update(): void;

  protected x(token: number): number {
    return LEFT + ((token + 0.5) * (this.width - LEFT - RIGHT)) / this.app.network.tokens;
  }

  protected y(value: number): number {
    const [low, high] = this.ends;
    return TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  }

  protected value(y: number): number {
    const [low, high] = this.ends;
    return high - ((y - TOP) / (HEIGHT - TOP - BOTTOM)) * (high - low);
  }

  protected get radius(): number {
    return Math.min(Math.max((this.width - LEFT - RIGHT) / this.app.network.tokens / 3, 2.5), 8);
  }

  private axis(): SVGElement[] {
    const [low, high] = this.ends;
    const parts: SVGElement[] = [s("text", { x: LEFT, y: 12, class: "label" }, this.title)];
    for (const value of ticks(low, high)) {
      const y = this.y(value);
      parts.push(s("line", { x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y, class: "grid" }));
      parts.push(s("text", { x: LEFT - 6, y: y + 4, class: "tick", "text-anchor": "end" }, number(value)));
    }
    const every = Math.max(1, Math.ceil(this.app.network.tokens / Math.max(1, (this.width - LEFT) / 22)));
    for (let token = 0; token < this.app.network.tokens; token += every) {
      parts.push(s("text", { x: this.x(token), y: HEIGHT - 8, class: "tick", "text-anchor": "middle" }, String(token)));
    }
    return parts;
  }
}

function ticks(low: number, high: number): number[] {
  const raw = (high - low) / 4;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * unit).find((one) => one >= raw) ?? raw;
  const found: number[] = [];
  for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

class InputPanel extends Panel {
  private handles: SVGGElement[] = [];

  constructor(app: App, coordinate: number) {
    const name = app.network.width > 1 ? `input, number ${coordinate} of every token` : "input, token by token";
    super(app, coordinate, [app.low[coordinate], app.high[coordinate]], name);
  }

  fill(svg: SVGSVGElement): void {
    const { app, coordinate } = this;
    const table = app.data.table;
    if (table && table.lows[coordinate].length <= 64) {
      for (const wall of [...table.lows[coordinate], ...table.highs[coordinate].slice(-1)]) {
        svg.append(s("line", { x1: LEFT, x2: this.width - RIGHT, y1: this.y(wall), y2: this.y(wall), class: "wall" }));
      }
    }
    this.handles = range(app.network.tokens).map((token) => this.handle(token));
    svg.append(...this.handles);
    svg.addEventListener("pointerdown", (event) => {
      const at = (event.target as Element).closest("[data-token]");
      // A finger elsewhere scrolls; a mouse moves the nearest token.
      if (!at && event.pointerType !== "mouse") return;
      const nearest = at ? Number(at.getAttribute("data-token")) : this.nearest(event.clientX - svg.getBoundingClientRect().left);
      this.drag(svg, event, nearest);
    });
  }

  private nearest(x: number): number {
    const { tokens } = this.app.network;
    return Math.min(Math.max(Math.floor(((x - LEFT) / (this.width - LEFT - RIGHT)) * tokens), 0), tokens - 1);
  }

  private drag(svg: SVGSVGElement, event: PointerEvent, token: number): void {
    event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    const follow = (moved: PointerEvent) => {
      this.app.move(token * this.app.network.width + this.coordinate, this.value(moved.clientY - svg.getBoundingClientRect().top));
    };
    const stop = () => {
      svg.removeEventListener("pointermove", follow);
      svg.removeEventListener("pointerup", stop);
      svg.removeEventListener("pointercancel", stop);
    };
    svg.addEventListener("pointermove", follow);
    svg.addEventListener("pointerup", stop);
    svg.addEventListener("pointercancel", stop);
    this.app.choose(token);
    this.handles[token].focus({ preventScroll: true });
    follow(event);
  }

  private handle(token: number): SVGGElement {
    const { app, coordinate } = this;
    const group = s(
      "g",
      {
        role: "slider",
        "data-token": token,
        class: `handle ${colour(app, token)}`,
        "aria-orientation": "vertical",
        "aria-label": `token ${token}${app.network.width > 1 ? `, number ${coordinate}` : ""}`,
        "aria-valuemin": app.low[coordinate],
        "aria-valuemax": app.high[coordinate],
      },
      s("line", { class: "stem" }),
      s("circle", { class: "reach", r: Math.max(16, this.radius * 2) }),
      s("circle", { class: "dot", r: this.radius }),
    );
    group.addEventListener("keydown", (event) => this.key(event, token));
    group.addEventListener("focus", () => {
      if (app.token !== token) app.choose(token);
    });
    return group;
  }

  private key(event: KeyboardEvent, token: number): void {
    const { app, coordinate } = this;
    const [low, high] = [app.low[coordinate], app.high[coordinate]];
    const index = token * app.network.width + coordinate;
    const step = (high - low) / (event.shiftKey ? 10 : 100);
    const moves: Record<string, number> = {
      ArrowUp: app.input[index] + step,
      ArrowDown: app.input[index] - step,
      PageUp: app.input[index] + (high - low) / 10,
      PageDown: app.input[index] - (high - low) / 10,
      Home: low,
      End: high,
    };
    if (event.key in moves) app.move(index, moves[event.key]);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const next = Math.min(Math.max(token + (event.key === "ArrowLeft" ? -1 : 1), 0), app.network.tokens - 1);
      app.choose(next);
      this.handles[next].focus();
    } else return;
    event.preventDefault();
  }

  update(): void {
    const { app, coordinate } = this;
    this.handles.forEach((group, token) => {
      const value = app.input[token * app.network.width + coordinate];
      const [x, y] = [this.x(token), this.y(value)];
      const [stem, reach, dot] = Array.from(group.children);
      set(stem, { x1: x, x2: x, y1: this.y(app.low[coordinate]), y2: y });
      set(reach, { cx: x, cy: y });
      set(dot, { cx: x, cy: y });
      const chosen = token === app.token;
      set(group, { tabindex: chosen ? 0 : -1, "aria-valuenow": value, "aria-valuetext": number(value) });
      group.classList.toggle("chosen", chosen);
    });
  }
}

class OutputPanel extends Panel {
  private marks: { ring: SVGCircleElement; dot: SVGCircleElement; whisker: SVGLineElement }[] = [];

  constructor(app: App, coordinate: number, span: readonly [number, number]) {
    super(app, coordinate, span, app.network.width > 1 ? `output, number ${coordinate} of every token` : "output, token by token");
  }

  fill(svg: SVGSVGElement): void {
    const { app } = this;
    this.marks = range(app.network.tokens).map((token) => {
      const whisker = s("line", { class: "whisker" });
      const ring = s("circle", { class: "ring", r: this.radius + 2.5 });
      const dot = s("circle", { class: "dot", r: this.radius * 0.75 });
      const group = s("g", { class: colour(app, token) }, whisker, ring, dot);
      group.addEventListener("click", () => app.choose(token));
      svg.append(group);
      return { ring, dot, whisker };
    });
  }

  update(): void {
    const { app, coordinate } = this;
    const bound = app.data.entry_bound ?? 0;
    this.marks.forEach(({ ring, dot, whisker }, token) => {
      const index = token * app.network.width + coordinate;
      const x = this.x(token);
      const wanted = app.wanted?.[index];
      set(dot, { cx: x, cy: this.y(app.walk.output[index]) });
      ring.style.display = wanted === undefined ? "none" : "";
      whisker.style.display = wanted === undefined || bound === 0 ? "none" : "";
      if (wanted !== undefined) {
        set(ring, { cx: x, cy: this.y(wanted) });
        set(whisker, { x1: x, x2: x, y1: this.y(wanted + bound), y2: this.y(wanted - bound) });
      }
      dot.parentElement?.classList.toggle("chosen", token === app.token);
    });
  }
}

/** The numbers of the chosen token, in words. */
class Said implements View {
  readonly element = h("p", { class: "said", "aria-live": "polite" });

  constructor(private readonly app: App) {}

  update(): void {
    const { app } = this;
    const { width } = app.network;
    const places = range(width).map((i) => app.token * width + i);
    const list = (values: Float64Array) => places.map((k) => number(values[k], 6)).join(", ");
    const gap = app.wanted ? Math.max(...places.map((k) => Math.abs(app.walk.output[k] - (app.wanted as Float64Array)[k]))) : null;
    this.element.replaceChildren(
      h("b", {}, `Token ${app.token}: `),
      `input ${list(app.input)} → network ${list(app.walk.output)}`,
      app.wanted ? `; target ${list(app.wanted)}; difference ${number(gap as number, 3)}` : "",
    );
  }
}

/** The colour of a token: its own where there are few, else grey unless it is chosen. */
export function colour(app: App, token: number): string {
  return app.network.tokens <= 8 ? `t${token}` : "many";
}
