// Lines over a few places along the x-axis, on a logarithmic or a plain scale. 0 has a row of its own below a logarithm.

import { drawn, h, number, s } from "./dom";

export interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** The number of its colour. */
  readonly colour: number;
  readonly dashed?: boolean;
}

export interface Band {
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
  readonly colour: number;
}

export interface Chart {
  readonly label: string;
  readonly places: readonly string[];
  readonly below: string;
  readonly lines: readonly Line[];
  readonly bands?: readonly Band[];
  readonly log: boolean;
  /** The place that is marked, if one is. */
  readonly chosen?: number;
  readonly choose?: (place: number) => void;
}

const LEFT = 58;
const RIGHT = 14;
const TOP = 12;
const HEIGHT = 230;
const BOTTOM = 44;

export function chart(given: Chart): HTMLElement {
  const panel = h("div", { class: "panel" });
  const legend = h(
    "p",
    { class: "legend" },
    ...given.lines.map((line) => h("span", { class: `t${line.colour}` }, h("i", { class: line.dashed ? "key dashed" : "key" }), line.name)),
  );
  drawn(panel, (width) => panel.replaceChildren(drawing(given, width)));
  return h("div", {}, panel, legend);
}

function drawing(given: Chart, width: number): SVGSVGElement {
  const svg = s("svg", { width, height: HEIGHT + TOP + BOTTOM, role: "img", "aria-label": given.label });
  const scale = vertical(given);
  const last = Math.max(given.places.length - 1, 1);
  const x = (place: number) => LEFT + (place / last) * (width - LEFT - RIGHT);
  for (const tick of scale.ticks) {
    const y = scale.y(tick);
    svg.append(
      s("line", { x1: LEFT, x2: width - RIGHT, y1: y, y2: y, class: "grid" }),
      s("text", { x: LEFT - 8, y: y + 4, class: "tick", "text-anchor": "end" }, number(tick, 2)),
    );
  }
  const every = Math.ceil((given.places.length * 34) / Math.max(width - LEFT - RIGHT, 1));
  given.places.forEach((name, place) => {
    if (place % every === 0) {
      svg.append(s("text", { x: x(place), y: TOP + HEIGHT + 18, class: "tick", "text-anchor": "middle" }, name));
    }
  });
  svg.append(s("text", { x: (LEFT + width - RIGHT) / 2, y: TOP + HEIGHT + 38, class: "tick strong", "text-anchor": "middle" }, given.below));
  if (given.chosen !== undefined) {
    svg.append(s("line", { x1: x(given.chosen), x2: x(given.chosen), y1: TOP, y2: TOP + HEIGHT, class: "chosen-place" }));
  }
  for (const band of given.bands ?? []) svg.append(s("path", { d: area(band, x, scale.y), class: `band t${band.colour}` }));
  for (const line of given.lines) {
    svg.append(s("path", { d: path(line.values, x, scale.y), class: `line t${line.colour}${line.dashed ? " dashed" : ""}` }));
    line.values.forEach((value, place) => {
      if (value !== null) {
        svg.append(s("circle", { cx: x(place), cy: scale.y(value), r: 3.2, class: `dot t${line.colour}` }, s("title", {}, `${line.name}, ${given.places[place]}: ${number(value)}`)));
      }
    });
  }
  if (given.choose) svg.append(...targets(given, x, (width - LEFT - RIGHT) / last));
  return svg;
}

function targets(given: Chart, x: (place: number) => number, step: number): SVGElement[] {
  return given.places.map((_, place) => {
    const target = s("rect", { x: x(place) - step / 2, y: TOP, width: step, height: HEIGHT, class: "target", "data-place": place });
    target.addEventListener("click", () => given.choose?.(place));
    return target;
  });
}

interface Scale {
  readonly y: (value: number) => number;
  readonly ticks: readonly number[];
}

function vertical(given: Chart): Scale {
  const every = [...given.lines.map((line) => line.values), ...(given.bands ?? []).flatMap((band) => [band.low, band.high])].flat();
  const known = every.filter((value): value is number => value !== null && Number.isFinite(value));
  return given.log ? logarithmic(known) : plain(known);
}

/** Powers of ten; what is 0 stands on the lowest line. */
function logarithmic(values: readonly number[]): Scale {
  const above = values.filter((value) => value > 0);
  const low = above.length ? Math.floor(Math.log10(Math.min(...above))) : -1;
  const high = Math.max(above.length ? Math.ceil(Math.log10(Math.max(...above))) : 0, low + 1);
  const hasZero = values.some((value) => value <= 0);
  const bottom = hasZero ? low - (high - low) * 0.12 - 0.2 : low;
  const at = (exponent: number) => TOP + HEIGHT * (1 - (exponent - bottom) / (high - bottom));
  const step = Math.ceil((high - low) / 6);
  const ticks = Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, k) => 10 ** (low + k * step));
  return { y: (value) => at(value > 0 ? Math.log10(value) : bottom), ticks: hasZero ? [0, ...ticks] : ticks };
}

function plain(values: readonly number[]): Scale {
  const low = Math.min(0, ...values);
  const high = Math.max(...values, low + 1e-9);
  const rough = (high - low) / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((size) => size >= rough) ?? unit;
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)];
  const ticks = Array.from({ length: last - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(6)));
  return { y: (value) => TOP + HEIGHT * (1 - (value - first * step) / ((last - first) * step)), ticks };
}

function path(values: readonly (number | null)[], x: (place: number) => number, y: (value: number) => number): string {
  let text = "";
  let isOpen = false;
  values.forEach((value, place) => {
    if (value !== null) text += `${isOpen ? "L" : "M"}${x(place).toFixed(1)} ${y(value).toFixed(1)}`;
    isOpen = value !== null;
  });
  return text;
}

function area(band: Band, x: (place: number) => number, y: (value: number) => number): string {
  const points = (values: readonly (number | null)[]) => values.flatMap((value, place) => (value === null ? [] : [`${x(place).toFixed(1)} ${y(value).toFixed(1)}`]));
  const [up, down] = [points(band.high), points(band.low).reverse()];
  return up.length ? `M${up.join("L")}L${down.join("L")}Z` : "";
}
