"""Every witness a report gives, checked by hand."""

from anyformer.patterns import Answer
from anyformer.patterns.universality.witnesses import Cut, Incomparable, Infeasible, Narrow, NeverMeet, NeverTogether
from tests.patterns import naive


def check_witnesses(pattern, report):
    layers = naive.layers_of(pattern)
    sees = naive.union(layers)
    for loop in report.self_loops.missing:
        assert loop.token not in naive.sets(pattern.layers[loop.layer][loop.head])[loop.token]
    if report.path.answer is Answer.HOLDS:
        assert naive.is_path(layers, report.path.gamma)
    check_path_witness(sees, report.path.witness)
    for pair in (report.never_meet, report.reach.witness, report.causal_reach and report.causal_reach.witness):
        if isinstance(pair, NeverMeet):
            assert pair.input not in naive.learns_from(sees, pair.output)
        if isinstance(pair, NeverTogether):
            assert pair.input not in after(layers, pair.hops)[pair.output]
    if report.relay is not None:
        assert naive.is_star(naive.sets(pattern.layers[report.relay.layer][report.relay.head]))


def check_path_witness(sees, witness):
    if isinstance(witness, Incomparable):
        assert witness.first not in naive.learns_from(sees, witness.second)
        assert witness.second not in naive.learns_from(sees, witness.first)
    elif isinstance(witness, Cut):
        assert naive.pieces(sees, witness.tokens) == witness.pieces > len(witness.tokens) + 1
    elif isinstance(witness, Narrow):
        assert set().union(*(sees[k] - {k} for k in witness.tokens)) == set(witness.seen)
        assert len(witness.seen) < len(witness.tokens) - 1
    else:
        assert witness is None or isinstance(witness, Infeasible)


def after(layers, hops):
    reached = [{k} for k in range(len(layers[0]))]
    for t in range(hops):
        layer = layers[t % len(layers)]
        reached = [set().union(*(reached[j] for j in layer[k])) for k in range(len(layer))]
    return reached
