// The current input, what the network and the target make of it, and the views that show it.

import type { PageData } from "./data";
import { Network, type Walk } from "./network";
import { Program } from "./program";

export interface View {
  update(): void;
}

export class App {
  readonly network: Network;
  readonly target: Program | null;
  readonly program: Program | null;
  readonly low: readonly number[];
  readonly high: readonly number[];
  input: Float64Array;
  token = 0;
  walk: Walk;
  wanted: Float64Array | null = null;
  /** Milliseconds from an input to all views, of the last frame. */
  frame = 0;
  private readonly views: View[] = [];
  private waiting = false;

  constructor(readonly data: PageData) {
    this.network = new Network(data.network);
    const { tokens, width } = this.network;
    this.target = data.target ? new Program(data.target, tokens, width) : null;
    this.program = data.program ? new Program(data.program, tokens, width) : null;
    // A target with compact support is also looked at a little outside of it.
    const margin = data.domain.kind === "compact-support" ? 1 / 8 : 0;
    this.low = data.domain.low.map((low, i) => low - margin * (data.domain.high[i] - low));
    this.high = data.domain.high.map((high, i) => high + margin * (high - data.domain.low[i]));
    this.input = Float64Array.from(data.start);
    this.walk = this.network.walk(this.input);
    this.compute();
  }

  get colours(): number {
    return Math.min(this.network.tokens, 8);
  }

  add(view: View): void {
    this.views.push(view);
  }

  /** The target at any input: 0 outside a compact support. */
  wantedAt(x: ArrayLike<number>): Float64Array | null {
    if (!this.target) return null;
    const { width } = this.network;
    const { kind, low, high } = this.data.domain;
    const outside = kind === "compact-support" && Array.from(x).some((one, k) => one < low[k % width] || one > high[k % width]);
    return outside ? new Float64Array(x.length) : this.target.outputs(x);
  }

  move(index: number, value: number): void {
    const coordinate = index % this.network.width;
    const inside = Math.min(Math.max(value, this.low[coordinate]), this.high[coordinate]);
    if (this.input[index] === inside) return;
    this.input[index] = inside;
    this.changed();
  }

  replace(input: ArrayLike<number>): void {
    this.input = Float64Array.from(input);
    this.changed();
  }

  choose(token: number): void {
    this.token = Math.min(Math.max(token, 0), this.network.tokens - 1);
    this.changed();
  }

  random(): Float64Array {
    const { width } = this.network;
    const { low, high } = this.data.domain;
    return this.input.map((_, k) => low[k % width] + Math.random() * (high[k % width] - low[k % width]));
  }

  changed(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.refresh();
    });
  }

  refresh(): void {
    const start = performance.now();
    this.compute();
    for (const view of this.views) view.update();
    this.frame = performance.now() - start;
  }

  private compute(): void {
    this.walk = this.network.walk(this.input);
    this.wanted = this.wantedAt(this.input);
  }
}
