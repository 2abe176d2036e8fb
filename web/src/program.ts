// A program's values in float64, step by step: anyformer/programs/values.py.

import { unpack, type Coefficient, type FormData_, type NodeData, type ProgramData } from "./data";

type Values = Float64Array[];

export class Program {
  private readonly tables: (Float64Array | null)[];

  constructor(
    private readonly data: ProgramData,
    private readonly tokens: number,
    private readonly width: number,
  ) {
    this.tables = data.nodes.map((node) => (node.table ? unpack(node.table) : null));
  }

  /** The value of every node at every token. */
  nodes(x: ArrayLike<number>): Values {
    const values: Values = [];
    this.data.nodes.forEach((node, index) => {
      const args = node.args.map((form) => this.form(form, values));
      values.push(this.step(node, args, this.tables[index], x));
    });
    return values;
  }

  /** The outputs, token by token. */
  outputs(x: ArrayLike<number>, values: Values = this.nodes(x)): Float64Array {
    const out = new Float64Array(this.tokens * this.width);
    this.data.outputs.forEach((form, coordinate) => {
      this.form(form, values).forEach((value, token) => (out[token * this.width + coordinate] = value));
    });
    return out;
  }

  private form(form: FormData_, values: Values): Float64Array {
    const total = new Float64Array(this.tokens);
    for (let t = 0; t < this.tokens; t++) {
      let sum = at(form.constant, t);
      for (const [node, coefficient] of form.terms) sum += at(coefficient, t) * values[node][t];
      total[t] = sum;
    }
    return total;
  }

  private step(node: NodeData, args: Float64Array[], table: Float64Array | null, x: ArrayLike<number>): Float64Array {
    const n = this.tokens;
    const [a, b, c] = args;
    const each = (rule: (t: number) => number) => Float64Array.from({ length: n }, (_, t) => rule(t));
    switch (node.step) {
      case "Input":
        return each((t) => x[t * this.width + (node.coordinate ?? 0)]);
      case "Apply":
        return a.map((u) => apply(node, u));
      case "Relu":
        return a.map((u) => Math.max(u, 0));
      case "Absolute":
        return a.map(Math.abs);
      case "Maximum":
        return each((t) => Math.max(a[t], b[t]));
      case "Minimum":
        return each((t) => Math.min(a[t], b[t]));
      case "Choice":
        return each((t) => (a[t] > 0 ? b[t] : c[t]));
      case "Product":
        return each((t) => a[t] * b[t]);
      case "Norm":
        return each((t) => Math.hypot(a[t], b[t]));
      case "Gate":
        return each((t) => a[t] * (table as Float64Array)[t]);
      case "Mean": {
        const mean = a.reduce((sum, one) => sum + one, 0) / n;
        return each(() => mean);
      }
      case "Mix":
        return each((t) => a.reduce((sum, one, k) => sum + (table as Float64Array)[t * n + k] * one, 0));
      case "TokenMaximum": {
        const most = a.reduce((one, other) => Math.max(one, other), -Infinity);
        return each(() => most);
      }
      case "Attend":
        return this.attend(node.size ?? 0, args, table);
    }
    throw new Error(`no such step: ${node.step}`);
  }

  private attend(size: number, args: Float64Array[], offsets: Float64Array | null): Float64Array {
    const n = this.tokens;
    const value = args[2 * size];
    return Float64Array.from({ length: n }, (_, query) => {
      const scores = Float64Array.from({ length: n }, (_, key) => {
        let score = offsets ? offsets[query * n + key] : 0;
        for (let i = 0; i < size; i++) score += args[i][query] * args[size + i][key];
        return score;
      });
      const most = scores.reduce((one, other) => Math.max(one, other), -Infinity);
      let above = 0;
      let below = 0;
      scores.forEach((score, key) => {
        const weight = Math.exp(score - most);
        above += weight * value[key];
        below += weight;
      });
      return above / below;
    });
  }
}

function at(coefficient: Coefficient, token: number): number {
  return typeof coefficient === "number" ? coefficient : coefficient[token];
}

const FUNCTIONS: Readonly<Record<string, (u: number) => number>> = {
  exp: Math.exp,
  expm1: Math.expm1,
  log: Math.log,
  log1p: Math.log1p,
  sqrt: Math.sqrt,
  reciprocal: (u) => 1 / u,
  square: (u) => u * u,
  tanh: Math.tanh,
  sinh: Math.sinh,
  cosh: Math.cosh,
  sin: Math.sin,
  cos: Math.cos,
  arctan: Math.atan,
  arcsinh: Math.asinh,
  sigmoid: (u) => 0.5 * (1 + Math.tanh(0.5 * u)),
  erf,
};

function apply(node: NodeData, u: number): number {
  if (node.function === "power") return u ** (node.parameter as number);
  return FUNCTIONS[node.function as string](u);
}

/** By its series near 0, and by the continued fraction of erfc from 2 on. */
function erf(u: number): number {
  const size = Math.abs(u);
  if (size < 2) {
    let term = size;
    let total = size;
    for (let k = 1; Math.abs(term) > 1e-18 * total; k++) {
      term *= (2 * size * size) / (2 * k + 1);
      total += term;
    }
    return Math.sign(u) * (2 / Math.sqrt(Math.PI)) * Math.exp(-size * size) * total;
  }
  let fraction = 0;
  for (let k = 100; k > 0; k--) fraction = k / 2 / (size + fraction);
  return Math.sign(u) * (1 - Math.exp(-size * size) / (Math.sqrt(Math.PI) * (size + fraction)));
}
