"""A second program for everything the checker answers: plain sets and brute force, nothing shared with the package.

A pattern is `layers[l][k]`, the set of tokens that token k sees in layer l (the union over heads).
"""

import itertools


def layers_of(pattern):
    """Read the sets off a SparsityPattern through its rawest surface, the CSR arrays."""
    return [union([sets(neighbours) for neighbours in lists]) for lists in pattern.layers]


def sets(neighbours):
    pointers, keys = list(neighbours.indptr), list(neighbours.indices)
    return [{int(key) for key in keys[a:b]} for a, b in itertools.pairwise(pointers)]


def union(layers):
    return [set().union(*(layer[k] for layer in layers)) for k in range(len(layers[0]))]


def smallest_s(layers):
    """The paper's recursion, word for word, until the sets are full or a state (sets, phase) comes again."""
    everything = set(range(len(layers[0])))
    reached, states, t = layers[0], set(), 1
    while not all(each == everything for each in reached):
        state = (t % len(layers), tuple(frozenset(each) for each in reached))
        if state in states:
            return None
        states.add(state)
        layer = layers[t % len(layers)]
        reached = [set().union(*(reached[j] for j in layer[k])) for k in range(len(layer))]
        t += 1
    return t


def dependencies(layers):
    """Which inputs each output can ever depend on: a layer adds to what is there, so that nothing is forgotten."""
    known = [{k} for k in range(len(layers[0]))]
    while True:
        before = [set(each) for each in known]
        for layer in layers:
            known = [known[k] | set().union(*(known[j] for j in layer[k])) for k in range(len(layer))]
        if known == before:
            return known


def has_path(layers):
    """Whether some order of the tokens lets each see the one before: dynamic programming over sets of tokens."""
    seen = union(layers)
    tokens = range(len(seen))
    ends = {frozenset([k]): {k} for k in tokens}
    for _ in tokens[1:]:
        longer = {}
        for visited, lasts in ends.items():
            for k in tokens:
                if k not in visited and lasts & seen[k]:
                    longer.setdefault(visited | {k}, set()).add(k)
        ends = longer
    return bool(ends)


def is_path(layers, order):
    seen = union(layers)
    return sorted(order) == list(range(len(seen))) and all(a in seen[b] for a, b in itertools.pairwise(order))


def is_star(sees):
    """Whether one list lets everybody see itself, and some token see all and be seen by all."""
    everything = set(range(len(sees)))
    return all(k in sees[k] for k in everything) and any(
        sees[c] == everything and all(c in sees[k] for k in everything) for c in everything
    )


def verdict(pattern):
    layers = layers_of(pattern)
    everything = set(range(len(layers[0])))
    lists = [sets(neighbours) for layer in pattern.layers for neighbours in layer]
    known = dependencies(layers)
    if is_causal(lists) and all(each == set(range(k + 1)) for k, each in enumerate(known)):
        return "CAUSAL" if all(sees[k] for sees in lists for k in everything) else "NOT_COVERED"
    if any(each != everything for each in known):
        return "REFUTED"
    loops = all(k in sees[k] for sees in lists for k in everything)
    if loops and smallest_s(layers) is not None and has_path(layers):
        return "PAPER_B"
    if any(map(is_star, lists)):
        return "STAR"
    return "AVERAGING" if all(sees[k] for sees in lists for k in everything) else "NOT_COVERED"


def is_causal(lists):
    """Whether nobody sees a later token and somebody an earlier one."""
    pairs = [(k, j) for sees in lists for k in range(len(sees)) for j in sees[k]]
    return all(j <= k for k, j in pairs) and any(j < k for k, j in pairs)


def smallest_causal_s(layers):
    """After how many layers every token knows all earlier ones, keeping what it knows; None if it never does."""
    wanted, known, t = [set(range(k + 1)) for k in range(len(layers[0]))], [{k} for k in range(len(layers[0]))], 0
    while known != wanted or not t:
        if t > len(layers) * len(wanted):
            return None
        layer = layers[t % len(layers)]
        known = [known[k] | set().union(*(known[j] for j in layer[k])) for k in range(len(layer))]
        t += 1
    return t


def pieces(sees, without):
    """Into how many pieces the tokens fall, directions forgotten, once some are taken away."""
    left, count = set(range(len(sees))) - set(without), 0
    while left:
        piece = grown = {min(left)}
        while grown:
            grown = {k for k in left - piece if any(k in sees[j] or j in sees[k] for j in piece)}
            piece = piece | grown
        left, count = left - piece, count + 1
    return count


def learns_from(sees, k):
    """All tokens from which something flows to k, k included."""
    known, grown = {k}, {k}
    while grown:
        grown = set().union(*(sees[j] for j in grown)) - known
        known |= grown
    return known


def fewest_arcs(layers, wanted):
    """How many arcs must be added to the union graph until `wanted(graph)`, by trying all."""
    sees = union(layers)
    missing = [(k, j) for k in range(len(sees)) for j in range(len(sees)) if j not in sees[k]]
    for count in range(len(missing) + 1):
        for arcs in itertools.combinations(missing, count):
            if wanted([sees[k] | {j for query, j in arcs if query == k} for k in range(len(sees))]):
                return count
    raise AssertionError("the full graph does not do")
