"""The error budget: its parts are the certificate's terms, and add up as it says."""

from dataclasses import replace

import pytest

from anyformer.reports.figures.budget import MOST_PARTS, budget_of, draw_budget, plates


@pytest.mark.parametrize("name", ["table", "bump", "sparse", "shifts", "interpolant"])
def test_the_parts_of_a_table_make_up_the_certified_error(name, request):
    certificate = request.getfixturevalue(name).certificate
    budget = budget_of(certificate)
    p = 1.0 if certificate.cells is not None else certificate.p
    assert budget.adds_up
    # The bound is rounded up in its last bits only.
    assert sum(part.share for part in budget.parts) == pytest.approx((budget.certified / budget.tolerance) ** p, 1e-9)
    assert len(budget.parts) == len([name for name in certificate.terms if name != "rest_volume"])


def test_the_parts_of_a_program_are_its_steps(softmax):
    budget = budget_of(softmax.certificate)
    assert not budget.adds_up
    assert [part.name.split(" = ")[0] for part in budget.parts] == ["v1", "v2", "v3", "v4"]
    assert budget.parts[0].name == "v1 = exp(3·x0)"
    assert [part.amount for part in budget.parts] == [softmax.certificate.terms[f"step_{k}"] for k in (1, 2, 3, 4)]


def test_the_largest_of_many_are_shown(softmax):
    terms = {f"step_{k}": 0.001 * (k + 1) for k in range(50)}
    budget = budget_of(replace(softmax.certificate, terms=terms))
    assert (len(budget.parts), budget.left_out) == (MOST_PARTS, 50 - MOST_PARTS)
    assert [part.name for part in budget.parts][:2] == ["v49", "v48"]


def test_bars_are_as_long_as_the_amounts(table):
    budget = budget_of(table.certificate)
    (panel,) = draw_budget(budget).axes
    widths = [patch.get_width() for patch in panel.patches]
    assert widths == [*(part.amount for part in budget.parts), budget.certified, budget.measured]
    assert [line.get_xdata()[0] for line in panel.lines] == [budget.tolerance]
    assert panel.get_xlim()[1] > max(*widths, budget.tolerance)


def test_amounts_far_apart_are_dots_on_a_logarithmic_axis(table):
    terms = {"cells": 1e-12, "coincidence": 0.0, "rest": 0.01}
    budget = budget_of(replace(table.certificate, terms=terms))
    assert budget.is_wide
    (panel,) = draw_budget(budget).axes
    assert panel.get_xscale() == "log"
    dots = [line.get_xdata()[0] for line in panel.lines if line.get_marker() == "o"]
    assert dots == [1e-12, 0.01, budget.certified, budget.measured]
    assert not panel.patches


def test_tiny_and_huge_amounts_can_be_drawn(table):
    terms = {"cells": 5e-324, "coincidence": 1e100, "rest": 0.01}
    certificate = replace(table.certificate, terms=terms, tolerance=1e-100, p=64.0)
    budget = budget_of(certificate)
    assert budget.parts[1].share == float("inf")
    assert draw_budget(budget).axes[0].get_xlim()[0] > 0


def test_hostile_formulas_are_drawn_as_text(softmax):
    program = {"steps": {"v1": "$\\frac{ <script>", "v2": 3, "v3": ["x"]}, "outputs": []}
    certificate = replace(softmax.certificate, construction={"method": "compile", "program": program})
    labels = [label.get_text() for label in draw_budget(budget_of(certificate)).axes[0].get_yticklabels()]
    assert labels[0] == "v1 = \\$\\frac{ <script>"
    nothing = replace(softmax.certificate, construction={"program": 7})
    assert budget_of(nothing).parts[0].name == "v1"


def test_there_is_always_a_budget(softmax, table):
    assert "the rows do not add up" in plates(softmax)[0].caption
    assert "the rows add up as powers of 2" in plates(table)[0].caption
