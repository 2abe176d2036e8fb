"""BERT with mixers: sizes, shapes, padding, files, heads."""

import pytest
import torch

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")

import transformers

from anyformer import mixers
from anyformer.mixers import Attention, Average, Bilinear, Convolution, MixerBertConfig, MixerBertModel, MixerError
from tests.mixers.bert_samples import STACK, VOCABULARY, labels, small, words

HEADS = {
    "AutoModel": mixers.MixerBertModel,
    "AutoModelForMaskedLM": mixers.MixerBertForMaskedLM,
    "AutoModelForPreTraining": mixers.MixerBertForPreTraining,
    "AutoModelForSequenceClassification": mixers.MixerBertForSequenceClassification,
    "AutoModelForQuestionAnswering": mixers.MixerBertForQuestionAnswering,
    "AutoModelForTokenClassification": mixers.MixerBertForTokenClassification,
    "AutoModelForNextSentencePrediction": mixers.MixerBertForNextSentencePrediction,
}


@pytest.mark.parametrize(
    ("mixer", "paper", "exact"),
    [
        (Average(), 88.3e6, 88_220_928),
        (Bilinear(max_length=384), 90e6, 89_990_400),
        (Convolution(kernel=128, filters=16), 102.5e6, 102_419_712),
        (Attention(heads=12), 110e6, 109_482_240),
    ],
    ids=str,
)
def test_parameters_at_bert_base_size_agree_with_the_paper(mixer, paper, exact):
    with torch.device("meta"):
        model = MixerBertModel(MixerBertConfig(mixers=[mixer] * 12))
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == exact
    # The paper rounds attention's 109.48 M to 110 M, by 0.47 %; the others are given to 0.1 M or agree as they are.
    assert abs(count - paper) <= (0.003 if mixer != Attention(heads=12) else 0.005) * paper


@torch.no_grad()
def test_padding_changes_nothing_whatever_stands_in_it():
    model, given = MixerBertModel(small()).double().eval(), words()
    states = model(**given).last_hidden_state
    noise = torch.where(given["attention_mask"] == 1, given["input_ids"], 77)
    assert torch.allclose(model(noise, given["attention_mask"]).last_hidden_state[1, :4], states[1, :4], atol=1e-12)
    alone = model(given["input_ids"][1:2, :4]).last_hidden_state
    # Four layers, each a chain of sums of at most 24·2 + 40 + 9 terms, of numbers that LayerNorm keeps below √24.
    assert (alone[0] - states[1, :4]).abs().max() <= 4 * 97 * 2 * torch.finfo(torch.float64).eps * 24
    padded = model(torch.zeros(1, 5, dtype=torch.long), torch.zeros(1, 5, dtype=torch.long))
    assert padded.last_hidden_state.isfinite().all()


@pytest.mark.parametrize("auto", HEADS)
@torch.no_grad()
def test_files_give_the_model_back_by_the_auto_classes(tmp_path, auto):
    torch.manual_seed(3)
    model = HEADS[auto](small(num_labels=2)).eval()
    model.save_pretrained(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= {"config.json", "model.safetensors"}
    again = getattr(transformers, auto).from_pretrained(tmp_path).eval()
    assert type(again) is HEADS[auto]
    assert again.config.layer_mixers == STACK
    for one, other in zip(model(**words()).to_tuple(), again(**words()).to_tuple(), strict=True):
        assert torch.equal(one, other)


def test_fresh_parameters_have_the_scales_they_should():
    torch.manual_seed(4)
    model = MixerBertModel(small(mixers=[Bilinear(200)] * 2 + [Convolution(200, 24)] * 2, initializer_range=0.5))
    layers = [layer.attention.self for layer in model.encoder.layer]
    # A deviation estimated from 200·24 numbers or more is within 5/√(2·4800) = 5 % of the truth.
    for parameter in (layers[0].W_P, layers[2].W_C):
        assert float(parameter.detach().std()) == pytest.approx(200**-0.5, rel=0.051)
    assert not layers[2].gate.bias.any()
    assert float(layers[2].gate.weight.detach().std()) == pytest.approx(0.5, rel=5 / (2 * 24 * 48) ** 0.5)


@pytest.mark.parametrize("kind", [mixers.MixerBertForMaskedLM, mixers.MixerBertForPreTraining])
def test_in_training_words_are_scored_where_there_is_a_label_and_nowhere_else(kind):
    torch.manual_seed(5)
    model, given = kind(small()).double().train(), words()
    wanted = labels(given)
    everywhere = model(**given)[0]
    assert everywhere.shape == (3, 9, VOCABULARY)
    outputs = model(**given, labels=wanted)
    chosen = wanted != -100
    assert outputs[1].shape == (int(chosen.sum()), VOCABULARY)
    # The same sums of 24 products, in another order; logits are small.
    eps = torch.finfo(torch.float64).eps
    assert (outputs[1] - everywhere[chosen]).abs().max() <= 100 * eps * float(
        everywhere.detach().abs().max().clamp(min=1)
    )
    loss = torch.nn.functional.cross_entropy(everywhere.flatten(0, 1), wanted.flatten(), ignore_index=-100)
    assert float(outputs.loss.detach()) == pytest.approx(float(loss.detach()), rel=1000 * eps)
    evaluated = model.eval()(**given, labels=wanted)
    assert torch.equal(evaluated[1], everywhere)
    assert float(evaluated.loss.detach()) == pytest.approx(float(loss.detach()), rel=1000 * eps)


def test_gradients_are_those_of_scoring_everywhere():
    torch.manual_seed(6)
    model, given = mixers.MixerBertForMaskedLM(small()).double(), words()
    wanted = labels(given)
    model(**given, labels=wanted).loss.backward()
    ours = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    torch.nn.functional.cross_entropy(model(**given).logits.flatten(0, 1), wanted.flatten()).backward()
    for name, parameter in model.named_parameters():
        assert torch.allclose(ours[name], parameter.grad, rtol=1e-9, atol=1e-12), name


def test_nothing_to_predict_has_the_loss_zero():
    model, given = mixers.MixerBertForMaskedLM(small()).train(), words()
    outputs = model(**given, labels=torch.full_like(given["input_ids"], -100))
    assert float(outputs.loss.detach()) == 0
    outputs.loss.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_pre_training_adds_the_losses_that_are_given():
    model, given = mixers.MixerBertForPreTraining(small()).eval(), words()
    follows = torch.tensor([0, 1, 1])
    both = model(**given, labels=labels(given), next_sentence_label=follows).loss
    parts = model(**given, labels=labels(given)).loss + model(**given, next_sentence_label=follows).loss
    assert float(both.detach()) == pytest.approx(float(parts.detach()), rel=8 * torch.finfo(torch.float32).eps)
    assert model(**given).loss is None


def test_word_scores_use_the_embeddings_and_the_vocabulary_can_grow():
    model = mixers.MixerBertForMaskedLM(small())
    assert model.cls.predictions.decoder.weight is model.bert.embeddings.word_embeddings.weight
    model.resize_token_embeddings(VOCABULARY + 6, mean_resizing=False)
    assert model(**words()).logits.shape[-1] == VOCABULARY + 6


def test_checkpointed_gradients_are_the_same():
    torch.manual_seed(7)
    model, given = mixers.MixerBertForMaskedLM(small()).double().train(), words()
    gradients = []
    for prepare in (model.gradient_checkpointing_disable, model.gradient_checkpointing_enable):
        prepare()
        model.zero_grad()
        model(**given, labels=labels(given)).loss.backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))


@torch.no_grad()
def test_states_and_weights_on_request():
    attention = MixerBertModel(small(mixers=None)).eval()
    outputs = attention(**words(), output_hidden_states=True, output_attentions=True)
    assert [state.shape for state in outputs.hidden_states] == [(3, 9, 24)] * 5
    assert [weights.shape for weights in outputs.attentions] == [(3, 3, 9, 9)] * 4
    assert torch.equal(outputs.hidden_states[-1], outputs.last_hidden_state)
    states, pooled = attention(**words(), return_dict=False)
    assert states.shape == (3, 9, 24)
    assert pooled.shape == (3, 24)


@pytest.mark.parametrize("norm", ["after", "before"])
@torch.no_grad()
def test_a_hybrid_gives_the_attentions_that_there_are(norm):
    """One entry a layer, so that layers keep their numbers; None where a mixer has no such weights."""
    model = MixerBertModel(small(mixers=[Average(), Attention(heads=3), Bilinear(9), Attention(heads=2)], norm=norm))
    attentions = model.eval()(**words(), output_attentions=True).attentions
    assert [None if weights is None else weights.shape for weights in attentions] == [
        *(None, (3, 3, 9, 9)),
        *(None, (3, 2, 9, 9)),
    ]
    # They are shares of the kept tokens: each row adds up to 1, and padding has nothing.
    assert torch.allclose(attentions[1].sum(dim=-1), torch.ones(3, 3, 9))
    assert not attentions[3][1, :, :, 4:].any()
    head = mixers.MixerBertForTokenClassification(small(output_attentions=True, mixers=[Average()] * 4)).eval()
    assert head(**words()).attentions == (None,) * 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mixers": [Average()] * 3}, r"one mixer a layer, num_hidden_layers = 4; got 3"),
        ({"mixers": ["average"] * 4}, r"mixers or their JSON objects, one a layer; got 'average'"),
        ({"mixers": [{"kind": "wavelet"}] * 4}, r"one of attention, average"),
        ({"is_decoder": True}, r"must be an encoder"),
    ],
)
def test_wrong_configurations_are_refused(changes, message):
    with pytest.raises(MixerError, match=message):
        MixerBertModel(small(**changes))


def test_input_is_one_of_words_and_embeddings():
    with pytest.raises(MixerError, match="exactly one of input_ids and inputs_embeds"):
        MixerBertModel(small())()
