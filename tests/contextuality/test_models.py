"""Every kind of model is run as it is: modules, Hugging Face folders, ONNX files; and controls come out as known."""

import numpy as np
import pytest

from anyformer.contextuality import Contextuality, measure_contextual_mapping
from anyformer.contextuality.models import as_layered
from anyformer.errors import ContextualityError, FolderError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
ROWS = [[5, 6, 7, 8], [5, 9, 7], [6, 6, 8, 5, 9]]
SIZES = {
    "vocab_size": 12,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 20,
}


@pytest.fixture(scope="module")
def bert():
    torch.manual_seed(0)
    return transformers.BertModel(transformers.BertConfig(**SIZES))


@pytest.fixture(scope="module")
def folder(bert, tmp_path_factory):
    """A small BERT with a tokenizer of words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    place = tmp_path_factory.mktemp("bert") / "small"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "dog", "sat", "ran", "a", "<b>"]
    tokenizer = Tokenizer(models.WordLevel({word: k for k, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = transformers.BertTokenizerFast(tokenizer_object=tokenizer)
    fast.save_pretrained(place)
    bert.save_pretrained(place)
    return place


def test_hidden_states_of_a_hugging_face_model(bert):
    layered = as_layered(bert)
    batch = np.array([[5, 6, 7]])
    got = layered.run(batch)
    with torch.no_grad():
        wanted = bert.eval()(torch.from_numpy(batch), output_hidden_states=True).hidden_states
    assert len(got) == 3
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one, other.numpy())


def test_training_mode_and_gradients_are_left_as_they_were(bert):
    def hooks():
        return sum(len(module._forward_hooks) for module in bert.modules())

    bert.train()
    before = hooks()
    found = measure_contextual_mapping(bert, ROWS, layers=["encoder.layer.0"], changes=())
    assert bert.training  # dropout would have moved vectors by far more than this
    assert all(layer.margin < 1e-4 for layer in found.layers)
    assert hooks() == before


def test_layers_of_a_module_by_name(bert):
    names = ["encoder.layer.0.attention", "encoder.layer.1"]
    found = measure_contextual_mapping(bert, ROWS, layers=names, changes=())
    assert [layer.name for layer in found.layers] == names
    whole = measure_contextual_mapping(bert, ROWS, changes=())
    assert found.layers[1].same_token == whole.layers[2].same_token
    with pytest.raises(ContextualityError, match=r"'encoder\.nothing' is none"):
        measure_contextual_mapping(bert, ROWS, layers=["encoder.nothing"])


def test_a_module_of_vectors():
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(6, 2, 12, batch_first=True)
    vectors = np.random.default_rng(0).normal(size=(5, 4, 6))
    found = measure_contextual_mapping(layer, vectors, changes=(1,))
    assert found.layers[0].width == 6
    assert found.sensitivity[0].reached == (1.0,)


def test_a_module_that_fails_says_how(bert):
    with pytest.raises(ContextualityError, match="raised IndexError"):
        measure_contextual_mapping(bert, [[5, 99], [6, 7]])


def test_a_folder_with_its_tokenizer(folder):
    texts = ["the cat sat", "the dog sat", "a <b> ran", "the cat sat"]
    found = measure_contextual_mapping(folder, texts)
    assert found.model.endswith("/small")
    assert (found.sequences, found.repeated, len(found.layers)) == (3, 1, 3)
    first = found.layers[0].witness
    assert first.distance == 0  # the same token at the same place: embeddings know no context
    assert found.layers[2].verdict is Contextuality.CONTEXTUAL
    shown = {side.token.strip() for one in found.witnesses[2] for side in one.sides}
    assert {"[CLS]", "the", "sat"} <= shown


def test_texts_are_cut_and_shown_as_they_were_written(folder):
    found = measure_contextual_mapping(folder, ["the   cat  sat ran", "the cat ran"], most_tokens=5, changes=())
    assert found.places == 10
    whole = "".join(
        "".join(text for text, _ in side.before) + side.token + "".join(text for text, _ in side.after)
        for side in found.witnesses[0][0].sides
    )
    assert "the   cat" in whole


def test_folders_are_inspected_before_they_are_read(folder, tmp_path):
    with pytest.raises(ContextualityError, match="cannot be loaded"):
        measure_contextual_mapping("no/such/model", ["a", "b"])
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / "config.json").write_text('{"model_type": "bert", "auto_map": {"AutoModel": "code.Model"}}')
    with pytest.raises(FolderError, match="auto_map"):
        measure_contextual_mapping(hostile, ["a", "b"])


@pytest.mark.slow
def test_an_onnx_file_has_the_vectors_of_its_model(tmp_path):
    """With the mask and the token types that BERTs are exported with."""
    pytest.importorskip("onnxruntime")
    from anyformer.mixers import MixerBertConfig, MixerBertModel, export_onnx

    torch.manual_seed(0)
    bert = MixerBertModel(MixerBertConfig(**SIZES), add_pooling_layer=False).eval()
    place = export_onnx(bert, tmp_path / "bert.onnx")
    ours, theirs = (measure_contextual_mapping(model, ROWS, changes=()) for model in (bert, place))
    assert len(theirs.layers) == 1
    for kind in ("within", "same_token", "any_tokens"):
        one, other = getattr(ours.layers[-1], kind), getattr(theirs.layers[0], kind)
        assert one.distance == pytest.approx(other.distance, abs=1e-5)
    with pytest.raises(ContextualityError, match="'nothing' is none"):
        measure_contextual_mapping(place, ROWS, layers=["nothing"])


def graph(tmp_path):
    """An ONNX graph by hand: rows of a table, and their sum with the sequence's mean."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper

    table = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    made = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "ids"], ["looked_up"]),
            helper.make_node("ReduceMean", ["looked_up", "axis"], ["mean"], keepdims=1),
            helper.make_node("Add", ["looked_up", "mean"], ["mixed"]),
        ],
        "small",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "tokens"])],
        [helper.make_tensor_value_info("mixed", TensorProto.FLOAT, ["batch", "tokens", 3])],
        [
            helper.make_tensor("table", TensorProto.FLOAT, table.shape, table.ravel()),
            helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
        ],
    )
    place = tmp_path / "small.onnx"
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), place)
    return place


def test_values_inside_an_onnx_graph(tmp_path):
    place = graph(tmp_path)
    assert [layer.name for layer in measure_contextual_mapping(place, ROWS, changes=()).layers] == ["mixed"]
    found = measure_contextual_mapping(place, ROWS, layers=["looked_up", "mixed"], changes=(1,))
    assert [layer.apart for layer in found.layers] == [0.0, 1.0]
    assert found.sensitivity[0].reached == (0.0, 1.0)


def test_a_file_that_is_no_onnx(tmp_path):
    pytest.importorskip("onnxruntime")
    place = tmp_path / "broken.onnx"
    place.write_bytes(b"no graph")
    with pytest.raises(ContextualityError, match="must be an ONNX file"):
        measure_contextual_mapping(place, ROWS)


@pytest.fixture(scope="module")
def known():
    from anyformer.contextuality.controls import controls

    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 30, 16) for _ in range(5)]
    far = [np.concatenate([row[:-1], [29 - row[-1]]]) for row in rows]  # the last token is another
    models = controls(30, layers=2, width=12, heads=2, length=64)
    return {name: measure_contextual_mapping(model, [*rows, *far], changes=(1,)) for name, model in models.items()}


def test_controls_come_out_as_known(known):
    assert len(known) == 7
    bare = known.pop("bare embeddings")
    assert bare.layers[0].verdict is Contextuality.NOT_CONTEXTUAL
    assert bare.layers[0].apart == 0
    for name, found in known.items():
        assert found.layers[0].verdict is Contextuality.NOT_CONTEXTUAL, name
        assert found.sensitivity[0].reached[0] == 0, name
    for name in ("random BERT", "average attention", "bilinear projection", "full attention"):
        assert known[name].layers[1].verdict is Contextuality.CONTEXTUAL, name
        assert known[name].sensitivity[0].reached[1:] == (1.0, 1.0), name


@pytest.mark.parametrize("name", ["convolution", "sparse attention"])
def test_windows_do_not_tell_contexts_apart_that_differ_far_away(known, name):
    """Two layers of two tokens on either side: the first token does not hear of the sixteenth."""
    found = known[name]
    assert [layer.verdict for layer in found.layers] == [Contextuality.NOT_CONTEXTUAL] * 3
    for layer, reach in zip(found.layers, (0, 2, 4), strict=True):
        assert layer.same_token.distance == 0
        one = found.sensitivity[0]
        assert one.reached[found.layers.index(layer)] <= 2 * reach / 15
