"""Every head of BERT and RoBERTa: with attention it is the stock model's, and conversion keeps every other weight."""

import copy

import pytest
import torch

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")

import transformers

from anyformer import mixers
from anyformer.mixers import Attention, Average, Bilinear, Convolution, MixerError, convert
from anyformer.mixers.bert.convert import OURS
from tests.mixers.bert_samples import labels

LAYERS, HEADS, VOCABULARY, CLASSES = 2, 3, 61, 2
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 24,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 40,
    "max_position_embeddings": 21,
    "num_labels": CLASSES,
}
# Two float64 evaluations of the same formula: sums of at most 40 products a matrix, five of them and two norms a layer.
ROUNDING = LAYERS * 7 * 40 * torch.finfo(torch.float64).eps


@pytest.fixture(params=OURS, ids=lambda kind: kind.__name__)
def stock(request):
    """In float64; all weights are drawn, also those that start at zero and could hide."""
    torch.manual_seed(20)
    model = request.param(request.param.config_class(**SIZES)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def texts(model) -> dict[str, torch.Tensor]:
    """Padded on the right with the model's own padding, as (batch, choices, tokens) where it chooses."""
    generator = torch.Generator().manual_seed(21)
    lengths = torch.tensor([9, 4, 6, 7])
    mask = (torch.arange(9) < lengths[:, None]).long()
    ids = torch.randint(5, VOCABULARY, mask.shape, generator=generator)
    given = {"input_ids": torch.where(mask == 1, ids, model.config.pad_token_id), "attention_mask": mask}
    chooses = type(model).__name__.endswith("MultipleChoice")
    return {name: tensor.view(2, 2, 9) for name, tensor in given.items()} if chooses else given


def differences(one, other) -> list[float]:
    pairs = zip(one.to_tuple(), other.to_tuple(), strict=True)
    return [float((left - right).detach().abs().max() / left.detach().abs().max()) for left, right in pairs]


@torch.no_grad()
def test_with_attention_the_outputs_are_the_stock_models(stock):
    ours, given = convert(stock, [Attention(HEADS)] * LAYERS), texts(stock)
    assert type(ours) is OURS[type(stock)]
    assert max(differences(stock(**given), ours(**given))) <= ROUNDING
    # The tolerance tells: without the mask, or with another mixer, it is far off.
    assert max(differences(stock(given["input_ids"]), ours(**given))) > 1000 * ROUNDING
    other = convert(stock, [Attention(HEADS), Average()])
    assert max(differences(stock(**given), other(**given))) > 1000 * ROUNDING


@torch.no_grad()
def test_a_stock_folder_can_be_loaded_by_its_counterpart(stock, tmp_path):
    """The names of weights are those of the checkpoints."""
    stock.save_pretrained(tmp_path)
    ours, found = OURS[type(stock)].from_pretrained(tmp_path, output_loading_info=True)
    assert not any(found[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert max(differences(stock(**texts(stock)), ours.double().eval()(**texts(stock)))) <= ROUNDING


@torch.no_grad()
def test_a_converted_model_comes_back_by_its_auto_class(stock, tmp_path):
    stack = (Convolution(kernel=4, filters=3), Attention(HEADS))
    ours = convert(stock, stack)
    ours.save_pretrained(tmp_path)
    head = type(stock).__name__.removeprefix("Bert").removeprefix("Roberta")
    auto = getattr(transformers, f"AutoModel{'' if head == 'Model' else head}")
    again = auto.from_pretrained(tmp_path).eval()
    assert type(again) is type(ours)
    assert again.dtype == torch.float64
    assert again.config.layer_mixers == stack
    assert max(differences(ours(**texts(stock)), again(**texts(stock)))) == 0


def test_conversion_keeps_every_other_weight(stock):
    before = copy.deepcopy(stock.state_dict())
    ours = convert(stock, [Bilinear(13), Attention(HEADS)])
    prefix = "" if stock.base_model is stock else f"{stock.base_model_prefix}."
    new = f"{prefix}encoder.layer.0.attention.self."
    after = ours.state_dict()
    assert [name for name in after if name.startswith(new)] == [f"{new}W_P"]
    assert {name for name in after if not name.startswith(new)} == {name for name in before if not name.startswith(new)}
    assert all(torch.equal(after[name], before[name]) for name in after if not name.startswith(new))
    back = convert(ours, [Average()] * LAYERS)
    assert type(back) is type(ours)
    assert not any(".attention.self." in name for name in back.state_dict())


LABELS = {
    "ForSequenceClassification": {"labels": torch.tensor([0, 1, 1, 0])},
    "ForTokenClassification": {"labels": torch.arange(36).view(4, 9) % CLASSES},
    "ForMultipleChoice": {"labels": torch.tensor([1, 0])},
    "ForNextSentencePrediction": {"labels": torch.tensor([1, 0, 0, 1])},
    "ForQuestionAnswering": {
        "start_positions": torch.tensor([1, 2, 0, 3]),
        "end_positions": torch.tensor([4, 3, 5, 6]),
    },
}


def test_losses_and_gradients_are_the_stock_models(stock):
    given = texts(stock)
    heads = [wanted for name, wanted in LABELS.items() if type(stock).__name__.endswith(name)]
    if "MaskedLM" in type(stock).__name__:
        heads = [{"labels": labels(given)}]
    if not heads:
        pytest.skip("it has no labels, or others (test_bert.py)")
    ours = convert(stock, [Attention(HEADS)] * LAYERS)
    losses = [model(**given, **heads[0]).loss for model in (stock, ours)]
    assert float(losses[0].detach()) == pytest.approx(float(losses[1].detach()), rel=ROUNDING)
    for loss in losses:
        loss.backward()
    theirs = dict(stock.named_parameters())
    for name, parameter in ours.named_parameters():
        there = theirs[name].grad
        assert torch.allclose(parameter.grad, there, rtol=1e-9, atol=1e-12 + 1e-9 * float(there.abs().max())), name


@torch.no_grad()
def test_roberta_counts_positions_without_padding_on_either_side():
    """Its positions come from the ids, so a text padded on the left is the same text."""
    torch.manual_seed(22)
    model = mixers.MixerRobertaModel(mixers.MixerRobertaConfig(**SIZES, mixers=[Average(), Attention(HEADS)])).double()
    text = torch.tensor([[5, 9, 7, 30]])
    padded = torch.cat([torch.full((1, 3), model.config.pad_token_id), text], dim=1)
    alone = model.eval()(text).last_hidden_state
    after = model(padded, (padded != model.config.pad_token_id).long()).last_hidden_state[:, 3:]
    assert torch.allclose(alone, after, rtol=0, atol=ROUNDING * 24)


def test_roberta_is_drawn_as_roberta_draws_it_and_its_vocabulary_grows():
    torch.manual_seed(23)
    model = mixers.MixerRobertaForMaskedLM(mixers.MixerRobertaConfig(**SIZES))
    assert model.lm_head.decoder.weight is model.roberta.embeddings.word_embeddings.weight
    assert not model.lm_head.bias.any()
    assert not model.roberta.embeddings.position_embeddings.weight[1].any()
    model.resize_token_embeddings(VOCABULARY + 4, mean_resizing=False)
    assert model(torch.tensor([[5, 6, 7]])).logits.shape == (1, 3, VOCABULARY + 4)
    assert model.lm_head.bias.shape == (VOCABULARY + 4,)


def test_choices_are_not_exported(tmp_path):
    model = mixers.MixerBertForMultipleChoice(mixers.MixerBertConfig(**SIZES, mixers=[Average()] * LAYERS)).eval()
    with pytest.raises(MixerError, match=r"MixerBertForMultipleChoice takes .* Export model\.base_model"):
        mixers.export_onnx(model, tmp_path / "choice.onnx")
