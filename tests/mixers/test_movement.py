"""How many output tokens move, and how far, when k input tokens change."""

import pytest

from anyformer.mixers import Attention, Average, Bilinear, Convolution, MixerError, draw_movement, measure_movement

TOKENS, WIDTH = 30, 12


def measured(mixer, changes=(1, 3), **sizes):
    return measure_movement(mixer, changes, width=WIDTH, tokens=TOKENS, pairs=16, **sizes)


@pytest.mark.parametrize("mixer", [Bilinear(TOKENS), Attention(heads=3), Average()], ids=str)
def test_a_change_of_one_token_moves_all_where_the_mixer_is_dense(mixer):
    for row in measured(mixer):
        assert row.share == 1.0
        assert row.smallest > 0


def test_a_random_bilinear_projection_moves_far_tokens_as_far_as_near_ones():
    (row,) = measure_movement(Bilinear(TOKENS), [1], width=WIDTH, tokens=TOKENS, pairs=400)
    # Token j moves by |W_P[i, j]| of the change, wherever j stands; E|N(0, 1/n)| = √(2/πn), and 400 draws are near it:
    # the deviation of |N(0, 1/n)| is √((1 − 2/π)/n), so five deviations of a mean of 400 are 5/20 of that.
    mean, deviation = (2 / (3.14159265 * TOKENS)) ** 0.5, ((1 - 2 / 3.14159265) / TOKENS) ** 0.5
    near = sum(row.distances[1:8]) / 7
    assert abs(near - mean) < 5 * deviation / 400**0.5


def test_the_average_moves_all_by_the_same():
    (row,) = measured(Average(), [1])
    # The mean of n terms errs by n roundings at most, which the change of a token, 1 of them, makes n times as large.
    assert row.distances == pytest.approx([1 / TOKENS] * len(row.distances), rel=TOKENS**2 * 2.0**-52)


def test_a_convolution_moves_what_its_kernel_reaches_and_no_more():
    (row,) = measured(Convolution(kernel=5, filters=4), [1])
    assert 3 <= row.moved <= 5
    assert all(distance > 0 for distance in row.distances[:3])
    assert not any(row.distances[3:])
    assert row.smallest == 0


def test_all_changed_is_all_near():
    (row,) = measured(Bilinear(TOKENS), [TOKENS])
    assert len(row.distances) == 1


def test_the_same_seed_gives_the_same_numbers():
    assert measured(Bilinear(TOKENS), seed=5) == measured(Bilinear(TOKENS), seed=5)
    assert measured(Bilinear(TOKENS), seed=5) != measured(Bilinear(TOKENS), seed=6)


@pytest.mark.parametrize("changed", [0, TOKENS + 1])
def test_changes_must_fit(changed):
    with pytest.raises(MixerError, match=f"from 1 to tokens = {TOKENS}; got {changed}"):
        measured(Average(), [changed])


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_picture_is_written(tmp_path, suffix):
    pytest.importorskip("matplotlib")
    rows = [row for mixer in (Bilinear(TOKENS), Convolution(5, 4), Average()) for row in measured(mixer)]
    place = draw_movement(rows, tmp_path / f"movement.{suffix}")
    assert place.stat().st_size > 1000
    assert list(tmp_path.iterdir()) == [place]


def test_pictures_of_nothing_and_of_unknown_kinds_are_refused(tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(MixerError, match="got no movements"):
        draw_movement([], tmp_path / "movement.svg")
    with pytest.raises(MixerError, match=r"one of \.svg, \.png, \.pdf; got 'movement\.gif'"):
        draw_movement(measured(Average()), tmp_path / "movement.gif")
