// What a measurement of contexts holds, as Python writes it (reports/contextuality/data.py).

export type Kind = "same_token" | "any_tokens" | "within";

export interface ClosestData {
  readonly distance: number | null;
  readonly places: number;
  readonly quantiles: readonly number[];
  readonly is_exact: boolean;
  readonly recall: number | null;
}

/** A piece of text, and whether the other side has the same one at the same distance. */
export type Piece = readonly [string, boolean];

export interface SideData {
  readonly before: readonly Piece[];
  readonly token: string;
  readonly after: readonly Piece[];
}

export interface WitnessData {
  readonly kind: Kind;
  readonly distance: number;
  readonly places: readonly (readonly [number, number])[];
  readonly sides: readonly SideData[];
}

export interface LayerData {
  readonly name: string;
  readonly width: number;
  readonly spread: number;
  readonly margin: number;
  readonly verdict: "contextual" | "not_contextual" | "undecided";
  readonly within: ClosestData;
  readonly same_token: ClosestData;
  readonly any_tokens: ClosestData;
  readonly apart: number | null;
  readonly similarity: {
    readonly anisotropy: number;
    readonly self_similarity: number | null;
    readonly within_sequences: number | null;
    readonly explained_variance: number | null;
    readonly tokens: number;
  };
  readonly witnesses: readonly WitnessData[];
}

export interface SensitivityData {
  readonly changed: number;
  readonly gaps: readonly number[];
  readonly moved: readonly (readonly number[])[];
  readonly reached: readonly number[];
  readonly smallest: readonly number[];
}

export interface ContextsPageData {
  readonly model: string;
  readonly symmetry: "equivariant" | "none";
  readonly sequences: number;
  readonly repeated: number;
  readonly places: number;
  readonly tokens: number;
  readonly layers: readonly LayerData[];
  readonly sensitivity: readonly SensitivityData[];
  readonly kinds: Readonly<Record<Kind, string>>;
  readonly ending: string;
  readonly ids_in_words: string | null;
}
