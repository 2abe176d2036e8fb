"""A mixer that users bring: the 20 lines of the page, from its check to a model in another process."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass

import pytest
import torch
from torch import nn

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")

import transformers

from anyformer.mixers import (
    Attention,
    Average,
    Fourier,
    Mixer,
    MixerBertConfig,
    MixerBertForMaskedLM,
    MixerBertModel,
    MixerError,
    Promise,
    TokenMixer,
    check_mixer,
    convert,
    export_onnx,
    hybrid,
    measure_movement,
    register_mixer,
)
from tests.mixers.bert_samples import small, words
from tests.mixers.brought import FNET, ROOT, SCALED, bring, install
from tests.mixers.samples import batch

WITHOUT_ONNX = [promise for promise in Promise if promise is not Promise.ONNX]
pytestmark = pytest.mark.usefixtures("shipped")


def test_it_is_twenty_lines():
    assert FNET.count("\n") == 20


def test_it_keeps_every_promise():
    check_mixer(bring()(), promises=WITHOUT_ONNX)
    check_mixer(bring(SCALED)(0.5), width=7, promises=WITHOUT_ONNX)


def test_it_is_the_package_s_own_fourier_mixer():
    hidden, mask = batch((5, 2, 0, 4))
    mask[0, 1] = 0
    ours, theirs = (kind().build_layer(0, 6).double()(hidden, mask) for kind in (Fourier, bring()))
    away = (ours - theirs) * mask[..., None]
    assert away.abs().max() <= 100 * torch.finfo(hidden.dtype).eps


def test_its_reason_not_to_be_exported_is_told():
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    kind = bring()
    check_mixer(kind(), promises=[Promise.ONNX])
    model = MixerBertModel(small(mixers=[Average(), kind(), Average(), Average()])).eval()
    with pytest.raises(MixerError, match="must not be exported to ONNX: it looks at the padding of each sequence"):
        export_onnx(model, "nowhere.onnx")


def test_bert_hybrids_and_movement_take_it():
    kind = bring(SCALED)
    stack = hybrid(4, 1, below=kind(0.5), above=Attention(3))
    model = MixerBertForMaskedLM(small(mixers=stack)).eval()
    assert model.config.layer_mixers == stack
    assert model.config.mixers[0] == {"kind": "fnet", "scale": 0.5}
    given = words()
    model(**given).logits.sum().backward()
    # Padding does not matter in the whole model either.
    alone = model(input_ids=given["input_ids"][1:2, :4]).logits
    assert torch.allclose(alone, model(**given).logits[1:2, :4], atol=1e-5)
    assert measure_movement(kind(), [1], width=6, tokens=5, pairs=3)[0].share > 0.9


def test_the_most_tokens_it_takes_are_known_to_models_and_recipes():
    from anyformer.errors import TrainingError
    from anyformer.training import Architecture, Recipe, Text

    @register_mixer("of-twelve")
    @dataclass(frozen=True)
    class OfTwelve:
        longest: int = 12

        def build(self, width, dropout=0.0):
            return Learned(width)

    assert small(mixers=[Average(), OfTwelve(9), OfTwelve(), bring()()]).longest_input == 9
    assert small(mixers=[bring()()] * 4).longest_input == small(mixers=[Average()] * 4).longest_input > 12
    with pytest.raises(TrainingError, match=r"longest sequence, 12 tokens; got 20\. Raise longest, and what limits"):
        Recipe(Architecture(mixers=(OfTwelve(),)), Text(tokens=20))


def test_convert_keeps_every_other_weight():
    kind = bring(SCALED)
    torch.manual_seed(0)
    stock = transformers.BertForMaskedLM(transformers.BertConfig(**SIZES))
    mixed = convert(stock, [kind(0.5), Attention(3)])
    kept = {name: weight for name, weight in stock.state_dict().items() if ".layer.0.attention.self." not in name}
    assert all(torch.equal(mixed.state_dict()[name], weight) for name, weight in kept.items())
    assert convert(mixed, [kind(0.5), Average()]).config.mixers == [{"kind": "fnet", "scale": 0.5}, {"kind": "average"}]


SIZES = {
    "vocab_size": 131,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
}


def test_a_folder_gives_it_back_to_whoever_registered_it(tmp_path):
    model = MixerBertForMaskedLM(small(mixers=[bring(SCALED)(0.5)] * 4)).eval()
    model.save_pretrained(tmp_path)
    again = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path)
    assert torch.equal(again(**words()).logits, model(**words()).logits)


def test_a_folder_never_runs_code(tmp_path, monkeypatch):
    """Whatever its config calls a mixer: a file beside it, a module, an entry point."""
    from anyformer.mixers import CATALOGUE

    MixerBertModel(small(mixers=[bring()()] * 4)).save_pretrained(tmp_path)
    del CATALOGUE.constructors.registered["fnet"]
    code = f"open({str(tmp_path / 'ran')!r}, 'w')"
    for name in ("fnet", "evil"):
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    for name in ("fnet", "evil", "evil:FNet", "evil.py", str(tmp_path / "evil.py"), "fnet:FNet"):
        config["mixers"] = [{"kind": name}] * 4
        (tmp_path / "config.json").write_text(json.dumps(config))
        with pytest.raises(
            MixerError, match=r"a mixer must be one of attention, .*; got .*must be registered first: import"
        ):
            transformers.AutoModel.from_pretrained(tmp_path)
    assert not (tmp_path / "ran").exists()


LOADING = """
import sys
sys.path.insert(0, sys.argv[2])
import torch, transformers
from anyformer import mixers
from anyformer.mixers import MixerBertModel
if sys.argv[3] == "import":
    import fnet_here
model = transformers.AutoModel.from_pretrained(sys.argv[1]).eval()
with torch.no_grad():
    states = model(torch.arange(5, 12)[None]).last_hidden_state
torch.save(states, sys.argv[4])
"""


def loaded(folder, site, how, place) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LOADING, str(folder), str(site), how, str(place)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")})


@pytest.mark.slow
@pytest.mark.parametrize("how", ["import", "package", "neither"])
def test_a_new_process_loads_it_if_it_knows_the_name(tmp_path, how):
    folder, site = tmp_path / "model", tmp_path / "site"
    model = MixerBertModel(small(mixers=[bring(SCALED)(0.5)] * 4)).eval()
    model.save_pretrained(folder)
    install(site, points="" if how != "package" else "fnet = fnet_here:FNet", fnet_here=SCALED)
    done = loaded(folder, site, how, tmp_path / "states.pt")
    if how == "neither":
        assert done.returncode == 1
        assert "MixerError: a mixer must be one of attention" in done.stderr
        assert "got 'fnet'" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    with torch.no_grad():
        wanted = model(torch.arange(5, 12)[None]).last_hidden_state
    assert torch.equal(torch.load(tmp_path / "states.pt", weights_only=True), wanted)


class Learned(nn.Module):
    """Scales tokens by a parameter of its own, and mixes by the mean."""

    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.empty(width))
        self.value = nn.Linear(width, width)
        self.reset_parameters()

    def reset_parameters(self):
        self.scale.data.fill_(7.0)

    def forward(self, hidden, keep):
        shares = keep / keep.sum(dim=1, keepdim=True).clamp(min=1)
        mean = shares[:, None].to(hidden.dtype) @ self.value(hidden * self.scale)
        return mean.expand_as(hidden) * keep[..., None]


@dataclass(frozen=True)
class OfModule(Mixer):
    """Any module of (hidden, keep)."""

    module: type[nn.Module]

    def build(self, width, dropout=0.0):
        return self.module(width)


def test_parameters_of_a_plain_module_are_drawn_where_a_file_has_none(tmp_path):
    check_mixer(OfModule(Learned), width=6, promises=WITHOUT_ONNX)

    @register_mixer("learned")
    @dataclass(frozen=True)
    class OfLearned:
        def build(self, width, dropout=0.0):
            return Learned(width)

    transformers.BertForMaskedLM(transformers.BertConfig(**SIZES)).save_pretrained(tmp_path / "stock")
    config = MixerBertConfig(**SIZES, mixers=[OfLearned()] * 2)
    model = MixerBertForMaskedLM.from_pretrained(tmp_path / "stock", config=config)
    assert (model.bert.encoder.layer[1].attention.self.inner.scale == 7.0).all()
    with torch.no_grad():
        model.bert.encoder.layer[1].attention.self.inner.scale.fill_(3.0)
    model.save_pretrained(tmp_path / "ours")
    again = MixerBertForMaskedLM.from_pretrained(tmp_path / "ours")
    assert (again.bert.encoder.layer[1].attention.self.inner.scale == 3.0).all()


class Undrawn(Learned):
    reset_parameters = None

    def __init__(self, width):
        nn.Module.__init__(self)
        self.scale = nn.Parameter(torch.ones(width))


class UndrawnMixer(TokenMixer):
    def __init__(self, width):
        super().__init__(width)
        self.scale = nn.Parameter(torch.ones(width))

    def mix(self, hidden, keep): ...


@pytest.mark.parametrize("module", [Undrawn, UndrawnMixer, lambda width: nn.Sequential(nn.ReLU(), Undrawn(width))])
def test_parameters_that_nobody_can_draw_are_refused(module):
    with pytest.raises(MixerError, match=r"must have reset_parameters, which draws them; .* has Undrawn\w* without it"):
        OfModule(module).build_layer(0, 6)


def test_what_is_no_module_is_refused():
    with pytest.raises(MixerError, match=r"build must give a module of PyTorch; that of .* gave 6\. Return the module"):
        OfModule(int).build_layer(0, 6)


class Sound(Learned):
    """Sound but for one fault, which a subclass plants."""

    def forward(self, hidden, keep):
        return super().forward(hidden, keep)


class TransformsPadding(Sound):
    def forward(self, hidden, keep):
        return torch.fft.fft2(hidden * keep[..., None] * self.scale, dim=(1, 2)).real * keep[..., None]


class ReadsPadding(Sound):
    def forward(self, hidden, keep):
        return super().forward(hidden, torch.ones_like(keep)) * keep.any(dim=1)[:, None, None]


class BiasedPadding(Sound):
    def forward(self, hidden, keep):
        return super().forward(hidden, keep) + 1


class Shortens(Sound):
    def forward(self, hidden, keep):
        return super().forward(hidden, keep)[:, 1:]


class Random(Sound):
    def forward(self, hidden, keep):
        return super().forward(hidden, keep) * torch.rand(1)


class Detaches(Sound):
    def forward(self, hidden, keep):
        return super().forward(hidden.detach(), keep)


class InPlace(Sound):
    def forward(self, hidden, keep):
        with torch.no_grad():
            hidden.mul_(keep[..., None])
        return super().forward(hidden, keep)


FAULTS = {
    TransformsPadding: Promise.PADDING,
    ReadsPadding: Promise.PADDING,
    BiasedPadding: Promise.FULLY_PADDED,
    Shortens: Promise.SHAPE,
    Random: Promise.DETERMINISM,
    Detaches: Promise.GRADIENT,
    InPlace: Promise.DETERMINISM,
}


def test_the_one_without_a_fault_passes():
    check_mixer(OfModule(Sound), width=6, promises=WITHOUT_ONNX)


@pytest.mark.parametrize("module", FAULTS)
def test_faults_of_plain_modules_are_found(module):
    with pytest.raises(MixerError, match=FAULTS[module].value):
        check_mixer(OfModule(module), width=6, promises=[FAULTS[module]])
