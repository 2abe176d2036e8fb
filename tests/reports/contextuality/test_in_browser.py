"""The page of contexts in Chromium: curves, the choice of a layer, witnesses as text, and nothing else runs."""

from dataclasses import replace

import numpy as np
import pytest

from anyformer.contextuality import Side, measure_contextual_mapping
from anyformer.reports.contextuality.page import context_page
from tests.explorer.conftest import Opened, browser  # noqa: F401

HOSTILE = '<img src=x onerror="alert(1)"></script><script>alert(2)</script>'
TABLE = np.random.default_rng(0).normal(size=(30, 5))


def layers(ids):
    x = TABLE[ids] + np.sin(np.arange(ids.shape[1]))[:, None]
    return [TABLE[ids], x, x + (x * np.arange(1, ids.shape[1] + 1)[:, None]).sum(axis=1, keepdims=True)]


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(1)
    measured = measure_contextual_mapping(layers, [rng.integers(0, 30, 9) for _ in range(12)])
    first, *others = measured.witnesses[2]
    side = Side(((HOSTILE, False), ("same ", True)), "token " + HOSTILE, (("after", False),))
    planted = (replace(first, sides=(side, side)), *others)
    return replace(measured, model=f"a model {HOSTILE}", witnesses=(*measured.witnesses[:2], planted))


@pytest.fixture
def opened(browser, tmp_path, found):  # noqa: F811
    contexts = []

    def open_page(width=1000, **options):
        place = tmp_path / f"{len(contexts)}.html"
        context_page(found).save(place)
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_offline(True)
        contexts.append(context)
        page = Opened(context.new_page())
        page.page.on("console", lambda message: page.complaints.append(message.text))
        page.page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.page.on("dialog", lambda dialog: (page.complaints.append(dialog.message), dialog.dismiss()))
        page.page.goto(place.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


def test_the_page_shows_what_was_measured(opened, found):
    page = opened()
    rows = page.page.locator("#layers tbody tr")
    assert rows.count() == 3
    verdicts = [rows.nth(k).locator("td").nth(1).inner_text() for k in range(3)]
    assert verdicts == ["not contextual", "not contextual", "contextual"]
    for name in ("distances", "distribution", "similarity", "sensitivity"):
        page.page.locator(f"#{name} svg path.line").first.wait_for(state="attached")
    assert page.page.locator("#distances svg circle.dot").count() == 9
    assert page.run("anyformer.data().layers[2].same_token.distance") == found.layers[2].same_token.distance
    assert page.complaints == []


def test_hostile_texts_are_shown_as_text(opened):
    page = opened()
    assert page.page.locator("h1").inner_text() == f"a model {HOSTILE}"
    first = page.page.locator(".witnesses li").first
    assert first.locator("mark").first.inner_text() == "token " + HOSTILE
    assert first.locator(".own").first.inner_text() == HOSTILE
    assert first.locator(".same").first.inner_text().strip() == "same"
    assert page.page.locator("img").count() == 0
    assert page.complaints == []


def test_a_layer_is_chosen_by_its_row_its_place_and_its_name(opened, found):
    page = opened()
    assert page.run("anyformer.state().layer") == 2
    page.page.locator('#layers [data-layer="0"]').click()
    assert page.run("anyformer.state().layer") == 0
    assert page.page.locator(".witnesses .distance").first.inner_text() == "distance 0"
    page.page.locator('#distances .target[data-place="1"]').click()
    assert page.run("anyformer.state().layer") == 1
    page.page.locator("#witnesses select").nth(0).select_option("2")
    page.page.locator("#witnesses select").nth(1).select_option("2")
    assert page.page.locator(".witnesses li").count() == len(found.layers[2].within.pairs)
    page.page.locator("#sensitivity select").select_option("1")
    page.page.locator("#sensitivity svg path.line").nth(2).wait_for(state="attached")  # drawn in the next frame
    assert page.page.locator("#sensitivity svg path.line").count() == 3
    assert page.complaints == []


@pytest.mark.parametrize("options", [{"width": 390}, {"color_scheme": "dark"}], ids=["phone", "dark"])
def test_it_fits_a_phone_and_a_dark_room(opened, options):
    page = opened(**options)
    assert page.run("document.documentElement.scrollWidth <= window.innerWidth")
    ground = page.run("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(21, 23, 26)") == ("color_scheme" in options)
    assert page.complaints == []
