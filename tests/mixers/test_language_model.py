"""The causal BERT: a stock decoder's numbers, next words, generation with padding, pipelines and files."""

from dataclasses import dataclass

import pytest
import torch

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")

import transformers

from anyformer.mixers import (
    Attention,
    Average,
    Bilinear,
    CausalAttention,
    CausalConvolution,
    Convolution,
    CumulativeAverage,
    MixerBertConfig,
    MixerBertForCausalLM,
    MixerBertForMaskedLM,
    MixerBertModel,
    MixerError,
    PatternAttention,
    Promise,
    check_mixer,
    convert,
    export_onnx,
    register_mixer,
)
from anyformer.mixers.bert import MixerRobertaConfig
from anyformer.patterns import Causal, Longformer
from tests.mixers.bert_samples import VOCABULARY, small, words

SPARSE = PatternAttention(3, Longformer(half_width=2, global_tokens=1))
STACK = (Convolution(kernel=6, filters=4), SPARSE, Average(), Attention(heads=3))
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
"""Four layers in double precision: some thousand roundings by 1e-16 of numbers of about 10."""


def model(**changes) -> MixerBertForCausalLM:
    """A decoder of every causal mixer, with weights so large that its words depend on what comes before them."""
    torch.manual_seed(20)
    options = {"mixers": STACK, "is_decoder": True, "initializer_range": 0.5, "pad_token_id": 0, "eos_token_id": None}
    return MixerBertForCausalLM(small(**{**options, **changes})).double().eval()


def stock() -> transformers.BertLMHeadModel:
    torch.manual_seed(21)
    sizes = {name: getattr(small(), name) for name in ("vocab_size", "hidden_size", "num_hidden_layers")}
    config = transformers.BertConfig(
        **sizes,
        num_attention_heads=3,
        intermediate_size=40,
        max_position_embeddings=32,
        is_decoder=True,
        initializer_range=0.5,
        attn_implementation="eager",
    )
    return transformers.BertLMHeadModel(config).double().eval()


def left(given: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same texts, padded on the left."""
    lengths = given["attention_mask"].sum(dim=1).tolist()
    return {
        name: torch.stack([one.roll(len(one) - length) for one, length in zip(tensor, lengths, strict=True)])
        for name, tensor in given.items()
    }


def test_a_decoder_has_causal_mixers():
    config = small(is_decoder=True, mixers=STACK)
    sparse = PatternAttention(3, Causal(Longformer(half_width=2, global_tokens=1)))
    causal = (CausalConvolution(6, 4), sparse, CumulativeAverage(), CausalAttention(3))
    assert config.layer_mixers == causal
    assert small(mixers=STACK).layer_mixers == STACK
    assert small(is_decoder=True, mixers=None).layer_mixers == (CausalAttention(3),) * 4
    assert small(mixers=causal).layer_mixers == causal
    assert not MixerBertConfig(use_cache=True).use_cache


def test_without_is_decoder_there_is_no_language_model():
    with pytest.raises(MixerError, match=r"must not see later words; got a config without is_decoder\. Write"):
        MixerBertForCausalLM(small(mixers=STACK))
    with pytest.raises(MixerError, match=r"must have a causal form; Bilinear\(max_length=21\) has none"):
        small(is_decoder=True, mixers=[Bilinear(21)] * 4)
    with pytest.raises(MixerError, match="got add_cross_attention"):
        small(is_decoder=True, mixers=STACK, add_cross_attention=True)


class PlainModule(torch.nn.Module):
    """As somebody writes it who knows of no promises and no base class."""

    def __init__(self, width):
        super().__init__()
        self.map = torch.nn.Linear(width, width)

    def forward(self, hidden, keep):
        return self.map(hidden).masked_fill(~keep[..., None], 0.0)


@pytest.mark.usefixtures("shipped")
def test_mixers_of_others_say_that_they_are_causal_or_are_refused():
    @register_mixer("each-alone")
    @dataclass(frozen=True)
    class EachAlone:
        def build(self, width, dropout=0.0):
            return PlainModule(width)

    @register_mixer("each-alone-causal")
    @dataclass(frozen=True)
    class EachAloneCausal(EachAlone):
        def causal(self):
            return self

    with pytest.raises(MixerError, match=r"EachAlone\(\) has none: it defines no .* define `causal` in a mixer of"):
        small(is_decoder=True, mixers=[EachAlone()] * 4)
    made, given = model(mixers=[EachAloneCausal()] * 4), words((9, 4, 6))
    assert made.generate(**left(given), max_new_tokens=3, do_sample=False).shape == (3, 12)
    check_mixer(EachAloneCausal(), promises=[Promise.CAUSAL])


def test_taps_beyond_the_longest_text_are_refused():
    wide = [Convolution(kernel=130, filters=4)] * 4
    assert small(max_position_embeddings=80, mixers=wide).layer_mixers[0].kernel == 130
    with pytest.raises(MixerError, match=r"kernel must be at most 80 where sequences have at most 80 tokens.*got 130"):
        small(max_position_embeddings=80, mixers=wide, is_decoder=True)


def test_a_roberta_is_no_language_model():
    with pytest.raises(MixerError, match=r"RoBERTa of mixers must be an encoder.*got is_decoder. Leave it out"):
        MixerRobertaConfig(is_decoder=True)
    sizes = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 40}
    decoder = transformers.RobertaModel(transformers.RobertaConfig(**sizes, vocab_size=50, is_decoder=True))
    with pytest.raises(MixerError, match="RoBERTa of mixers must be an encoder"):
        convert(decoder, [Average()])


@torch.no_grad()
def test_a_stock_decoder_gives_the_same_in_float64():
    theirs, given = stock(), words((9, 4, 6))
    ours = convert(theirs, [Attention(3)] * 4)
    assert type(ours) is MixerBertForCausalLM
    labels = torch.where(given["attention_mask"] == 1, given["input_ids"], -100)
    one, other = theirs(**given, labels=labels, use_cache=False), ours(**given, labels=labels)
    kept = given["attention_mask"].bool()
    # Sums of at most 4·24 products through 4 layers, with numbers that norms keep near 1.
    assert torch.allclose(one.logits[kept], other.logits[kept], rtol=1e-11, atol=1e-11)
    # `transformers` computes losses in float32, a mean of 16.
    assert float(one.loss) == pytest.approx(float(other.loss), rel=16 * torch.finfo(torch.float32).eps)
    asked = words((9, 9, 9))
    assert torch.allclose(theirs(**asked).logits, ours(**asked).logits, rtol=1e-11, atol=1e-11)
    back = convert(ours, [SPARSE] * 4)
    for name, weight in ours.state_dict().items():
        assert torch.equal(back.state_dict()[name], weight)


def test_a_stock_decoder_writes_the_same_words():
    theirs, given = stock(), left(words((9, 4, 6)))
    options = {"max_new_tokens": 7, "do_sample": False, "pad_token_id": 0}
    ours = convert(theirs, [Attention(3)] * 4)
    assert torch.equal(theirs.generate(**given, **options), ours.generate(**given, **options))


@torch.no_grad()
def test_the_loss_is_of_the_next_words():
    made, given = model(), words((9, 4, 6))
    labels = torch.where(given["attention_mask"] == 1, given["input_ids"], -100)
    outputs = made(**given, labels=labels)
    assert outputs.logits.shape == (3, 9, VOCABULARY)
    losses = [
        -outputs.logits[row, place].log_softmax(dim=0)[given["input_ids"][row, place + 1]]
        for row, length in enumerate((9, 4, 6))
        for place in range(length - 1)
    ]
    assert float(outputs.loss) == pytest.approx(float(torch.stack(losses).mean()), rel=1e-12)
    training = made.train()(**given, labels=labels)
    assert training.logits.shape == (8 + 3 + 5, VOCABULARY)
    assert float(training.loss) == pytest.approx(float(outputs.loss), rel=1e-12)


@torch.no_grad()
def test_later_words_change_nothing():
    made, given = model(), words((9, 9, 9))["input_ids"]
    scores = made(given).logits
    for first in (1, 5, 8):
        changed = torch.cat([given[:, :first], given[:, first:] % 7 + 100], dim=1)
        assert torch.equal(made(changed).logits[:, :first], scores[:, :first])
        assert (made(changed).logits[:, first] != scores[:, first]).any()


@torch.no_grad()
def test_padding_on_the_left_is_as_padding_on_the_right():
    made, given = model(), words((9, 4, 6))
    right, other = made(**given, output_hidden_states=True), made(**left(given), output_hidden_states=True)
    # Not to the bit: a library's matrix product may round a row otherwise in another place, or at another address.
    for row, length in enumerate((9, 4, 6)):
        assert torch.allclose(other.logits[row, 9 - length :], right.logits[row, :length], **CLOSE)
        assert torch.allclose(other.hidden_states[2][row, 9 - length :], right.hidden_states[2][row, :length], **CLOSE)
        alone = made(given["input_ids"][row : row + 1, :length]).logits[0]
        assert torch.allclose(alone, right.logits[row, :length], **CLOSE)
    positions = left({**given, "position_ids": torch.arange(9).expand(3, 9)})
    assert torch.allclose(made(**positions).logits, other.logits, **CLOSE)
    weights = [
        model(mixers=[SPARSE, Attention(3)] * 2)(**way, output_attentions=True).attentions
        for way in (given, left(given))
    ]
    for before, after in zip(*weights, strict=True):
        assert torch.allclose(after[1, :, 5:, 5:], before[1, :, :4, :4], **CLOSE)


@pytest.mark.parametrize("mixers", [STACK, *([mixer] * 4 for mixer in STACK)], ids=str)
def test_generated_words_are_the_likeliest_ones_batched_with_padding_or_not(mixers):
    made, given = model(mixers=mixers), words((9, 4, 6))
    together = made.generate(**left(given), max_new_tokens=7, do_sample=False)
    for row, length in enumerate((9, 4, 6)):
        text = given["input_ids"][row : row + 1, :length]
        alone = made.generate(text, max_new_tokens=7, do_sample=False)
        for _ in range(7):
            with torch.no_grad():
                text = torch.cat([text, made(text).logits[:, -1:].argmax(dim=2)], dim=1)
        assert torch.equal(alone, text)
        assert torch.equal(together[row, 9:], text[0, length:])


def test_beams_and_samples_work_without_a_cache():
    made, given = model(), left(words((5, 3)))
    assert made.generate(**given, max_new_tokens=4, num_beams=3).shape == (2, 9)
    torch.manual_seed(0)
    assert made.generate(**given, max_new_tokens=4, do_sample=True, num_return_sequences=2).shape == (4, 9)
    with torch.no_grad():
        assert made(**given, logits_to_keep=1).logits.shape == (2, 1, VOCABULARY)


def test_there_is_no_cache_and_no_room_beyond_the_positions():
    made, given = model(), words((5,))["input_ids"]
    with pytest.raises(MixerError, match=r"read the whole text for each word; got use_cache=True\. Leave it out"):
        made.generate(given, use_cache=True)
    with pytest.raises(MixerError, match="use_cache=True"):
        made(given, use_cache=True)
    with pytest.raises(MixerError, match=r"at most 32 tokens.*got 33.*max_new_tokens"):
        made.generate(given, max_new_tokens=40, do_sample=False)


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"use_cache": False}, {"max_length": 14}])
def test_embeddings_are_gone_on_from_as_ids_are(options):
    made, given = model(), left(words((9, 4, 6)))
    options = {"do_sample": False, **({} if "max_length" in options else {"max_new_tokens": 5}), **options}
    states = made.get_input_embeddings()(given["input_ids"]).detach()
    for mask in ({}, {"attention_mask": given["attention_mask"]}):
        wanted = made.generate(given["input_ids"], **{"attention_mask": torch.ones(3, 9), **mask}, **options)
        assert torch.equal(made.generate(inputs_embeds=states, **mask, **options), wanted[:, 9:])
    both = made.generate(given["input_ids"], inputs_embeds=states, attention_mask=given["attention_mask"], **options)
    assert torch.equal(both, wanted)
    types = torch.ones_like(given["input_ids"])
    wanted = made.generate(**given, token_type_ids=types, **options)
    got = made.generate(inputs_embeds=states, attention_mask=given["attention_mask"], token_type_ids=types, **options)
    assert torch.equal(got, wanted[:, 9:])


def test_a_stock_decoder_goes_on_from_embeddings_alike():
    theirs, given = stock(), words((7, 7))["input_ids"]
    ours, states = convert(theirs, Attention(3)), theirs.get_input_embeddings()(given).detach()
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    wanted = theirs.generate(inputs_embeds=states, **options)
    assert torch.equal(ours.generate(inputs_embeds=states, **options), wanted)


def test_ids_and_embeddings_must_be_of_one_text():
    made, given = model(), words((5,))["input_ids"]
    states = made.get_input_embeddings()(given).detach()
    with pytest.raises(MixerError, match=r"must be of the same text; got \(1, 4\) and \(1, 5\).*Give one of them"):
        made.generate(given[:, :4], inputs_embeds=states)
    with pytest.raises(MixerError, match="use_cache=True"):
        made.generate(inputs_embeds=states, use_cache=True)


@torch.no_grad()
def test_scores_of_listed_places():
    made, given = model(), words((9, 9, 9))["input_ids"]
    scores, places = made(given).logits, torch.tensor([7, 0, 3])
    assert torch.allclose(made(given, logits_to_keep=places).logits, scores[:, places], **CLOSE)
    assert torch.allclose(made(given, logits_to_keep=2).logits, scores[:, -2:], **CLOSE)
    theirs = stock()
    wanted = theirs(given, logits_to_keep=places, use_cache=False).logits
    got = convert(theirs, Attention(3))(given, logits_to_keep=places).logits
    assert torch.allclose(got, wanted, rtol=1e-11, atol=1e-11)


def test_gradients_reach_all_weights_and_words_are_tied():
    made = model().train()
    assert made.cls.predictions.decoder.weight is made.bert.embeddings.word_embeddings.weight
    given = words((9, 4, 6))
    made(**given, labels=given["input_ids"]).loss.backward()
    assert all(parameter.grad is not None for parameter in made.parameters())


def test_a_causal_convolution_learns_filters_of_its_own():
    made = convert(model(), [Attention(3), SPARSE, Average(), Convolution(6, 4)])
    before, after = model().bert.encoder.layer, made.bert.encoder.layer
    assert torch.equal(before[1].attention.self.query.weight, after[1].attention.self.query.weight)
    assert after[3].attention.self.before == 5


@torch.no_grad()
def test_an_encoder_becomes_a_language_model_by_its_config(tmp_path):
    encoder = MixerBertForMaskedLM(small(mixers=STACK)).double()
    encoder.save_pretrained(tmp_path)
    with pytest.raises(MixerError, match="without is_decoder"):
        transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    decoder = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, is_decoder=True, dtype=torch.float64)
    assert type(decoder) is MixerBertForCausalLM
    assert torch.equal(decoder.bert.embeddings.word_embeddings.weight, encoder.bert.embeddings.word_embeddings.weight)
    assert isinstance(transformers.AutoModel.from_pretrained(tmp_path, is_decoder=True), MixerBertModel)


@torch.no_grad()
def test_files_and_the_pipeline_give_the_model_back(tmp_path):
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
    tokenizer = transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"), padding_side="left")
    made = model(vocab_size=len(tokenizer))
    made.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float64).eval()
    assert again.config.layer_mixers == made.config.layer_mixers
    given = words((9, 4, 6), len(tokenizer))
    assert all(torch.equal(one, again.state_dict()[name]) for name, one in made.state_dict().items())
    assert torch.allclose(again(**given).logits, made(**given).logits, **CLOSE)
    pipeline = transformers.pipeline(
        "text-generation", model=str(tmp_path / "model"), device="cpu", dtype=torch.float64, batch_size=2
    )
    assert type(pipeline.model) is MixerBertForCausalLM
    asked = ["ab", "abc de f"]
    options = {"max_new_tokens": 5, "do_sample": False, "return_tensors": True}
    together = pipeline(asked, **options)
    for text, one in zip(asked, together, strict=True):
        alone = tokenizer(text, return_tensors="pt")["input_ids"]
        wanted = made.generate(alone, max_new_tokens=5, do_sample=False)[0]
        assert one[0]["generated_token_ids"][-5:] == wanted[-5:].tolist()


@pytest.mark.slow
def test_onnx_runtime_scores_next_words(tmp_path):
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    mixers = [Convolution(6, 4), Average(), Attention(3), Attention(3)]
    made, given = model(mixers=mixers, initializer_range=0.02).float(), words((3, 11, 1, 16))
    session = runtime.InferenceSession(export_onnx(made, tmp_path / "bert.onnx"), providers=["CPUExecutionProvider"])
    for way in (given, left(given)):
        fed = {name: tensor.numpy() for name, tensor in way.items()} | {
            "token_type_ids": torch.zeros_like(way["input_ids"]).numpy()
        }
        kept = way["attention_mask"].bool()
        with torch.no_grad():
            wanted = made(**way).logits[kept]
        (got,) = session.run(["logits"], fed)
        products = 4 * (16 + 8 * 24 + 40) + 6 * 24
        rounding = products * torch.finfo(torch.float32).eps * max(1.0, float(wanted.abs().max()))
        assert (torch.from_numpy(got)[kept] - wanted).abs().max() <= rounding
    with pytest.raises(MixerError, match="its pattern is made anew for each length"):
        export_onnx(model().float(), tmp_path / "sparse.onnx")


@pytest.mark.parametrize("mixer", [Attention(2), Average(), Convolution(5, 4)])
def test_padding_on_either_side_leaves_the_loss_as_it_is(mixer):
    torch.manual_seed(0)
    sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = MixerBertConfig(**sizes, intermediate_size=32, mixers=[mixer] * 2, is_decoder=True)
    model = MixerBertForCausalLM(config).eval()
    text, padding = torch.tensor([[5, 6, 7, 8]]), torch.zeros(1, 2, dtype=torch.long)
    alone = model(text, labels=text).loss
    for parts in ((padding, text), (text, padding)):
        ids = torch.cat(parts, dim=1)
        padded = model(ids, attention_mask=(ids > 0).long(), labels=ids.masked_fill(ids == 0, -100)).loss
        torch.testing.assert_close(padded, alone, rtol=1e-5, atol=1e-5)
