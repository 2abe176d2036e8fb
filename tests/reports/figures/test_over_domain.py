"""Target, network and error over the domain: the numbers drawn are those of the model."""

import numpy as np
import pytest

from anyformer.reports.figures.over_domain import (
    FEWEST,
    MOST,
    draw_map,
    draw_profile,
    map_of,
    plates,
    profile_of,
    side_for,
)
from anyformer.reports.figures.points import fixed_entries, sample_point
from anyformer.reports.figures.subject import LeftOut, Subject


@pytest.mark.parametrize("name", ["softmax", "power_sums", "table", "sparse"])
def test_a_profile_is_what_target_and_network_say(name, request):
    subject = request.getfixturevalue(name)
    shown = profile_of(subject, subject.target, points=13)
    x = np.repeat(shown.point[None], 13, axis=0)
    x[:, 0, 0] = shown.x
    np.testing.assert_array_equal(shown.network, subject.model(x)[:, *shown.output])
    np.testing.assert_array_equal(shown.target, subject.target(x)[:, *shown.output])
    np.testing.assert_array_equal(shown.error, shown.network - shown.target)
    assert (shown.x[0], shown.x[-1]) == (0.0, 1.0)


def test_the_output_shown_is_the_one_that_changes_most(running_maximum):
    shown = profile_of(running_maximum, running_maximum.target, points=9)
    x = np.repeat(shown.point[None], 9, axis=0)
    x[:, 0, 0] = shown.x
    changes = np.ptp(running_maximum.target(x), axis=0)
    assert changes[shown.output] == changes.max() > 0


def test_a_map_has_its_first_input_across(power_sums):
    shown = map_of(power_sums, power_sums.target, side=5)
    x = shown.point.copy()
    x[0, 0], x[1, 0] = shown.x[3], shown.y[1]
    assert shown.network[1, 3] == power_sums.model(x)[shown.output]
    assert shown.target[1, 3] == power_sums.target(x)[shown.output]
    assert shown.varied == ((0, 0), (1, 0))


def test_around_a_compact_support_there_is_a_margin(bump):
    shown = profile_of(bump, bump.target, points=17)
    assert shown.x[0] < 0 < 1 < shown.x[-1]
    assert shown.target[0] == shown.target[-1] == 0 == shown.network[0] == shown.network[-1]


def test_a_band_is_drawn_where_every_error_is_bounded(softmax):
    shown = profile_of(softmax, softmax.target, points=40)
    assert shown.bound == softmax.certificate.certified_error
    assert np.abs(shown.error).max() <= shown.bound
    values, errors = draw_profile(shown).axes
    drawn = {line.get_label(): line for panel in (values, errors) for line in panel.lines}
    np.testing.assert_array_equal(drawn["network $g$"].get_ydata(), shown.network)
    np.testing.assert_array_equal(drawn["target $f$"].get_ydata(), shown.target)
    np.testing.assert_array_equal(drawn["error on this line"].get_ydata(), shown.error)
    ends = sorted(line.get_ydata()[0] for line in errors.lines if line.get_linestyle() == "--")
    assert ends == [-shown.bound, shown.bound]
    assert any(label.startswith("proved: never beyond ±") for label in drawn)


def test_no_band_is_drawn_where_only_a_mean_is_bounded(table):
    shown = profile_of(table, table.target, points=40)
    assert shown.bound is None
    values, errors = draw_profile(shown).axes
    assert not values.collections
    assert [line.get_label() for line in errors.lines] == ["error on this line"]
    assert "not the error at single inputs: no band is drawn" in plates(table)[0].caption


def test_what_was_not_proved_is_not_called_proved(softmax):
    claimed = Subject(softmax.model, softmax.target, None)
    labels = [line.get_label() for line in draw_profile(profile_of(claimed, softmax.target, points=9)).axes[1].lines]
    assert any(label.startswith("claimed: ") for label in labels)
    assert not any("proved" in label for label in labels)


def test_the_three_maps_are_drawn(table):
    shown = map_of(table, table.target, side=7)
    images = [panel.images[0].get_array() for panel in draw_map(shown).axes if panel.images]
    for image, values in zip(images, (shown.target, shown.network, shown.error), strict=True):
        np.testing.assert_array_equal(image, values)


def test_larger_networks_have_coarser_maps(softmax, shifts):
    assert FEWEST <= side_for(softmax) <= MOST
    assert side_for(softmax) == MOST


def test_without_the_function_nothing_is_drawn(softmax):
    found = plates(Subject(softmax.model, None, None))
    assert [type(one) for one in found] == [LeftOut, LeftOut]


def test_the_point_is_inside_and_its_entries_differ(power_sums):
    point = sample_point(power_sums.target.domain, 3, 2)
    assert point.shape == (3, 2)
    assert ((point > 0) & (point < 1)).all()
    assert len(set(point.ravel().tolist())) == 6
    said = fixed_entries(point, [(0, 0)])
    assert said.startswith("the others are fixed: token 0, coordinate 1 = ")
    assert "token 0, coordinate 0" not in said
    assert fixed_entries(np.zeros((20, 1)), [(0, 0)]).endswith(" and 11 more")
