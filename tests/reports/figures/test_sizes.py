"""Layers and units by stage: they are all there."""

from dataclasses import replace

import pytest

from anyformer.networks.layers import AttentionStage
from anyformer.reports.figures.sizes import MOST_STAGES, draw_sizes, plates, sizes_of


@pytest.mark.parametrize("name", ["softmax", "table", "sparse", "shifts", "interpolant"])
def test_the_stages_make_up_the_network(name, request):
    network = request.getfixturevalue(name).network
    sizes = sizes_of(network)
    assert sum(stage.layers for stage in sizes.stages) == network.layer_count
    assert sum(stage.units for stage in sizes.stages if not stage.is_attention) == network.hidden_unit_count
    around = [network.positional_encoding, network.W_E, network.W_R, network.b_R]
    outside = sum(array.size for array in around if array is not None)
    assert sum(stage.numbers for stage in sizes.stages) + outside == network.parameter_count
    assert [stage.is_attention for stage in sizes.stages] == [isinstance(one, AttentionStage) for one in network.stages]


def test_bars_and_names(table):
    sizes = sizes_of(table.network)
    layers, units, numbers = draw_sizes(sizes).axes
    for panel, of in ((layers, "layers"), (units, "units"), (numbers, "numbers")):
        assert [patch.get_width() for patch in panel.patches] == [getattr(stage, of) for stage in sizes.stages]
    names = [label.get_text() for label in layers.get_yticklabels()]
    assert names[:3] == ["0  quantise", "1  recode", "2  average"]


def test_many_stages_are_cut_in_the_middle(table):
    network = table.network
    many = replace(network, stages=tuple(network.stages[k % 6] for k in range(60)))
    sizes = sizes_of(many)
    assert (len(sizes.stages), sizes.left_out) == (MOST_STAGES, 60 - MOST_STAGES)
    names = [label.get_text().split()[0] for label in draw_sizes(sizes).axes[0].get_yticklabels()]
    assert names == [*map(str, range(12)), *map(str, range(48, 60))]


def test_hostile_names_are_text(table):
    stages = [replace(stage, name="$\\x \x1b[31m<b>" + "y" * 99) for stage in table.network.stages]
    drawn = draw_sizes(sizes_of(replace(table.network, stages=tuple(stages))))
    assert drawn.axes[0].get_yticklabels()[0].get_text() == "0  \\$\\x \\x1b[31m<b>yyyyyyyyyyyyy…"


def test_the_caption_counts(table):
    assert f"{table.network.layer_count} layers, of which 1 attention" in plates(table)[0].caption
