"""Next words: what is asked, and runs from text to a model that goes on with a text."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from anyformer.errors import TrainingError
from anyformer.mixers import (
    Attention,
    Average,
    Bilinear,
    CausalAttention,
    Convolution,
    MixerBertForCausalLM,
    MixerError,
    PatternAttention,
)
from anyformer.training import Recipe, RunFolder, Schedule, Text, prepare_run, pretrain, read_recipe, train_tokenizer
from anyformer.training.data.synthetic.language import SyntheticLanguage
from anyformer.training.tasks.initialization import earlier, initialize
from anyformer.training.tasks.masked_words import Marks
from anyformer.training.tasks.next_words import NextWords, for_prompts, special_tokens
from tests.training.small import recipe, text

PAD, UNKNOWN, START, END, MASK = range(5)
MARKS = Marks(start=START, end=END, mask=MASK, vocabulary=300, special=(PAD, UNKNOWN, START, END, MASK))
STACK = (
    Convolution(kernel=5, filters=4),
    Average(),
    PatternAttention(2, "longformer:half_width=3,global_tokens=1"),
    Attention(2),
)


def task(tokens: int = 20, batch: int = 7, seed: int = 0, length: int = 5000) -> NextWords:
    random = np.random.default_rng(3)
    train, valid = (random.integers(5, 300, length).astype(np.uint16) for _ in range(2))
    return NextWords(train, valid, MARKS, Text(tokens, task="next-words"), Schedule(batch=batch, seed=seed))


def asked(**schedule) -> Recipe:
    return recipe(**schedule).changed(architecture={"mixers": STACK}, text={"task": "next-words"})


@given(tokens=st.integers(8, 40), step=st.integers(0, 10**6))
def test_a_window_is_a_start_and_a_piece_of_the_text_and_all_of_it_is_asked(tokens, step):
    made = task(tokens)
    batch = made.batch(step)
    assert batch["input_ids"].shape == (7, tokens)
    assert (batch["input_ids"][:, 0] == START).all()
    source = made.train.tobytes()
    assert all(row[1:].astype(np.uint16).tobytes() in source for row in batch["input_ids"].numpy())
    assert torch.equal(batch["labels"], batch["input_ids"])


def test_a_batch_depends_on_seed_and_step_alone():
    first = task().batch(5)["input_ids"]
    assert torch.equal(first, task().batch(5)["input_ids"])
    assert not torch.equal(first, task().batch(6)["input_ids"])
    assert not torch.equal(first, task(seed=1).batch(5)["input_ids"])


class Knows(torch.nn.Module):
    """Says that a word is followed by the one that has the next number."""

    def __init__(self) -> None:
        super().__init__()
        self.certainty = torch.nn.Parameter(torch.tensor(3.0))

    def forward(self, input_ids):
        scores = torch.nn.functional.one_hot((input_ids + 1) % 300, 300) * self.certainty
        return transformers.modeling_outputs.CausalLMOutput(logits=scores)


@torch.no_grad()
def test_the_measurements_are_of_all_next_words_whatever_the_batch():
    counting = (5 + np.arange(290)).astype(np.uint16)
    measured = replace(task(tokens=9), valid=counting).evaluate(Knows())
    # All words but the first of each window, which follows [CLS].
    assert measured["validation_accuracy"] == 7 / 8
    right, wrong = -torch.tensor([3.0, *[0.0] * 299]).log_softmax(dim=0)[:2].double()
    assert measured["validation_loss"] == pytest.approx(float(7 / 8 * right + 1 / 8 * wrong), rel=1e-5)
    assert replace(task(tokens=9, batch=3, seed=8), valid=counting).evaluate(Knows()) == measured


def test_a_corpus_shorter_than_one_window_is_refused():
    with pytest.raises(TrainingError, match="at least one sequence of 32 tokens"):
        task(tokens=32, length=31)


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> RunFolder:
    place = tmp_path_factory.mktemp("trained")
    return pretrain(asked(steps=60, learning_rate=5e-3), text(place / "text"), place / "run")


def test_training_lowers_the_loss(trained):
    rows = [row for row in trained.rows() if "validation_loss" in row]
    assert rows[-1]["validation_loss"] < rows[0]["validation_loss"] - 0.5
    assert rows[-1]["validation_accuracy"] > rows[0]["validation_accuracy"]


def test_what_is_left_is_a_language_model_of_hugging_face(trained):
    model = transformers.AutoModelForCausalLM.from_pretrained(trained.model)
    assert type(model) is MixerBertForCausalLM
    assert model.config.layer_mixers == tuple(mixer.causal() for mixer in STACK)
    told = model.generation_config
    assert (told.bos_token_id, told.eos_token_id, told.pad_token_id) == (START, END, PAD)


def test_the_folder_says_how_long_texts_may_be_and_what_the_model_is_for(trained):
    tokenizer = transformers.AutoTokenizer.from_pretrained(trained.model)
    assert tokenizer.model_max_length == 24
    assert (tokenizer.padding_side, tokenizer.bos_token, tokenizer.eos_token) == ("left", "[CLS]", "[SEP]")
    cut = tokenizer("the man " * 24, truncation=True)["input_ids"]
    assert (len(cut), cut[0]) == (24, START)
    card = (trained.model / "README.md").read_text()
    assert "pipeline_tag: text-generation" in card
    assert "AutoModelForCausalLM.from_pretrained" in card
    assert "| 4 | CausalAttention" in card


def test_prompts_go_on_in_the_pipeline_batched_or_not(trained):
    pipeline = transformers.pipeline("text-generation", model=str(trained.model), device="cpu", batch_size=2)
    tokenizer = pipeline.tokenizer
    assert tokenizer("the")["input_ids"][0] == START
    assert END not in tokenizer("the")["input_ids"]
    padded = tokenizer(["the", "the man and"], padding=True)
    assert padded["input_ids"][0][0] == PAD, "what is generated follows the words, so padding stands before them"
    options = {"max_new_tokens": 6, "do_sample": False}
    together = pipeline(["the", "the man and"], **options)
    alone = [pipeline("the", **options), pipeline("the man and", **options)]
    assert together == alone
    assert together[1][0]["generated_text"].startswith("the man and")


def test_products_in_bfloat16_train_too(trained, tmp_path):
    """Another run than in 32 bits from the first loss on, and nearly as good."""
    words = text(trained.place.parent / "text")
    halved = pretrain(asked(steps=60, learning_rate=5e-3, precision="bf16"), words, tmp_path / "run")
    (start, *_, end), (_, *_, full) = ([r for r in run.rows() if "validation_loss" in r] for run in (halved, trained))
    assert end["validation_loss"] < start["validation_loss"] - 0.5
    assert abs(end["validation_loss"] - full["validation_loss"]) < 0.2
    losses = [next(row["loss"] for row in run.rows() if "loss" in row) for run in (halved, trained)]
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=0.01)


def test_a_folder_of_another_task_is_refused_before_anything_is_written(tmp_path):
    corpus, place = SyntheticLanguage(sentences=300), tmp_path / "run"
    steps = asked(steps=1)
    pretrain(steps, prepare_run(steps, corpus, place), place)
    kept = {file: file.read_bytes() for file in place.rglob("*") if file.is_file()}
    other = steps.changed(text={"task": "masked-words"})
    with pytest.raises(TrainingError, match="a run must continue as it began"):
        prepare_run(other, corpus, place)
    assert {file: file.read_bytes() for file in place.rglob("*") if file.is_file()} == kept
    prepare_run(steps, corpus, place)


def test_more_taps_than_a_causal_convolution_can_use_are_refused_before_anything_is_written(tmp_path):
    """With 80 tokens, 79 before each one and itself; on both sides 159 would do."""
    wide = recipe().changed(architecture={"mixers": (Convolution(kernel=130, filters=4),), "longest": 80})
    with pytest.raises(MixerError, match="kernel must be at most 80 where sequences have at most 80 tokens"):
        prepare_run(wide.changed(text={"task": "next-words"}), SyntheticLanguage(sentences=9), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    prepare_run(wide, SyntheticLanguage(sentences=300), tmp_path / "run")


def test_a_run_that_was_interrupted_ends_with_the_same_bits(trained, tmp_path):
    def stop(row):
        if row["step"] == 31:
            raise KeyboardInterrupt

    words, steps = text(trained.place.parent / "text"), asked(steps=60, learning_rate=5e-3)
    with pytest.raises(KeyboardInterrupt):
        pretrain(steps, words, tmp_path / "run", stop)
    assert not (tmp_path / "run" / "model").exists()
    again = pretrain(steps, words, tmp_path / "run")
    assert (again.model / "model.safetensors").read_bytes() == (trained.model / "model.safetensors").read_bytes()
    losses = [[row["loss"] for row in run.rows() if "loss" in row] for run in (again, trained)]
    assert losses[0] == losses[1]


def test_the_tokenizer_for_prompts_has_the_same_words():
    corpus = SyntheticLanguage(sentences=50)
    tokenizer, line = train_tokenizer(corpus, 300), next(corpus.lines())
    prompts = for_prompts(tokenizer)
    assert prompts.get_vocab() == tokenizer.get_vocab()
    ids = prompts(line)["input_ids"]
    assert len(ids) > 4
    assert ids == tokenizer(line)["input_ids"][:-1]
    assert prompts.decode(ids, skip_special_tokens=True) == tokenizer.decode(ids, skip_special_tokens=True) != ""
    assert special_tokens(prompts) == {"bos_token_id": START, "eos_token_id": END, "pad_token_id": PAD}


def test_a_recipe_names_the_task_and_old_runs_do_not(tmp_path):
    place = tmp_path / "recipe.toml"
    place.write_text('size = "tiny"\n[text]\ntask = "next-words"\ntokens = 64\n')
    read = read_recipe(place)
    assert read.text == Text(tokens=64, task="next-words")
    assert read.to_json()["text"]["task"] == "next-words"
    assert set(Recipe().to_json()["text"]) == {"tokens", "masked", "following"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": {"task": "poems"}}, "task must be one of masked-words, next-words; got 'poems'"),
        ({"text": {"task": "next-words", "following": True}}, "following must be false for next-words"),
        (
            {"text": {"task": "next-words"}, "architecture": {"mixers": (Bilinear(),)}},
            r"without seeing later ones: .* Bilinear\(max_length=384\) has none",
        ),
    ],
)
def test_what_a_recipe_may_not_ask(changes, message):
    with pytest.raises(TrainingError, match=message):
        Recipe().changed(**changes)


@torch.no_grad()
def test_heads_that_see_no_later_token_start_at_earlier_ones():
    torch.manual_seed(4)
    architecture = Recipe.of_size("tiny").changed(architecture={"heads": 4, "width": 128, "layers": 2}).architecture
    model = MixerBertForCausalLM(architecture.config(211, is_decoder=True)).eval()
    assert model.config.layer_mixers[1] == CausalAttention(4)
    initialize(model)
    hidden = model.bert.embeddings(torch.randint(5, 211, (9, 32)))
    weights = model.bert.encoder.layer[1].attention.weights(hidden, None).mean(dim=0)
    for head in range(4):
        means = [float(weights[head].diagonal(-back).mean()) for back in range(7)]
        assert max(range(7), key=means.__getitem__) == -earlier(head) == head + 1
        assert means[head + 1] > 0.4
