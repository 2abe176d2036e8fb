"""Contexts among a million vectors, controls side by side, and a trained BERT on Wikipedia: what docs/results shows.

    python -m benchmarks.contextuality million [--text wiki.txt.xz]
    python -m benchmarks.contextuality controls --text wiki.txt.xz --tokenizer FOLDER
    python -m benchmarks.contextuality model --text wiki.txt.xz --model FOLDER

Each writes its numbers to benchmarks/results, and the last two draw the pictures of docs/results/contextuality.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyformer.arrays import Integers
from anyformer.contextuality import ContextReport, measure_contextual_mapping
from anyformer.contextuality.controls import controls
from anyformer.contextuality.pairs import same_token
from anyformer.contextuality.places import Places, places_of
from anyformer.reports.contextuality.data import context_data
from anyformer.reports.contextuality.pictures import draw_contexts, draw_side_by_side
from anyformer.training.data.corpora import open_corpus
from benchmarks.machine import describe

RESULTS = Path(__file__).parent / "results"
PICTURES = Path(__file__).parents[1] / "docs" / "results" / "contextuality"
MILLION, WIDTH, LENGTH = 1_000_000, 384, 128
VOCABULARY = 30_522
SHORTEST = 20
"""Words of a paragraph; titles have fewer."""


def paragraphs(source: str, most: int) -> list[str]:
    """The first paragraphs of a text, without titles."""
    found = (line for line in open_corpus(source).lines() if len(line.split()) >= SHORTEST)
    return [line for line, _ in zip(found, range(most), strict=False)]


def million(text: str | None, tokenizer: str | None) -> dict[str, Any]:
    """The nearest vector of the same token in another context, for a million vectors of width 384."""
    places = places_of(_rows(text, tokenizer))
    places = Places(places.tokens[:MILLION], places.sequences[:MILLION], places.starts)
    with tempfile.TemporaryDirectory() as folder:
        vectors = _vectors(Path(folder) / "vectors.bin", places)
        before, began = time.process_time(), time.perf_counter()
        found = same_token(vectors, places)
        seconds, wall = time.process_time() - before, time.perf_counter() - began
        pairs = int((np.unique(places.tokens, return_counts=True)[1].astype(np.float64) ** 2).sum() / 2)
        known = found.partners >= 0
        return {
            "vectors": len(places),
            "width": WIDTH,
            "tokens": len(np.unique(places.tokens)),
            "text": text is not None,
            "pairs": pairs,
            "process_seconds": seconds,
            "wall_seconds": wall,
            "peak_gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
            "smallest": float(found.distances[known].min()),
            "with_partner": int(known.sum()),
        }


def _rows(text: str | None, tokenizer: str | None) -> list[Integers]:
    """A million word pieces of real text; without text, numbers by Zipf's law."""
    count = MILLION // LENGTH + 1
    if text is None or tokenizer is None:
        weights = 1 / np.arange(1, VOCABULARY + 1)
        rng = np.random.default_rng(0)
        drawn = rng.choice(VOCABULARY, (count, LENGTH), p=weights / weights.sum())
        return list(drawn.astype(np.int64))
    import transformers

    coded = transformers.AutoTokenizer.from_pretrained(tokenizer, local_files_only=True)
    joined: list[int] = []
    for line in open_corpus(text).lines():
        joined += coded(line, add_special_tokens=False)["input_ids"]
        if len(joined) >= count * LENGTH:
            break
    return list(np.array(joined[: len(joined) // LENGTH * LENGTH], dtype=np.int64).reshape(-1, LENGTH))


def _vectors(place: Path, places: Places) -> NDArray[Any]:
    """Around a centre for each token, as far apart as those of trained layers are."""
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((VOCABULARY, WIDTH)).astype(np.float32)
    vectors = np.memmap(place, mode="w+", dtype=np.float32, shape=(len(places), WIDTH))
    for start in range(0, len(places), 1 << 14):
        part = slice(start, start + (1 << 14))
        noise = rng.standard_normal((len(places.tokens[part]), WIDTH)).astype(np.float32)
        vectors[part] = centres[places.tokens[part]] + np.float32(0.5) * noise
    return vectors


def side_by_side(text: str, tokenizer: str) -> dict[str, Any]:
    """The controls, all of one size, on paragraphs, and on paragraphs of which each has a twin with another end."""
    import transformers

    coded = transformers.AutoTokenizer.from_pretrained(tokenizer, local_files_only=True)
    rows = [np.array(coded(line, truncation=True, max_length=LENGTH)["input_ids"]) for line in paragraphs(text, 100)]
    rng = np.random.default_rng(0)
    twins = [np.concatenate([row[:-2], rng.integers(1000, len(coded), 1), row[-1:]]) for row in rows[:30]]
    models = controls(len(coded), length=LENGTH)
    on_text = {name: measure_contextual_mapping(model, rows, changes=(1, 4)) for name, model in models.items()}
    on_twins = {
        name: measure_contextual_mapping(model, [*rows[:30], *twins], changes=()) for name, model in models.items()
    }
    PICTURES.mkdir(parents=True, exist_ok=True)
    for suffix in ("svg", "png"):
        draw_side_by_side(on_text, PICTURES / f"controls.{suffix}")
    return {
        "text": {name: _brief(found) for name, found in on_text.items()},
        "twins": {name: _brief(found) for name, found in on_twins.items()},
    }


def _brief(found: ContextReport) -> dict[str, Any]:
    data = context_data(found)
    for layer in data["layers"]:
        del layer["witnesses"]
    return data


def trained(text: str, model: str) -> dict[str, Any]:
    """A trained model on 2,000 paragraphs."""
    before, began = time.process_time(), time.perf_counter()
    found = measure_contextual_mapping(model, paragraphs(text, 2000))
    seconds = {"process_seconds": time.process_time() - before, "wall_seconds": time.perf_counter() - began}
    PICTURES.mkdir(parents=True, exist_ok=True)
    for suffix in ("svg", "png"):
        draw_contexts(found, PICTURES / f"trained.{suffix}")
    return {**_brief(found), **seconds}


def main() -> None:
    """Measure one of them, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("million", "controls", "model"))
    parser.add_argument("--text")
    parser.add_argument("--tokenizer")
    parser.add_argument("--model")
    given = parser.parse_args()
    if given.what == "million":
        found = million(given.text, given.tokenizer)
    elif given.what == "controls":
        found = side_by_side(given.text, given.tokenizer)
    else:
        found = trained(given.text, given.model)
    place = RESULTS / f"contextuality_{given.what}.json"
    place.write_text(json.dumps({"machine": describe(), **found}, indent=1, allow_nan=False) + "\n")
    print(place, {name: value for name, value in found.items() if isinstance(value, float | int)})


if __name__ == "__main__":
    main()
