// Target, network and their difference over two numbers of the input; all others stay as they are.

import type { App, View } from "./app";
import { unpack } from "./data";
import { choice, h, number, section } from "./dom";
import { range } from "./network";

const LEVELS = [12, 24, 48];
const SLICE = 9; // milliseconds of work between frames
const MOST_SLIDERS = 6;

type Colour = (share: number) => readonly [number, number, number];

export function maps(app: App): { element: HTMLElement; views: View[] } {
  const view = new Maps(app);
  return { element: view.element, views: [view] };
}

function others(rest: number): string {
  if (rest === 0) return "";
  if (rest === 1) return "; the third stays as it is, and is moved by the slider or by dragging its token";
  return `; the other ${rest} stay as they are, and are moved by sliders or by dragging their tokens`;
}

class Maps implements View {
  readonly element: HTMLElement;
  private axes: [number, number];
  private shown = 0;
  private readonly plates: readonly Plate[];
  private readonly sliders = h("div", { class: "sliders" });
  private readonly gap = h("p", { class: "note" });
  private key = "";
  private run = 0;
  private readonly plane: Float64Array | null;

  constructor(private readonly app: App) {
    const { data, network } = app;
    this.plane = data.plane ? unpack(data.plane.values) : null;
    this.axes = data.plane ? [data.plane.axes[0], data.plane.axes[1]] : [0, Math.min(1, app.input.length - 1)];
    const known = app.target !== null || this.plane !== null;
    const place = (x: number, y: number) => {
      if (data.plane) return;
      app.input[this.axes[1]] = y;
      app.move(this.axes[0], x);
      app.changed();
    };
    const plates = [new Plate("network", sequential, place)];
    if (known) plates.unshift(new Plate("target", sequential, place));
    if (known) plates.push(new Plate("network − target", diverging, place));
    this.plates = plates;
    const names = range(app.input.length).map((k) => this.name(k));
    const controls = h("div", { class: "controls" });
    if (!data.plane) {
      controls.append(
        choice("across", names, this.axes[0], (k) => this.turn(k, this.axes[1] === k ? this.axes[0] : this.axes[1])),
        choice("up", names, this.axes[1], (k) => this.turn(this.axes[0] === k ? this.axes[1] : this.axes[0], k)),
      );
    }
    controls.append(choice("output of", names, 0, (k) => ((this.shown = k), this.restart())));
    this.controls = controls;
    const rest = app.input.length - 2;
    const caption = data.plane
      ? "The target cannot be computed on this page; it was computed beforehand on this plane, whose other numbers stay fixed. Blue is too low, red too high."
      : `Over two numbers of the input${others(rest)}. ` +
        "The ring is the current input; click to move it. Blue is too low, red too high.";
    this.element = section(
      "maps",
      network.tokens * network.width > 2 ? "Target, network and difference, slice by slice" : "Target, network and difference",
      caption,
      controls,
      h("div", { class: "plates" }, ...plates.map((plate) => plate.element)),
      this.sliders,
      this.gap,
    );
    this.turn(...this.axes);
  }

  private readonly controls: HTMLElement;

  private name(k: number): string {
    const { width } = this.app.network;
    return width > 1 ? `token ${Math.floor(k / width)}, number ${k % width}` : `token ${k}`;
  }

  private turn(across: number, up: number): void {
    this.axes = [across, up];
    const [first, second] = Array.from(this.controls.querySelectorAll("select"));
    if (!this.app.data.plane) {
      first.value = String(across);
      second.value = String(up);
    }
    const others = range(this.app.input.length).filter((k) => k !== across && k !== up);
    const { width } = this.app.network;
    this.sliders.replaceChildren(
      ...(this.app.data.plane ? [] : others.slice(0, MOST_SLIDERS)).map((k) => {
        const [low, high] = [this.app.low[k % width], this.app.high[k % width]];
        const slider = h("input", { type: "range", min: low, max: high, step: (high - low) / 200, "data-index": k });
        slider.addEventListener("input", () => this.app.move(k, Number(slider.value)));
        return h("label", {}, h("span", {}, this.name(k)), slider, h("output", {}));
      }),
      ...(others.length > MOST_SLIDERS && !this.app.data.plane
        ? [h("p", { class: "note" }, `${others.length - MOST_SLIDERS} more numbers have no slider here; drag their tokens above.`)]
        : []),
    );
    this.restart();
  }

  private restart(): void {
    this.key = "";
    this.update();
  }

  update(): void {
    const { app } = this;
    const { width } = app.network;
    for (const slider of this.sliders.querySelectorAll("input")) {
      const k = Number(slider.dataset.index);
      slider.value = String(app.input[k]);
      (slider.nextElementSibling as HTMLElement).textContent = number(app.input[k]);
    }
    const share = (k: number) => (app.input[k] - app.low[k % width]) / (app.high[k % width] - app.low[k % width]);
    const [x, y] = this.axes;
    for (const plate of this.plates) {
      plate.mark(share(x), share(y), [app.low[x % width], app.high[x % width]], [app.low[y % width], app.high[y % width]]);
    }
    const rest = app.data.plane ? "plane" : app.input.filter((_, k) => k !== x && k !== y).join();
    const key = `${x} ${y} ${this.shown} ${rest}`;
    if (key === this.key) return;
    this.key = key;
    this.run += 1;
    this.level(this.run, 0);
  }

  /** One resolution after the other, a few milliseconds at a time: dragging comes first. */
  private level(run: number, which: number): void {
    const { app, axes, shown } = this;
    const levels = app.data.plane ? [app.data.plane.side] : LEVELS;
    if (which >= levels.length) return;
    const side = levels[which];
    const { width } = app.network;
    const { low, high } = app;
    const base = Float64Array.from(app.data.plane ? app.data.plane.base : app.input);
    const got = new Float64Array(side * side);
    const wanted = app.target || this.plane ? new Float64Array(side * side) : null;
    const at = (axis: number, k: number) => {
      const share = app.data.plane ? k / (side - 1) : (k + 0.5) / side;
      return low[axis % width] + share * (high[axis % width] - low[axis % width]);
    };
    let next = 0;
    const work = () => {
      if (run !== this.run) return;
      const end = performance.now() + SLICE;
      while (next < got.length && performance.now() < end) {
        base[axes[0]] = at(axes[0], next % side);
        base[axes[1]] = at(axes[1], Math.floor(next / side));
        got[next] = app.network.evaluate(base)[shown];
        if (wanted) wanted[next] = this.plane ? this.plane[next * base.length + shown] : (app.wantedAt(base) as Float64Array)[shown];
        next += 1;
      }
      if (next < got.length) {
        setTimeout(work);
        return;
      }
      this.show(side, got, wanted);
      setTimeout(() => run === this.run && this.level(run, which + 1));
    };
    setTimeout(work);
  }

  private show(side: number, got: Float64Array, wanted: Float64Array | null): void {
    const all = wanted ? [...got, ...wanted] : [...got];
    const span: [number, number] = [Math.min(...all), Math.max(...all)];
    if (!wanted) {
      this.plates[0].draw(side, got, span);
      return;
    }
    const gaps = got.map((one, k) => one - wanted[k]);
    const most = gaps.reduce((one, other) => Math.max(one, Math.abs(other)), 0);
    this.plates[0].draw(side, wanted, span);
    this.plates[1].draw(side, got, span);
    this.plates[2].draw(side, gaps, [-most, most]);
    this.gap.textContent = `Largest difference on this slice, at ${side} × ${side} points: ${number(most)}.`;
    this.element.dataset.side = String(side);
  }
}

class Plate {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { role: "img", width: 1, height: 1 });
  private readonly ring = h("div", { class: "here" });
  private readonly bar = h("canvas", { class: "bar", width: 128, height: 1, "aria-hidden": "true" });
  private readonly ends = [h("span"), h("span")];
  private x: [number, number] = [0, 1];
  private y: [number, number] = [0, 1];

  constructor(private readonly title: string, private readonly colour: Colour, place: (x: number, y: number) => void) {
    const frame = h("div", { class: "frame" }, this.canvas, this.ring);
    frame.addEventListener("click", (event) => {
      const box = frame.getBoundingClientRect();
      const across = (event.clientX - box.left) / box.width;
      const up = 1 - (event.clientY - box.top) / box.height;
      place(this.x[0] + across * (this.x[1] - this.x[0]), this.y[0] + up * (this.y[1] - this.y[0]));
    });
    paint(this.bar, 128, 1, (k) => colour(k / 127));
    this.element = h(
      "div",
      { class: "plate" },
      h("div", { class: "title" }, title),
      frame,
      h("div", { class: "scale" }, this.ends[0], this.bar, this.ends[1]),
    );
  }

  mark(x: number, y: number, xs: [number, number], ys: [number, number]): void {
    this.ring.style.left = `${100 * x}%`;
    this.ring.style.top = `${100 * (1 - y)}%`;
    [this.x, this.y] = [xs, ys];
  }

  draw(side: number, values: Float64Array, [low, high]: readonly [number, number]): void {
    const share = (value: number) => (high > low ? (value - low) / (high - low) : 0.5);
    paint(this.canvas, side, side, (k) => {
      const row = side - 1 - Math.floor(k / side); // the second number grows upwards
      return this.colour(share(values[row * side + (k % side)]));
    });
    this.ends[0].textContent = number(low, 3);
    this.ends[1].textContent = number(high, 3);
    this.canvas.setAttribute("aria-label", `map of ${this.title}, from ${number(low)} to ${number(high)}`);
  }
}

export function paint(canvas: HTMLCanvasElement, width: number, height: number, at: (k: number) => readonly [number, number, number]): void {
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (!context) return;
  const image = context.createImageData(width, height);
  for (let k = 0; k < width * height; k++) {
    const [red, green, blue] = at(k);
    image.data.set([red, green, blue, 255], 4 * k);
  }
  context.putImageData(image, 0, 0);
}

export const DARK = matchMedia("(prefers-color-scheme: dark)");

/** What a heat map of weights goes from and to. */
export function shades(): { paper: readonly [number, number, number]; ink: readonly [number, number, number] } {
  return DARK.matches ? { paper: [30, 33, 38], ink: [222, 184, 104] } : { paper: [246, 244, 238], ink: [30, 58, 95] };
}

function ramp(stops: readonly (readonly [number, number, number])[]): Colour {
  return (share) => {
    const place = Math.min(Math.max(Number.isNaN(share) ? 0 : share, 0), 1) * (stops.length - 1);
    const k = Math.min(Math.floor(place), stops.length - 2);
    const part = place - k;
    return [0, 1, 2].map((i) => stops[k][i] + part * (stops[k + 1][i] - stops[k][i])) as [number, number, number];
  };
}

/** Even steps in lightness, as printed in grey too. */
export const sequential = ramp([
  [36, 30, 66],
  [49, 73, 122],
  [42, 117, 138],
  [58, 160, 132],
  [138, 197, 107],
  [243, 228, 130],
]);
export const diverging = ramp([
  [26, 74, 133],
  [110, 160, 206],
  [244, 243, 239],
  [219, 138, 110],
  [150, 38, 40],
]);
