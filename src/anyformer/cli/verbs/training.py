"""`pretrain` and `finetune`: BERTs with any token mixers, on one CPU or under `accelerate launch` and `torchrun`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyformer.cli.output import Json, emit, note
from anyformer.cli.plugins import MIXER_NAMES, Plugins, load_plugins
from anyformer.cli.watching import a_run, training_bar
from anyformer.errors import UsageError

if TYPE_CHECKING:
    from anyformer.training import RunFolder
    from anyformer.training.tasks.finetune import Examples

Output = Annotated[
    Path, typer.Option("--output", "-o", help="The run's folder; started again with the same options, a run goes on.")
]
Seed = Annotated[int | None, typer.Option(help="What the weights, the batches and dropout are drawn from.")]
Batch = Annotated[int | None, typer.Option(help="Sequences a step, over all processes.")]
AtOnce = Annotated[
    int | None, typer.Option(help="Of them, how many at a time in each process: fewer need less memory.")
]
Precision = Annotated[
    str | None, typer.Option(help="What steps are computed in: fp32, bf16, on GPUs fp16; weights stay in fp32.")
]
Rate = Annotated[float | None, typer.Option("--learning-rate", help="The largest learning rate.")]
HeldOut = Annotated[str | None, typer.Option(help="What to measure on; else a part of the data.")]


def pretrain(
    output: Output,
    size: Annotated[str | None, typer.Option(help="tiny, mini, small or base.")] = None,
    recipe: Annotated[Path | None, typer.Option(metavar="FILE", help="A TOML recipe, instead of a size.")] = None,
    mixer: Annotated[
        list[str] | None,
        typer.Option(
            help=f"For all, or repeated for each layer: {MIXER_NAMES}, or one of a --plugin;"
            " with sizes as in convolution:kernel=15 or sparse-attention:heads=4,pattern=star."
        ),
    ] = None,
    plugin: Plugins = None,
    corpus: Annotated[
        str | None,
        typer.Option(help="A text file or folder (plain, .xz, .gz), hub:NAME, or nothing: a synthetic language."),
    ] = None,
    held_out: HeldOut = None,
    tokenizer: Annotated[
        Path | None, typer.Option(help="A tokenizer's folder, tokenizer.json or vocab.txt; else one is trained.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="masked-words, or next-words: a language model that generates text.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Steps of the optimizer.")] = None,
    tokens: Annotated[int | None, typer.Option(help="The length of the sequences.")] = None,
    batch: Batch = None,
    at_once: AtOnce = None,
    learning_rate: Rate = None,
    seed: Seed = None,
    precision: Precision = None,
    json: Json = False,
) -> None:
    """Pre-train a BERT on masked words, or on next words."""
    if size is not None and recipe is not None:
        raise UsageError("--size and --recipe must not both be given: a recipe names its size.")
    with a_run():
        from anyformer import training

        load_plugins(plugin)
        start = training.Recipe.of_size(size or "tiny") if recipe is None else training.read_recipe(recipe)
        asked = start.changed(
            architecture={"mixers": training.parse_mixers(mixer, start.architecture) if mixer else None},
            text={"tokens": tokens, "task": task},
            schedule={
                "steps": steps,
                "batch": batch,
                "at_once": at_once,
                "learning_rate": learning_rate,
                "seed": seed,
                "precision": precision,
            },
        )
        text = training.prepare_run(
            asked,
            training.open_corpus(corpus),
            output,
            held_out=None if held_out is None else training.open_corpus(held_out),
            tokenizer=tokenizer,
        )
        with training_bar("", asked.schedule, asked.text.tokens) as watch:
            folder = training.pretrain(asked, text, output, watch)
        _show(folder, json)


def finetune(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a model, as OUTPUT/model of pretrain.")],
    output: Output,
    pairs: Annotated[
        list[str] | None,
        typer.Option(help="Labelled texts as CSV, TSV, JSON or Parquet, packed or not, or glue:mnli; repeatable."),
    ] = None,
    questions: Annotated[Path | None, typer.Option(help="SQuAD JSON (plain, .xz, .gz).")] = None,
    held_out: HeldOut = None,
    plugin: Plugins = None,
    epochs: Annotated[float, typer.Option(help="How often every example is seen.")] = 3.0,
    batch: Batch = None,
    at_once: AtOnce = None,
    learning_rate: Rate = None,
    seed: Seed = None,
    precision: Precision = None,
    json: Json = False,
) -> None:
    """Fine-tune a pre-trained BERT or RoBERTa to classify texts or pairs of texts, or to find answers."""
    if (pairs is None) == (questions is None):
        got = "neither" if pairs is None else "both"
        raise UsageError(f"exactly one of --pairs and --questions must be given: what to learn; got {got}.")
    with a_run():
        from anyformer import training
        from anyformer.training.run.recipe import changed
        from anyformer.training.tasks.finetune import TUNING, Sources

        load_plugins(plugin)
        training.RunFolder(output).require_free()
        examples, unseen, unlabelled = _examples(pairs, questions, held_out)
        if unlabelled:
            note(f"rows without a label, left out: {unlabelled}")
        given = {"learning_rate": learning_rate, "seed": seed, "precision": precision}
        schedule = changed(TUNING, batch=batch, at_once=at_once, **given)
        sources = Sources(tuple(pairs or [str(questions)]), (held_out or "a tenth of the training data",))
        with training_bar("", schedule.for_epochs(len(examples), epochs)) as watch:
            folder = training.finetune(model, examples, unseen, output, epochs, schedule, watch, sources)
        _show(folder, json)


def _examples(
    pairs: list[str] | None, questions: Path | None, held_out: str | None
) -> tuple["Examples", "Examples", int]:
    """What to train on, what to measure on, by default a tenth of the data, and how many rows have no label."""
    from anyformer import training
    from anyformer.training.data.hold_out import TENTH

    if questions is not None:
        asked = training.read_questions(questions)
        if held_out is None:
            return *training.split_questions(asked, TENTH, seed=0), 0
        return asked, training.read_questions(held_out), 0
    labelled = training.read_all_pairs(pairs or [])
    if held_out is None:
        return *training.split_pairs(labelled, TENTH, seed=0), labelled.skipped
    unseen = training.read_pairs(held_out, labelled.names)
    return labelled, unseen, labelled.skipped + unseen.skipped


def _show(folder: "RunFolder", json: bool) -> None:
    from anyformer.reports.training import run_data, run_view

    emit(json, run_data(folder), run_view(folder))
