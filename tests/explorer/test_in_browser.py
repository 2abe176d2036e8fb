"""The page in Chromium: it computes what Python computes, and it can be dragged, slid, typed at and read."""

from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.explorer.network_data import network_data
from anyformer.networks.digest import digest
from anyformer.networks.dtypes import BFLOAT16, FLOAT16, FLOAT32
from anyformer.networks.fused import fused
from anyformer.networks.network import Network, cast
from anyformer.networks.probability_maps import probability_map
from anyformer.parity.rounding import rounding_bound
from anyformer.programs.tracing import trace
from anyformer.programs.values import node_values
from anyformer.runtime.run import run
from tests.random_networks import embedded_network, random_network

NINE = [
    "mean-scale-3",
    "centre-64x3",
    "softmax-3-interpolation",
    "mean-scale-3-averaging",
    "bump-3-averaging",
    "distance-3x2-averaging",
    "softmax-3-selective-shift",
    "sort-4-sparse-averaging",
    "running-maximum-3-sparse-shift",
]


def inputs(model, count, on_cells, seed=0):
    """Inputs of the domain, or of the cells of a table."""
    network, grid = model.network, model.certificate.grid
    rng = np.random.default_rng(seed)
    unit = rng.random((count, network.tokens, network.width))
    if not on_cells:
        low, high = (
            ends(network.width)
            for ends in (model.certificate.target.domain.lows, model.certificate.target.domain.highs)
        )
        return low + unit * (high - low)
    choice = np.stack([rng.integers(0, len(row), unit.shape[:2]) for row in grid.lows], axis=-1)
    boxes = grid.boxes(choice)
    # Rounding may leave the box.
    return np.clip(boxes.low + unit * (boxes.high - boxes.low), boxes.low, boxes.high)


def check_numbers(page, model, count):
    network = model.network
    if model.certificate.grid is not None:
        x = inputs(model, count, on_cells=True)
        assert np.array_equal(page.evaluate(x), run(network, x)), "bits are equal on cells"
    x = inputs(model, count, on_cells=False, seed=1)
    apart = np.abs(page.evaluate(x) - run(network, x))
    # Only exp may differ: so much may it change what follows.
    assert (apart <= rounding_bound(network, network.dtype.rounded(x))).all()
    assert page.complaints == []


@pytest.fixture(scope="module")
def averaged():
    return af.construct("mean-scale", 0.1, tokens=3, method="averaging")


@pytest.fixture(scope="module")
def compiled():
    return af.construct("softmax", 0.05, tokens=3, width=1, p=float("inf"), method="compile")


def test_numbers_are_those_of_python(opened, averaged, compiled):
    for model in (averaged, compiled):
        check_numbers(opened(model), model, 40)


@pytest.mark.slow
@pytest.mark.parametrize("name", NINE)
def test_a_thousand_inputs_of_nine_models(opened, name):
    model = af.zoo.load(name)
    check_numbers(opened(model), model, 1000)


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT16, BFLOAT16], ids=str)
def test_narrow_types_round_as_python_does(opened, compiled, dtype):
    model = replace(compiled, network=cast(compiled.network, dtype))
    page = opened(compiled)
    x = inputs(compiled, 30, on_cells=False)
    got = page.run(
        "([data, x]) => anyformer.evaluateWith(data, x)", [network_data(model.network), x.reshape(30, -1).tolist()]
    )
    assert np.array_equal(np.array(got).reshape(x.shape), run(model.network, x))


def test_fused_multiply_adds_are_rounded_once(opened, compiled):
    """Hard cases: products whose rounding error decides, cancellation, underflow and overflow."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 5000)) * 2.0 ** rng.integers(-40, 40, (2, 5000))
    c = -(a * b) * (1 + rng.integers(-3, 4, 5000) * 2.0**-52)
    c[::3] = rng.normal(size=len(c[::3])) * 2.0 ** rng.integers(-120, 60, len(c[::3]))
    edge = np.array([2.0**-1074, -(2.0**-1022), 2.0**-540, 2.0**1000, 1.5 * 2.0**511, 3.0, 0.0, -1 / 3])
    grid = np.array(np.meshgrid(edge, edge, edge)).reshape(3, -1)
    a, b, c = (np.concatenate([one, more]) for one, more in zip((a, b, c), grid, strict=True))
    want = fused(a, b, c)
    with np.errstate(all="ignore"):
        twice_rounded = a * b + c
    keep = np.isfinite(want)
    got = opened(compiled).run(
        "x => x.map(([a, b, c]) => anyformer.fused(a, b, c))", np.stack([a, b, c], 1)[keep].tolist()
    )
    assert np.array_equal(np.array(got, dtype=np.float64), want[keep])
    assert (want != twice_rounded)[keep].sum() > 1000, "the cases are hard"


def test_exact_values_of_steps_are_those_of_the_program(opened, compiled):
    x = inputs(compiled, 1, on_cells=False)
    got = np.array(opened(compiled).run("x => anyformer.nodes(x)", x.ravel().tolist()))
    want = np.stack([values[0] for values in node_values(trace(compiled.target), x).values()])
    # A few operations of size 1, and functions within some ulps.
    assert np.allclose(got, want, rtol=2.0**-46, atol=2.0**-46)


@pytest.mark.parametrize("rho", ["sparsemax", "entmax:1.5"])
def test_other_probability_maps(opened, rho):
    model = af.construct("mean-scale", 0.3, tokens=2, method="selective-shift", probability_map=probability_map(rho))
    check_numbers(opened(model), model, 40)


def test_dragging_a_token_moves_the_output(opened, averaged):
    page = opened(averaged)
    before = page.run("anyformer.output()")
    handle = page.page.locator('#tokens [data-token="1"] .dot')
    box = handle.bounding_box()
    page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] - 500, steps=4)
    page.page.mouse.up()
    page.page.wait_for_function("anyformer.input()[1] === 1")
    after = page.run("[anyformer.refresh(), anyformer.output()]")[1]
    assert after != before
    shown = np.array(page.run("anyformer.input()")).reshape(1, 3, 1)
    assert np.array_equal(np.array(after), run(averaged.network, shown).ravel())
    assert "token 1" in page.page.locator("#heads").inner_text()
    assert page.complaints == []


def test_keys_move_tokens_and_choose_them(opened, averaged):
    page = opened(averaged)
    page.page.locator('#tokens [role="slider"][tabindex="0"]').focus()
    page.page.keyboard.press("End")
    page.page.wait_for_function("anyformer.input()[0] === 1")
    page.page.keyboard.press("ArrowDown")
    page.page.wait_for_function("Math.abs(anyformer.input()[0] - 0.99) < 1e-12")
    page.page.keyboard.press("ArrowRight")
    page.page.wait_for_selector('#tokens [data-token="1"]:focus')
    page.page.keyboard.press("Home")
    page.page.wait_for_function("anyformer.input()[1] === 0")
    page.page.wait_for_selector('#tokens [data-token="1"][aria-valuenow="0"]')
    assert page.complaints == []


def test_a_slider_moves_what_the_maps_hold_still(opened, averaged):
    page = opened(averaged)
    page.page.wait_for_selector('#maps[data-side="48"]', state="attached")
    assert page.page.locator("#maps canvas[role=img]").count() == 3
    drawn = "[...document.querySelectorAll('#maps canvas[role=img]')].map(one => one.toDataURL())"
    before = page.run(drawn)
    page.page.locator("#maps input[type=range]").fill("0.1")
    page.page.wait_for_function("anyformer.input()[2] === 0.1")
    page.page.wait_for_function("document.querySelector('#maps output').textContent === '0.1'")
    page.page.wait_for_function(f"before => {drawn}.every((one, k) => one !== before[k])", arg=before)
    assert page.complaints == []


def test_buttons_go_to_the_largest_error_and_back(opened, averaged):
    page = opened(averaged)
    start = page.run("anyformer.input()")
    page.page.get_by_role("button", name="largest").click()
    page.page.wait_for_function("start => anyformer.input().join() !== start.join()", arg=start)
    x = np.array(page.run("anyformer.input()")).reshape(1, 3, 1)
    said = float(page.page.get_by_role("button", name="largest").inner_text().split(": ")[1])
    assert np.abs(run(averaged.network, x) - averaged.target(x)).max() == pytest.approx(said, rel=1e-2)
    page.page.get_by_role("button", name="Begin again").click()
    page.page.wait_for_function("start => anyformer.input().join() === start.join()", arg=start)


@pytest.mark.parametrize("options", [{"width": 390, "height": 844, "has_touch": True}, {"color_scheme": "dark"}])
def test_a_phone_and_the_dark_are_readable(opened, averaged, options):
    page = opened(averaged, **options)
    page.page.wait_for_selector("#contexts svg")
    assert page.run("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
    paper, ink = page.run("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    paper, ink = (np.array([int(part) for part in colour.strip("rgb()").split(",")]) for colour in (paper, ink))
    assert bool(paper.mean() < ink.mean()) is (options.get("color_scheme") == "dark")
    assert abs(paper.mean() - ink.mean()) > 150
    assert page.complaints == []


def test_a_notebook_shows_it_in_a_frame(browser, averaged):
    page, complaints = browser.new_page(), []
    page.on("console", lambda message: complaints.append(message.text))
    page.set_content(f"<!DOCTYPE html>{averaged.explore()._repr_html_()}")
    frame = page.frame_locator("iframe")
    assert frame.locator("h1").inner_text() == "mean-scale on 3 tokens"
    assert frame.locator("#tokens [role=slider]").count() == 3
    assert complaints == []
    page.close()


def test_every_picture_has_words(opened, averaged):
    page = opened(averaged)
    page.page.wait_for_selector('#maps[data-side="12"], #maps[data-side="24"], #maps[data-side="48"]', state="attached")
    assert (
        page.run("[...document.querySelectorAll('[role=img]')].filter(one => !one.getAttribute('aria-label')).length")
        == 0
    )
    assert page.run("document.querySelectorAll('[role=img]').length") > 4


def hostile_model(averaged):
    text = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>\u2028&amp;"
    stages = tuple(replace(stage, name=text) for stage in averaged.network.stages)
    network: Network = replace(averaged.network, stages=stages)
    certificate = replace(
        averaged.certificate,
        target=replace(averaged.certificate.target, name=text, is_ready_made=False),
        construction={"method": text},
        weights_digest=digest(network),
    )
    return replace(averaged, network=network, certificate=certificate), text


def test_hostile_strings_are_shown_as_text(opened, averaged, tmp_path):
    model, text = hostile_model(averaged)
    model.save(tmp_path / "model")
    page = opened(af.load(tmp_path / "model"))
    assert page.complaints == []
    assert text.replace("\u2028", "") in page.page.locator("h1").text_content().replace("\u2028", "")
    assert page.page.title() != "taken"
    assert page.page.locator("img").count() == 0
    assert text[:30] in page.page.locator("#walk").inner_text()


def test_a_target_that_is_no_program_is_shown_on_a_plane(opened):
    def middle(x):  # one sequence at a time, by Python's own sorting: nothing that could be traced
        return np.full_like(x, sorted(float(one) for one in x.ravel())[1])

    target = af.target(middle, tokens=3, lipschitz=1.0, vectorised=False)
    model = af.construct(target, 0.4, method="averaging")
    page = opened(model)
    page.page.wait_for_selector('#maps[data-side="33"]', state="attached")
    assert page.run("anyformer.target([[0, 0, 0]])") is None
    assert "cannot be written as a program" in page.page.locator("footer").inner_text()
    check_numbers(page, model, 20)


def test_the_policy_stops_a_script_that_is_not_the_page_s(opened, averaged):
    """The check of the checks: the policy is in force."""
    page = opened(averaged)
    page.run("() => document.body.append(document.createElement('script'))")
    page.run("() => { document.body.lastElementChild.textContent = 'window.taken = 1' }")
    assert page.run("window.taken") is None
    assert any("Content Security Policy" in complaint for complaint in page.complaints)


def test_a_wrong_weight_is_found_out(opened, averaged):
    """The check of the checks: numbers are compared to the last bit."""
    *others, last = averaged.network.stages
    b_2 = last.b_2.copy()
    b_2[-1] += 2.0**-45
    network = replace(averaged.network, stages=(*others, replace(last, b_2=b_2)))
    certificate = replace(averaged.certificate, weights_digest=digest(network))
    wrong = replace(averaged, network=network, certificate=certificate)
    x = inputs(averaged, 40, on_cells=True)
    assert not np.array_equal(opened(wrong).evaluate(x), run(averaged.network, x))


def test_random_networks_agree(opened, compiled):
    """Networks that no method builds: positions, patterns, embeddings, several heads."""
    page = opened(compiled)
    networks = [random_network(seed, tokens=4, width=3, positions=seed % 2 == 0) for seed in range(4)]
    for seed, network in enumerate([*networks, embedded_network(0), embedded_network(1)]):
        x = np.random.default_rng(seed).random((5, network.tokens, network.width))
        got = page.run(
            "([data, x]) => anyformer.evaluateWith(data, x)", [network_data(network), x.reshape(5, -1).tolist()]
        )
        apart = np.abs(np.array(got).reshape(x.shape) - run(network, x))
        assert (apart <= rounding_bound(network, x)).all()
