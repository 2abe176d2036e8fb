// How scores become weights: anyformer/networks/probability_maps.py, operation by operation.

import type { Rounding } from "./arithmetic";

export type ProbabilityMap = (scores: Float64Array, round?: Rounding) => Float64Array;

export function probabilityMap(name: string, alpha = 1.5): ProbabilityMap {
  switch (name) {
    case "softmax":
      return softmax;
    case "hardmax":
      return (scores) => shared(scores, Math.max(...scores));
    case "sparsemax":
      return sparsemax;
    case "entmax":
      return (scores) => entmax(scores, alpha);
  }
  throw new Error(`no such probability map: ${name}`);
}

function softmax(scores: Float64Array, round?: Rounding): Float64Array {
  let most = -Infinity;
  for (const score of scores) if (score > most) most = score;
  const out = new Float64Array(scores.length);
  let total = 0;
  for (let k = 0; k < scores.length; k++) {
    const lag = round ? round(scores[k] - most) : scores[k] - most;
    out[k] = round ? round(Math.exp(lag)) : Math.exp(lag);
    const sum = total + out[k];
    total = round ? round(sum) : sum;
  }
  for (let k = 0; k < out.length; k++) out[k] = round ? round(out[k] / total) : out[k] / total;
  return out;
}

/** Equal shares for all that equal the largest. */
function shared(scores: Float64Array, most: number): Float64Array {
  let winners = 0;
  for (const score of scores) if (score === most) winners += 1;
  return scores.map((score) => (score === most ? 1 / winners : 0));
}

function lags(scores: Float64Array): Float64Array {
  let most = -Infinity;
  for (const score of scores) if (score > most) most = score;
  return scores.map((score) => score - most);
}

function sparsemax(scores: Float64Array): Float64Array {
  const z = lags(scores);
  const falling = Float64Array.from(z).sort().reverse();
  const sums = new Float64Array(z.length);
  let support = 0;
  for (let k = 0; k < z.length; k++) {
    sums[k] = k === 0 ? falling[0] : sums[k - 1] + falling[k];
    if (1 + (k + 1) * falling[k] > sums[k]) support += 1;
  }
  const tau = (sums[support - 1] - 1) / support;
  return addingUp(z.map((one) => Math.max(one - tau, 0)), z);
}

function power(x: number, exponent: number): number {
  if (exponent === 1) return x;
  if (exponent === 2) return x * x;
  if (exponent === 0.5) return Math.sqrt(x);
  return x ** exponent;
}

function entmax(scores: Float64Array, alpha: number): Float64Array {
  const z = lags(scores).map((one) => (alpha - 1) * one);
  const exponent = 1 / (alpha - 1);
  const powers = (tau: number) => z.map((one) => power(Math.max(one - tau, 0), exponent));
  let low = -1;
  let high = -power(1 / z.length, alpha - 1);
  for (let k = 0; k < 64; k++) {
    const middle = (low + high) / 2;
    if (sum(powers(middle)) >= 1) low = middle;
    else high = middle;
  }
  return addingUp(powers(low), z);
}

function sum(values: Float64Array): number {
  let total = values[0];
  for (let k = 1; k < values.length; k++) total += values[k];
  return total;
}

function addingUp(powers: Float64Array, z: Float64Array): Float64Array {
  if (powers.every((one, k) => one === 0 || z[k] === 0)) return shared(z, 0);
  const total = sum(powers);
  return powers.map((one) => one / total);
}
