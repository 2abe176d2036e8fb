// Floating-point operations as anyformer/networks/fused.py and dtypes.py define them, bit for bit.

const SMALL = 2 ** -900;
const LARGE = 2 ** 900;
const SPLITTER = 2 ** 27 + 1;

const cell = new Float64Array(1);
const words = new Uint32Array(cell.buffer);
cell[0] = 1;
const LOW = words[0] === 0 ? 0 : 1; // which word holds the low bits
const HIGH = 1 - LOW;

/** a·b + c with a single rounding (Boldo and Melquiond 2008). */
export function fused(a: number, b: number, c: number): number {
  const product = a * b;
  if (a === 0 || b === 0) return product + c;
  const size = Math.abs(product);
  if (size > SMALL && size < LARGE && Math.abs(a) < LARGE && Math.abs(b) < LARGE && Math.abs(c) < LARGE) {
    const aShifted = SPLITTER * a;
    const aHigh = aShifted - (aShifted - a);
    const aLow = a - aHigh;
    const bShifted = SPLITTER * b;
    const bHigh = bShifted - (bShifted - b);
    const bLow = b - bHigh;
    const rest = aHigh * bHigh - product + aHigh * bLow + aLow * bHigh + aLow * bLow;
    if (rest === 0) return product + c; // the sum is the only rounding
    const middle = c + rest;
    let part = middle - c;
    const tail = c - (middle - part) + (rest - part);
    const head = product + middle;
    part = head - product;
    const headRest = product - (head - part) + (middle - part);
    return head + sumToOdd(tail, headRest);
  }
  return byFractions(a, b, c);
}

/** a + b; if that is not a float, the one of its two neighbours whose last bit is 1. */
export function sumToOdd(a: number, b: number): number {
  const total = a + b;
  if (!Number.isFinite(total)) return total;
  const part = total - a;
  const rest = a - (total - part) + (b - part);
  if (rest === 0) return total;
  cell[0] = total;
  if ((words[LOW] & 1) === 1) return total;
  if (rest > 0 === total > 0) words[LOW] += 1; // even, so nothing is carried
  else if (words[LOW] === 0) {
    words[LOW] = 0xffffffff;
    words[HIGH] -= 1;
  } else words[LOW] -= 1;
  return cell[0];
}

function byFractions(a: number, b: number, c: number): number {
  if (!Number.isFinite(a) || !Number.isFinite(b)) return a * b + c;
  if (!Number.isFinite(c)) return c;
  const [ma, ea] = parts(a);
  const [mb, eb] = parts(b);
  const [mc, ec] = parts(c);
  const exponent = Math.min(ea + eb, ec);
  return nearest(ma * mb * 2n ** BigInt(ea + eb - exponent) + mc * 2n ** BigInt(ec - exponent), exponent);
}

/** A float as a whole number times a power of two. */
function parts(x: number): [bigint, number] {
  cell[0] = x;
  const high = words[HIGH];
  const bits = (high >>> 20) & 0x7ff;
  let mantissa = (BigInt(high & 0xfffff) << 32n) | BigInt(words[LOW]);
  if (bits > 0) mantissa |= 1n << 52n;
  return [high >>> 31 ? -mantissa : mantissa, Math.max(bits, 1) - 1075];
}

/** The float nearest to m·2^e, ties to even. */
function nearest(m: bigint, e: number): number {
  if (m === 0n) return 0;
  const negative = m < 0n;
  let size = negative ? -m : m;
  const length = size.toString(2).length;
  const least = Math.max(e + length - 53, -1074);
  let exponent = e;
  if (least > e) {
    const shift = BigInt(least - e);
    const dropped = size & ((1n << shift) - 1n);
    const half = 1n << (shift - 1n);
    size >>= shift;
    if (dropped > half || (dropped === half && (size & 1n) === 1n)) size += 1n;
    exponent = least;
  }
  const value = Number(size) * 2 ** exponent;
  return negative ? -value : value;
}

export interface DType {
  readonly name: string;
  readonly bits: number;
  readonly leastExponent: number;
  readonly endExponent: number;
}

export type Rounding = (x: number) => number;

/** How a type rounds; undefined for float64, which needs no rounding of its own. */
export function roundingOf(dtype: DType): Rounding | undefined {
  if (dtype.name === "float64") return undefined;
  if (dtype.name === "float32") return Math.fround;
  const largest = (2 - 2 ** (1 - dtype.bits)) * 2 ** (dtype.endExponent - 1);
  return (x) => {
    if (x === 0 || !Number.isFinite(x)) return x;
    const unit = 2 ** (Math.max(exponentOf(x), dtype.leastExponent + 1) - dtype.bits);
    const near = toEven(x / unit) * unit;
    return Math.abs(near) > largest ? Math.sign(x) * Infinity : near;
  };
}

/** frexp's exponent: |x| is at least 2^(e−1) and below 2^e. */
function exponentOf(x: number): number {
  cell[0] = x;
  return ((words[HIGH] >>> 20) & 0x7ff) - 1022;
}

function toEven(x: number): number {
  const floor = Math.floor(x);
  const over = x - floor;
  if (over !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}
