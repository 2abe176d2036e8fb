// What the data island holds, and how packed numbers are read.

import type { DType } from "./arithmetic";

/** Float64 numbers in base64: all of them, or those that are not 0 with their places. */
export interface Packed {
  readonly shape: readonly number[];
  readonly values: string;
  readonly places?: string;
}

export interface StageData {
  readonly name: string;
  readonly role: string;
  readonly purpose: string;
  readonly kind: "attention" | "feed_forward";
  readonly layers: number;
  readonly units: number;
  readonly arrays: Readonly<Record<string, Packed>>;
  readonly map?: { readonly name: string; readonly alpha?: number };
  readonly activation?: {
    readonly breaks: readonly number[];
    readonly slopes: readonly number[];
    readonly intercepts: readonly number[];
  };
}

/** Keys by query, in CSR form. */
export interface NeighboursData {
  readonly starts: readonly number[];
  readonly keys: readonly number[];
}

export interface NetworkData {
  readonly tokens: number;
  readonly width: number;
  readonly stream_width: number;
  readonly dtype: DType;
  readonly stages: readonly StageData[];
  readonly around: Readonly<Record<string, Packed>>;
  readonly pattern: readonly (readonly NeighboursData[])[] | null;
}

export type Coefficient = number | readonly number[];

export interface FormData_ {
  readonly constant: Coefficient;
  readonly terms: readonly (readonly [number, Coefficient])[];
}

export interface NodeData {
  readonly step: string;
  readonly args: readonly FormData_[];
  readonly coordinate?: number;
  readonly function?: string;
  readonly parameter?: number | null;
  readonly size?: number;
  readonly table?: Packed | null;
}

export interface ProgramData {
  readonly nodes: readonly NodeData[];
  readonly outputs: readonly FormData_[];
}

/** A step that the network holds: which node, what it is, where it lives, how it is read, what is proved. */
export interface StepData {
  readonly node: number;
  readonly name: string;
  readonly formula: string;
  readonly where: string;
  readonly row: readonly (readonly [number, number])[];
  readonly constant: Coefficient;
  readonly proved: number;
}

export interface ContextsData {
  readonly ids: readonly (readonly number[])[];
  readonly cells: readonly (readonly number[])[];
  readonly coinciding: readonly boolean[];
  readonly total: number;
  readonly said: string;
}

export interface TableData {
  readonly lows: readonly (readonly number[])[];
  readonly highs: readonly (readonly number[])[];
  readonly code: { readonly direction: readonly number[]; readonly unit: number } | null;
  readonly coded: readonly number[];
  readonly contexts: ContextsData | null;
}

export interface TermData {
  readonly name: string;
  readonly words: string;
  readonly value: number;
  /** Its part of ε, between 0 and 1; null for a term that is no part of the sum. */
  readonly share: number | null;
}

export interface PlaneData {
  readonly axes: readonly [number, number];
  readonly base: readonly number[];
  readonly side: number;
  readonly values: Packed;
}

export interface PageData {
  readonly title: string;
  readonly words: readonly string[];
  readonly trusted: readonly string[];
  readonly facts: readonly (readonly [string, string])[];
  readonly omitted: readonly string[];
  readonly domain: { readonly kind: string; readonly low: readonly number[]; readonly high: readonly number[] };
  readonly network: NetworkData;
  readonly target: ProgramData | null;
  readonly plane: PlaneData | null;
  readonly program: ProgramData | null;
  readonly steps: readonly StepData[];
  readonly outputs: readonly string[];
  readonly table: TableData | null;
  readonly tolerance: number;
  readonly certified: number;
  readonly entry_bound: number | null;
  readonly norm: string;
  readonly terms: readonly TermData[];
  readonly worst: { readonly input: readonly number[]; readonly error: number; readonly samples: number } | null;
  readonly start: readonly number[];
  readonly heads: Readonly<Record<string, string>>;
}

function bytes(text: string): ArrayBuffer {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out.buffer;
}

/** The numbers of an array, its last axis running fastest. */
export function unpack(packed: Packed): Float64Array {
  const values = new Float64Array(bytes(packed.values));
  if (packed.places === undefined) return values;
  const places = new Uint32Array(bytes(packed.places));
  const out = new Float64Array(packed.shape.reduce((a, b) => a * b, 1));
  for (let i = 0; i < places.length; i++) out[places[i]] = values[i];
  return out;
}
