"""A compiled model in PyTorch's own encoder: never further from its target than its certificate says."""

import copy
import io
import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import anyformer as af
from anyformer import strict_json
from anyformer.errors import CertificateError, ExportError, NotShown
from anyformer.networks.digest import digest
from anyformer.networks.dtypes import BFLOAT16
from anyformer.networks.network import cast
from anyformer.programs.tracing import trace
from tests.certificates.programs.functions import TARGETS as EVERY_STEP

torch = pytest.importorskip("torch")

from anyformer.exports.stock import encoder_digest, to_transformer_encoder  # noqa: E402
from anyformer.exports.stock.bound import bound_behind, bound_behind_norms  # noqa: E402
from anyformer.exports.stock.module import module_of  # noqa: E402
from anyformer.exports.stock.weights import Encoder, encoder_sizes  # noqa: E402

TARGETS = [
    ("mean-scale", 5, 1, 1e-4),  # products by several layers
    ("softmax", 6, 1, 1e-4),
    ("sort", 4, 1, 1e-4),  # positions and four heads
    ("attention", 5, 3, 1e-4),  # scores of content
    ("power-sums", 3, 2, 1e-4),
    ("running-maximum", 7, 1, 1e-4),
    ("centre", 6, 2, 1e-3),
    ("mean-scale", 5, 1, 1e-6),
]


@pytest.fixture(scope="module")
def models():
    return [af.construct(name, eps, tokens=n, width=d, p=np.inf, method="compile") for name, n, d, eps in TARGETS]


@pytest.fixture(scope="module")
def modules(models):
    return [to_transformer_encoder(model) for model in models]


def samples(model, count: int, seed: int = 0) -> np.ndarray:
    """Anywhere in the domain, at its corners, and on single tokens that stand out."""
    rng, target = np.random.default_rng(seed), model.target
    low, high = target.domain.lows(target.width), target.domain.highs(target.width)
    shape = (count, target.tokens, target.width)
    anywhere = rng.uniform(low, high, shape)
    corners = np.where(rng.random(shape) < 0.5, low, high)
    lonely = np.where(np.arange(target.tokens)[:, None] == rng.integers(0, target.tokens, (count, 1, 1)), high, low)
    return model.network.dtype.rounded(np.concatenate([anywhere, corners, lonely, np.where(anywhere > 0.9, high, low)]))


def outputs(module, x: np.ndarray) -> list[np.ndarray]:
    """In evaluation by PyTorch's fast path, in evaluation without it, and in training."""
    given = torch.tensor(x, dtype=module.positions.dtype)
    with torch.no_grad():
        found = [module.eval()(given)]
    found += [module.eval()(given), module.train()(given)]
    module.eval()
    return [one.detach().double().numpy() for one in found]


def proof(model):
    """What a bound is derived from."""
    return trace(model.target), model.network, model.certificate.hints


def behind(model, norm):
    """The module with another pair than the one that is chosen; it has no certificate."""
    network, sizes = model.network, encoder_sizes(model.network)
    return module_of(network.tokens, network.width, sizes, network.dtype, Encoder(network, sizes, norm).arrays(), None)


def distance(module, model, x) -> float:
    return max(float(np.abs(y - model.target(x)).max()) for y in outputs(module, x))


@pytest.mark.parametrize("k", range(len(TARGETS)))
def test_the_error_is_never_above_the_certificate(models, modules, k):
    model, module = models[k], modules[k]
    claim = module.certificate
    assert distance(module, model, samples(model, 200)) <= claim.certified_error
    assert claim.network_error == pytest.approx(model.certificate.certified_error, rel=1e-12)
    assert 0 < claim.norm_error < 1e-10
    assert claim.is_within_tolerance


@pytest.mark.slow
@pytest.mark.parametrize("k", range(len(TARGETS)))
def test_the_error_is_never_above_the_certificate_on_many_inputs(models, modules, k):
    for seed in range(1, 26):
        assert distance(modules[k], models[k], samples(models[k], 100, seed)) <= modules[k].certificate.certified_error


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY_STEP)
@pytest.mark.parametrize("shrunk", [0, 6, 12])
def test_every_kind_of_step(name, shrunk):
    """With the C that is chosen, and with smaller ones."""
    model = af.construct(EVERY_STEP[name](), 1e-3, p=np.inf, method="compile", hidden_size=16)
    found = bound_behind_norms(*proof(model), encoder_sizes(model.network).d_model)
    norm = replace(found.norm, large=found.norm.large * 2.0**-shrunk)
    bound = bound_behind(*proof(model), norm)
    assert distance(behind(model, norm), model, samples(model, 300)) <= bound
    assert found.plain < found.normed <= (1 + 1e-9) * bound


@pytest.mark.parametrize(("name", "tokens", "width"), [("mean-scale", 5, 1), ("softmax", 6, 1), ("attention", 4, 3)])
def test_float32(name, tokens, width):
    model = af.construct(name, 2e-2, tokens=tokens, width=width, p=np.inf, method="compile", dtype="float32")
    module = to_transformer_encoder(model)
    assert module.positions.dtype == module.encoder.layers[0].linear1.weight.dtype == torch.float32
    assert distance(module, model, samples(model, 200)) <= module.certificate.certified_error
    assert module.is_certified
    assert not copy.deepcopy(module).double().is_certified


@pytest.mark.parametrize("k", range(len(TARGETS)))
@pytest.mark.parametrize("power", [12, 16, 22])
def test_the_bound_holds_where_the_norm_is_the_error(models, k, power):
    """With a C that is far too small, the norm's factor is what is off; the bound follows it."""
    model, x = models[k], samples(models[k], 100)
    found = bound_behind_norms(*proof(model), encoder_sizes(model.network).d_model)
    norm = replace(found.norm, large=2.0**power)
    bound, module = bound_behind(*proof(model), norm), behind(model, norm)
    assert distance(module, model, x) <= bound
    moved = max(float(np.abs(y - model(x)).max()) for y in outputs(module, x))
    # The norm is seen, and the bound is not much larger than what it does.
    assert 1e-14 < moved <= bound - found.plain
    assert bound - found.plain <= 300 * moved


def test_the_bound_falls_with_the_pair_until_roundings_remain(models):
    best = bound_behind_norms(*proof(models[1]), encoder_sizes(models[1].network).d_model)
    bounds = [bound_behind(*proof(models[1]), replace(best.norm, large=2.0**k)) for k in (14, 18, 22, 26)]
    assert bounds == sorted(bounds, reverse=True)
    assert best.plain < best.normed < bounds[-1]


def test_a_norm_for_smaller_channels_is_refused(models):
    norm = bound_behind_norms(*proof(models[1]), encoder_sizes(models[1].network).d_model).norm
    for wrong in (replace(norm, squares=norm.squares / 2), replace(norm, sizes=norm.sizes / 2)):
        with pytest.raises(NotShown, match="as small behind the norms"):
            bound_behind(*proof(models[1]), wrong)


def damaged(module, change):
    made = copy.deepcopy(module)
    with torch.no_grad():
        change(made)
    return made


def half_the_pair(module):
    module.positions[:, -2 if module.certificate.d_model % 2 == 0 else -3 :] /= 2


def drop_a_pair(module):
    channels = module.certificate.d_model // 2 - 1
    for layer in module.encoder.layers:
        layer.linear1.weight[:, channels : 2 * channels] = 0.0
        layer.self_attn.in_proj_weight[:, channels : 2 * channels] = 0.0


def unpaired_writes(module):
    channels = module.certificate.d_model // 2 - 1
    for layer in module.encoder.layers:
        layer.linear2.weight[channels : 2 * channels] = 0.0
        layer.self_attn.out_proj.weight[channels : 2 * channels] = 0.0


def forget_the_scale(module):
    for layer in module.encoder.layers:
        third = layer.self_attn.embed_dim
        layer.self_attn.in_proj_weight[:third] /= layer.self_attn.head_dim**0.5


def large_epsilon(module):
    for layer in module.encoder.layers:
        layer.norm1.eps = layer.norm2.eps = 1e15


FAULTS = [half_the_pair, drop_a_pair, unpaired_writes, forget_the_scale, large_epsilon]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_planted_faults_are_seen(models, modules, fault):
    """In the model that has scores of content, so that every fault matters; D is twice its channels and two."""
    model, module = models[3], modules[3]
    assert module.certificate.d_model == 2 * model.network.stream_width + 2
    wrong = damaged(module, fault)
    assert distance(wrong, model, samples(model, 50)) > module.certificate.certified_error
    assert wrong.is_certified == (fault is large_epsilon)  # which is no weight


def test_it_is_an_ordinary_encoder(modules):
    for module in modules:
        claim = module.certificate
        layer = torch.nn.TransformerEncoderLayer(
            claim.d_model, claim.nhead, claim.dim_feedforward, dropout=0.0, batch_first=True, norm_first=True
        )
        plain = torch.nn.TransformerEncoder(layer, claim.num_layers, enable_nested_tensor=False).double().eval()
        assert type(plain) is type(module.encoder)
        plain.load_state_dict(module.encoder.state_dict(), strict=True)
        x = torch.rand(2, len(module.positions), module.embed.in_features, dtype=torch.float64)
        with torch.no_grad():
            stream = module.embed(x) + module.positions
            assert torch.equal(module.read_out(plain(stream)), module(x))
            # Every norm is PyTorch's default, and there is one before each half of a layer.
        assert {
            (one.eps, one.weight.unique().item()) for one in module.modules() if type(one) is torch.nn.LayerNorm
        } == {(1e-5, 1.0)}


def test_the_large_pair_passes_unchanged(models, modules):
    x = torch.tensor(samples(models[2], 10))
    module = modules[2]
    channels = models[2].network.stream_width
    with torch.no_grad():
        end = module.encoder(module.embed(x) + module.positions)
    pair = end[..., 2 * channels : 2 * channels + 2]
    assert (pair[..., 0] == module.certificate.large).all()
    assert (pair[..., 1] == -module.certificate.large).all()
    assert not end[..., 2 * channels + 2 :].any()


def test_the_certificate_goes_with_the_weights(modules):
    module = modules[0]
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other = damaged(module, half_the_pair)
    assert not other.is_certified
    other.load_state_dict(torch.load(file, weights_only=True))
    assert other.is_certified
    with pytest.raises(FrozenInstanceError):
        module.certificate.norm_error = 0.0


def test_the_certificate_in_json(models, modules):
    module, claim = modules[0], modules[0].certificate
    data = strict_json.loads(json.dumps(claim.to_json()))
    assert float.fromhex(data["certified_error"]) == claim.certified_error >= claim.network_error + claim.norm_error
    assert data["weights_digest"] == models[0].certificate.weights_digest
    assert data["encoder_digest"] == encoder_digest(
        {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    )
    assert "4·d_model + 32" in data["assumptions"][1]
    assert data["claim"].startswith("d_p(f, encoder) <= 8.5")


def test_other_norms_are_scaled():
    """In L², over the unit square with two entries, an error of e everywhere is √2·e."""
    two = af.construct("mean-scale", 1e-2, tokens=2, p=2.0, method="compile")
    claim = to_transformer_encoder(two).certificate
    assert claim.network_error == pytest.approx(two.certificate.certified_error, rel=1e-12)
    assert claim.network_error == pytest.approx(2**0.5 * two.certificate.terms["largest"], rel=1e-12)


def test_a_loaded_model_names_its_target(models, tmp_path):
    loaded = af.load(models[0].save(tmp_path / "model"))
    assert to_transformer_encoder(loaded).certificate == to_transformer_encoder(models[0]).certificate


def half(x):
    return np.tanh(x) / 2


def test_a_users_function_must_be_given_again(tmp_path):
    model = af.construct(half, 1e-2, tokens=3, p=np.inf, method="compile")
    loaded = af.load(model.save(tmp_path / "model"))
    with pytest.raises(CertificateError, match="never runs code"):
        to_transformer_encoder(loaded)
    assert to_transformer_encoder(loaded, model.target).is_certified


def test_a_constant_has_channels_that_hold_nothing():
    model = af.construct(lambda x: 0 * x + 0.25, 1e-2, tokens=3, p=np.inf, method="compile")
    module = to_transformer_encoder(model)
    assert distance(module, model, samples(model, 5)) <= module.certificate.certified_error < 1e-12


def test_it_trains(modules):
    module = copy.deepcopy(modules[0]).train()
    x = torch.rand(4, 5, 1, dtype=torch.float64)
    module(x).square().mean().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())


def test_building_it_draws_no_random_numbers(models):
    torch.manual_seed(7)
    first = torch.rand(1)
    torch.manual_seed(7)
    to_transformer_encoder(models[3])
    assert torch.equal(torch.rand(1), first)


@pytest.mark.parametrize("given", [torch.zeros(2, 5, 2), torch.zeros(5, 1), torch.zeros(2, 5, 1, dtype=torch.float32)])
def test_other_sequences_are_refused(modules, given):
    given = given if given.shape == (2, 5, 1) else given.double()
    with pytest.raises(ExportError, match=r"must be torch.float64 of shape \(batch, 5, 1\); got"):
        modules[0](given)


def test_what_does_not_fit_is_refused_with_the_reason(models, averaged_models):
    with pytest.raises(ExportError, match=r"must be compiled.*this one is a table. Build it with method='compile'"):
        to_transformer_encoder(averaged_models[0])
    interpolant = af.construct("mean-scale", 0.2, tokens=2, p=np.inf, method="interpolation")
    with pytest.raises(ExportError, match="this one is an interpolant"):
        to_transformer_encoder(interpolant)
    model = models[0]
    with pytest.raises(ExportError, match="must be float64 or float32; this one is bfloat16"):
        to_transformer_encoder(replace(model, network=cast(model.network, BFLOAT16)))
    ring = replace(model.network, pattern=af.patterns.Ring().at(5))
    with pytest.raises(ExportError, match="this one has a sparse pattern"):
        to_transformer_encoder(replace(model, network=ring))
    with pytest.raises(CertificateError, match="it speaks of other weights"):
        to_transformer_encoder(replace(model, network=models[-1].network))


def test_a_deep_one_is_refused(models, monkeypatch):
    monkeypatch.setattr("anyformer.exports.stock.conversion.MOST_LAYERS", 1)
    with pytest.raises(ExportError, match=r"at most 1 layers.*this one would have 2"):
        to_transformer_encoder(models[0])


def test_other_weights_get_the_error_that_they_have(models):
    """Hints and digest are of these weights; the kinks are not where they should be, and the bound says so."""
    model = models[0]
    stage = model.network.stages[-1]
    wrong = replace(model.network, stages=(*model.network.stages[:-1], replace(stage, b_1=stage.b_1 + 0.01)))
    claim = replace(model.certificate, weights_digest=digest(wrong))
    module = to_transformer_encoder(replace(model, network=wrong, certificate=claim))
    assert not module.certificate.is_within_tolerance
    assert (
        model.certificate.tolerance < distance(module, model, samples(model, 100)) <= module.certificate.certified_error
    )


def test_pytorch_takes_its_fast_path(models, modules, monkeypatch):
    """For an even number of heads; the tests above would not see it otherwise."""
    calls, fast = [], torch._transformer_encoder_layer_fwd
    monkeypatch.setattr(torch, "_transformer_encoder_layer_fwd", lambda *given: calls.append(1) or fast(*given))
    assert modules[2].certificate.nhead == 4
    outputs(modules[2], samples(models[2], 3))
    assert len(calls) == modules[2].certificate.num_layers
