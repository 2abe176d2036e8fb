// The network's meaning, as anyformer/networks/evaluate.py defines it: the order of operations is part of it.

import { fused, roundingOf, sumToOdd, type Rounding } from "./arithmetic";
import { unpack, type NeighboursData, type NetworkData, type Packed, type StageData } from "./data";
import { probabilityMap, type ProbabilityMap } from "./weights";

/** The rows of a matrix without their zeros: products with 0 change nothing. */
interface Matrix {
  readonly rows: number;
  readonly starts: Int32Array;
  readonly columns: Int32Array;
  readonly values: Float64Array;
}

interface Head {
  readonly W_Q: Matrix;
  readonly b_Q: Float64Array;
  readonly W_K: Matrix;
  readonly W_V: Matrix;
  readonly W_O: Matrix;
  readonly idle: boolean;
}

interface AttentionLayer {
  readonly heads: readonly Head[];
  readonly map: ProbabilityMap;
  readonly views: readonly NeighboursData[] | null;
}

interface FeedForwardLayer {
  readonly W_1: Matrix;
  readonly b_1: Float64Array;
  readonly W_2: Matrix;
  readonly b_2: Float64Array;
  readonly activate: (t: number) => number;
}

type Stage =
  | { readonly kind: "attention"; readonly layers: readonly AttentionLayer[] }
  | { readonly kind: "feed_forward"; readonly layers: readonly FeedForwardLayer[] };

/** The weights of one head of one layer for an input: queries by keys. */
export interface HeadWeights {
  readonly stage: number;
  readonly layer: number;
  readonly head: number;
  readonly weights: Float64Array;
}

/** An input's whole way. `states[0]` is the stream before the first stage, `states[k + 1]` after stage k. */
export interface Walk {
  readonly output: Float64Array;
  readonly states: readonly Float64Array[];
  readonly heads: readonly HeadWeights[];
}

export class Network {
  readonly tokens: number;
  readonly width: number;
  readonly stream: number;
  private readonly round: Rounding | undefined;
  private readonly stages: readonly Stage[];
  private readonly embedding: Matrix | null;
  private readonly readOut: Matrix | null;
  private readonly bias: Float64Array | null;
  private readonly positions: Float64Array | null;

  constructor(data: NetworkData) {
    this.tokens = data.tokens;
    this.width = data.width;
    this.stream = data.stream_width;
    this.round = roundingOf(data.dtype);
    let before = 0;
    this.stages = data.stages.map((stage) => {
      const built = stageOf(stage, data, before);
      if (stage.kind === "attention") before += stage.layers;
      return built;
    });
    const { W_E, W_R, b_R, positional_encoding } = data.around;
    this.embedding = W_E ? matrixOf(W_E) : null;
    this.readOut = W_R ? matrixOf(W_R) : null;
    this.bias = b_R ? unpack(b_R) : null;
    this.positions = positional_encoding ? unpack(positional_encoding) : null;
  }

  /** The output for one sequence, token by token. */
  evaluate(input: ArrayLike<number>): Float64Array {
    return this.follow(input, null);
  }

  /** The same, with every state and all attention weights on the way. */
  walk(input: ArrayLike<number>): Walk {
    const states: Float64Array[] = [];
    const heads: HeadWeights[] = [];
    return { output: this.follow(input, { states, heads }), states, heads };
  }

  private follow(input: ArrayLike<number>, seen: { states: Float64Array[]; heads: HeadWeights[] } | null): Float64Array {
    const { round, tokens } = this;
    const x = Float64Array.from(input);
    if (round) for (let i = 0; i < x.length; i++) x[i] = round(x[i]);
    let state = this.embedding ? this.linear(this.embedding, x, this.width, null) : x;
    if (this.positions) {
      const moved = new Float64Array(state.length);
      for (let i = 0; i < state.length; i++) {
        const sum = state[i] + this.positions[i];
        moved[i] = round ? round(sum) : sum;
      }
      state = moved;
    }
    seen?.states.push(state);
    for (let k = 0; k < this.stages.length; k++) {
      const stage = this.stages[k];
      if (stage.kind === "attention") {
        stage.layers.forEach((layer, j) => {
          state = this.attend(layer, state, (head, weights) => seen?.heads.push({ stage: k, layer: j, head, weights }));
        });
      } else {
        state = state.slice();
        for (const layer of stage.layers) this.feed(layer, state);
      }
      seen?.states.push(state);
    }
    const output = this.readOut ? this.linear(this.readOut, state, this.stream, this.bias) : state.slice();
    for (let i = 0; i < tokens * this.width; i++) output[i] += 0;
    return output;
  }

  /** W x + b for every token: the bias, then one product after the other, each with a single rounding. */
  private linear(W: Matrix, x: Float64Array, width: number, b: Float64Array | null): Float64Array {
    const out = new Float64Array(this.tokens * W.rows);
    for (let t = 0; t < this.tokens; t++) this.fusedRow(W, x, t * width, b, out, t * W.rows);
    return out;
  }

  private fusedRow(W: Matrix, x: Float64Array, at: number, b: Float64Array | null, out: Float64Array, to: number): void {
    const { round } = this;
    for (let row = 0; row < W.rows; row++) {
      let total = b ? b[row] : 0;
      for (let i = W.starts[row]; i < W.starts[row + 1]; i++) {
        const factor = x[at + W.columns[i]];
        if (factor === 0) continue;
        total = round ? round(sumToOdd(factor * W.values[i], total)) : fused(factor, W.values[i], total);
      }
      out[to + row] = total;
    }
  }

  /** X + W_2 activation(W_1 X + b_1) + b_2, in place: tokens do not meet here. */
  private feed(layer: FeedForwardLayer, state: Float64Array): void {
    const { round, stream } = this;
    const hidden = new Float64Array(layer.W_1.rows);
    const added = new Float64Array(stream);
    for (let t = 0; t < this.tokens; t++) {
      this.fusedRow(layer.W_1, state, t * stream, layer.b_1, hidden, 0);
      for (let i = 0; i < hidden.length; i++) hidden[i] = layer.activate(hidden[i]);
      this.fusedRow(layer.W_2, hidden, 0, layer.b_2, added, 0);
      for (let i = 0; i < stream; i++) {
        const sum = state[t * stream + i] + added[i];
        state[t * stream + i] = round ? round(sum) : sum;
      }
    }
  }

  private attend(
    layer: AttentionLayer,
    x: Float64Array,
    record: (head: number, weights: Float64Array) => void,
  ): Float64Array {
    const { round, stream, tokens } = this;
    const r = round ?? ((value: number) => value);
    const mixed = new Float64Array(x.length);
    layer.heads.forEach((head, h) => {
      if (head.idle) return;
      const size = head.b_Q.length;
      const queries = this.times(head.W_Q, x, stream);
      for (let i = 0; i < queries.length; i++) queries[i] = r(queries[i] + head.b_Q[i % size]);
      const keys = this.times(head.W_K, x, stream);
      const values = this.times(head.W_V, x, stream);
      const seen = layer.views ? layer.views[h % layer.views.length] : null;
      const weights = new Float64Array(tokens * tokens);
      const gathered = new Float64Array(tokens * size);
      for (let q = 0; q < tokens; q++) {
        const count = seen ? seen.starts[q + 1] - seen.starts[q] : tokens;
        const scores = new Float64Array(count);
        for (let i = 0; i < count; i++) {
          const key = seen ? seen.keys[seen.starts[q] + i] : i;
          let total = r(queries[q * size] * keys[key * size]);
          for (let m = 1; m < size; m++) total = r(total + r(queries[q * size + m] * keys[key * size + m]));
          scores[i] = total;
        }
        const shares = layer.map(scores, round);
        for (let i = 0; i < count; i++) {
          const key = seen ? seen.keys[seen.starts[q] + i] : i;
          weights[q * tokens + key] = shares[i];
          for (let m = 0; m < size; m++) {
            gathered[q * size + m] = r(gathered[q * size + m] + r(shares[i] * values[key * size + m]));
          }
        }
      }
      const written = this.times(head.W_O, gathered, size);
      for (let i = 0; i < mixed.length; i++) mixed[i] = r(mixed[i] + written[i]);
      record(h, weights);
    });
    const out = new Float64Array(x.length);
    for (let i = 0; i < x.length; i++) out[i] = r(x[i] + mixed[i]);
    return out;
  }

  /** W x for every token, products and sums rounded one by one. */
  private times(W: Matrix, x: Float64Array, width: number): Float64Array {
    const { round } = this;
    const out = new Float64Array(this.tokens * W.rows);
    for (let t = 0; t < this.tokens; t++) {
      for (let row = 0; row < W.rows; row++) {
        let total = 0;
        for (let i = W.starts[row]; i < W.starts[row + 1]; i++) {
          const product = x[t * width + W.columns[i]] * W.values[i];
          total = round ? round(total + round(product)) : total + product;
        }
        out[t * W.rows + row] = total;
      }
    }
    return out;
  }
}

function stageOf(stage: StageData, data: NetworkData, before: number): Stage {
  const arrays = Object.fromEntries(Object.entries(stage.arrays).map(([name, packed]) => [name, unpack(packed)]));
  const part = (name: string, index: number, count: number): Float64Array => {
    const size = arrays[name].length / count;
    return arrays[name].subarray(index * size, (index + 1) * size);
  };
  if (stage.kind === "feed_forward") {
    const [count, hidden, width] = stage.arrays.W_1.shape;
    const activate = activationOf(stage.activation);
    return {
      kind: "feed_forward",
      layers: range(count).map((k) => ({
        W_1: matrix(part("W_1", k, count), hidden, width),
        b_1: part("b_1", k, count),
        W_2: matrix(part("W_2", k, count), width, hidden),
        b_2: part("b_2", k, count),
        activate,
      })),
    };
  }
  const [count, heads, size, width] = stage.arrays.W_Q.shape;
  const map = probabilityMap(stage.map?.name ?? "softmax", stage.map?.alpha);
  return {
    kind: "attention",
    layers: range(count).map((k) => ({
      map,
      views: data.pattern ? data.pattern[(before + k) % data.pattern.length] : null,
      heads: range(heads).map((h) => {
        const at = k * heads + h;
        const W_O = part("W_O", at, count * heads);
        return {
          W_Q: matrix(part("W_Q", at, count * heads), size, width),
          b_Q: part("b_Q", at, count * heads),
          W_K: matrix(part("W_K", at, count * heads), size, width),
          W_V: matrix(part("W_V", at, count * heads), size, width),
          W_O: matrix(W_O, width, size),
          idle: W_O.every((one) => one === 0),
        };
      }),
    })),
  };
}

function activationOf(pieces: StageData["activation"]): (t: number) => number {
  if (pieces === undefined) return (t) => (t < 0 ? 0 : t);
  return (t) => {
    const piece = pieces.breaks.filter((one) => one <= t).length;
    return pieces.slopes[piece] * t + pieces.intercepts[piece];
  };
}

function matrixOf(packed: Packed): Matrix {
  return matrix(unpack(packed), packed.shape[0], packed.shape[1]);
}

function matrix(values: Float64Array, rows: number, columns: number): Matrix {
  const starts = new Int32Array(rows + 1);
  const places: number[] = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      if (values[row * columns + column] !== 0) places.push(row * columns + column);
    }
    starts[row + 1] = places.length;
  }
  return {
    rows,
    starts,
    columns: Int32Array.from(places, (place) => place % columns),
    values: Float64Array.from(places, (place) => values[place]),
  };
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
