"""The weights: one channel for every node, one group of hidden units or one row of a head to write it, and a hint for
the checker that says which."""

import math
from dataclasses import dataclass, field

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.programs.hints import Hint
from anyformer.certificates.programs.polylines import ReluSum
from anyformer.construction.compiling import knots
from anyformer.construction.compiling.budget import Budget
from anyformer.construction.compiling.deep_steps import DeepStep, helper_count
from anyformer.construction.compiling.depths import Depths
from anyformer.construction.compiling.places import Places, Scores
from anyformer.construction.compiling.products import Squares
from anyformer.construction.compiling.rows import Group, Row, joined
from anyformer.construction.compiling.schedule import sources, times
from anyformer.networks.dtypes import FLOAT64, DType
from anyformer.networks.layers import AttentionStage, BlockShape, FeedForwardStage, Stage
from anyformer.networks.network import Network
from anyformer.networks.roles import Role
from anyformer.patterns.pattern import SparsityPattern
from anyformer.programs.forms import Form, Node
from anyformer.programs.program import Program
from anyformer.programs.ranges import Ranges
from anyformer.programs.steps import (
    Absolute,
    Attend,
    Gate,
    Input,
    Maximum,
    Mean,
    Minimum,
    Mix,
    Norm,
    Product,
    Relu,
    TokenMaximum,
)


@dataclass(frozen=True, eq=False)
class Written:
    """A network, and for every node that it computes where it lives."""

    network: Network
    hints: tuple[Hint, ...]


@dataclass(eq=False)
class Writer:
    """Writes a program whose tolerance has been shared out."""

    program: Program
    ranges: Ranges
    budget: Budget
    pattern: SparsityPattern | None = None
    dtype: DType = FLOAT64
    """The type that the weights will be rounded to."""
    rows: dict[Node, Row] = field(default_factory=dict)
    channels: dict[Node, int] = field(default_factory=dict)
    hints: list[Hint] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    deep: dict[Node, DeepStep] = field(default_factory=dict)

    def write(self) -> Written:
        """Embedding, then layer after layer, then the read-out."""
        nodes, roots = self.budget.nodes, self.ranges.roots
        self.errors = self.budget.errors(self.budget.shares)
        self._lay_out(nodes)
        time = times(nodes, roots, {node: step.depth for node, step in self.deep.items()})
        self._affine([node for node in nodes if time[node] == 0])
        for now in range(1, max(time.values(), default=0) + 1):
            here = [node for node in nodes if time[node] == now]
            working = [node for node in here if node in self.channels]
            if now % 2 and working:
                self._attention(working, now)
            elif now % 2 == 0:
                # The layer of a deep node that is done at this time, from 0; the last one is among the nodes here.
                early = [(step, step.depth - 1 - (time[node] - now) // 2) for node, step in self.deep.items()]
                self._feed_forward(working, [(step, k) for step, k in early if 0 <= k < step.depth - 1], now)
            self._affine(here)
        if not self.stages:
            self.stages.append(_idle(self.width))
        return Written(self._network(), tuple(self.hints))

    def _lay_out(self, nodes: list[Node]) -> None:
        program, roots = self.program, self.ranges.roots
        inputs = [node for node in nodes if isinstance(node.step, Input)]
        forms = [form for node in nodes for form in sources(node, roots)] + list(program.outputs)
        self.places = Places(nodes, forms, program.tokens, len(inputs), self.dtype)
        first = len(inputs) + self.places.count
        own = [node for node in nodes if not isinstance(node.step, Input) and not self._is_affine(node)]
        self.channels = {node: first + k for k, node in enumerate(own)}
        self.width = max(first + len(own), 1)
        self._deepen()
        self.W_E = np.zeros((self.width, program.width))
        for channel, node in enumerate(inputs):
            assert isinstance(node.step, Input)
            self.W_E[channel, node.step.coordinate] = 1.0
            self.rows[node] = self._unit(channel)

    def _deepen(self) -> None:
        """Give nodes that are worth it several layers, and channels for their helpers."""
        positions = self.program.tokens if self.places.count else 0
        depths = Depths(self.budget, self.width, 2 * self.program.width + positions)
        depths.choose()
        for node, depth in depths.of.items():
            squares, share = depths.squares[node], self.budget.shares[node]
            stretch = Squares.of(node, self.ranges).stretch if len(squares) > 1 else 1.0
            self.deep[node] = DeepStep(node, squares, share, depth, self.channels[node], self.width, stretch)
            self.width += helper_count(len(squares), depth)

    def _is_affine(self, node: Node) -> bool:
        return isinstance(node.step, Minimum) and self.ranges.roots.of(node) is None

    def _affine(self, nodes: list[Node]) -> None:
        """min(a, b) = a + b − max(a, b)."""
        for node in nodes:
            if self._is_affine(node):
                a, b, top = (self.of(form) for form in node.args)
                self.rows[node] = a.plus(b).plus(top, -1.0)

    def _network(self) -> Network:
        outputs = [self.of(form) for form in self.program.outputs]
        shape = BlockShape(
            max((stage.sizes.get("heads", 1) for stage in self.stages), default=1),
            max((stage.sizes.get("head_size", 1) for stage in self.stages), default=1),
            max((stage.sizes.get("hidden_size", 1) for stage in self.stages), default=1),
        )
        return Network(
            self.program.tokens,
            self.program.width,
            shape,
            tuple(self.stages),
            self.places.encoding(self.width),
            self.pattern,
            W_E=self.W_E,
            W_R=np.stack([row.weights for row in outputs]),
            b_R=np.array([row.constant for row in outputs]),
        )

    def of(self, form: Form) -> Row:
        """A form over nodes as weights over channels."""
        value = form.constant.value
        total = Row(np.zeros(self.width), float(value)) if form.constant.is_steady else self._place(np.asarray(value))
        for node, number in form.terms.items():
            total = total.plus(self.rows[node], float(number.value))
        return total

    def _place(self, vector: Array) -> Row:
        return Row(self.places.reading(vector, self.width))

    def _unit(self, channel: int) -> Row:
        return Row.of_channel(channel, self.width)

    # Attention

    def _attention(self, nodes: list[Node], now: int) -> None:
        groups: dict[object, list[Node]] = {}
        for node in nodes:
            groups.setdefault(self._sharing(node), []).append(node)
        heads = []
        for number, members in enumerate(groups.values()):
            scores = self._scores(members[0])
            values = []
            for node in members:
                value = self.of(node.args[-1])
                values.append(value.weights)
                # Weights add up to 1, so that a constant of the value passes unchanged: it stays in the row.
                self.rows[node] = Row(self._unit(self.channels[node]).weights, value.constant)
                self.hints.append(Hint(node.number, len(self.stages), self.channels[node], head=number))
            heads.append((scores, values, [self.channels[node] for node in members]))
        self.stages.append(_attention_stage(heads, self.width, f"block {(now + 1) // 2} attention"))

    def _sharing(self, node: Node) -> object:
        """Nodes with the same scores are rows of one head."""
        match node.step:
            case Mean():
                return "mean"
            case Mix():
                return node.step
            case Attend():
                return node.step, tuple(form.key() for form in node.args[:-1])
        return node

    def _scores(self, node: Node) -> Scores:
        width = self.width
        match node.step:
            case TokenMaximum():
                sharpness = (self.program.tokens - 1) / (math.e * self.budget.shares[node])
                return Scores(np.zeros((1, width)), np.array([sharpness]), self.of(node.args[0]).weights[None])
            case Mix():
                return self.places.mixing(node.step, width)
            case Attend(count, offsets):
                queries = [self.of(form) for form in node.args[:count]]
                keys = [self.of(form) for form in node.args[count : 2 * count]]
                scores = Scores(
                    np.array([q.weights for q in queries]).reshape(count, width),
                    np.array([q.constant for q in queries]),
                    np.array([k.weights for k in keys]).reshape(count, width),
                )
                return scores if offsets is None else _joined(scores, self._hiding(node, offsets.values))
        return Scores(np.zeros((1, width)), np.zeros(1), np.zeros((1, width)))

    def _hiding(self, node: Node, offsets: Array) -> Scores:
        """Offsets with −∞ as far below the rest as the scores can be apart, and then some."""
        assert isinstance(node.step, Attend)
        count = node.step.size
        reach = sum(
            self._largest(q) * self._largest(k)
            for q, k in zip(node.args[:count], node.args[count : 2 * count], strict=True)
        )
        finite = offsets[np.isfinite(offsets)]
        floor = float(finite.min()) - self.places.leak - 2 * reach
        return self.places.table(np.where(np.isneginf(offsets), floor, offsets), self.width)

    def _largest(self, form: Form) -> float:
        low, high = self.ranges.form(form)
        return max(abs(low), abs(high)) + self.errors.form(form).absolute

    # Feed-forward

    def _feed_forward(self, nodes: list[Node], early: list[tuple[DeepStep, int]], now: int) -> None:
        groups, layer = [], len(self.stages)
        for step, level in [
            *early,
            *((self.deep[node], self.deep[node].depth - 1) for node in nodes if node in self.deep),
        ]:
            groups.append(step.group(level, self.of, self.width))
            self.hints += step.hints(level, layer)
        for node in nodes:
            if node in self.deep:
                self.rows[node] = self.deep[node].row(self.of, self.width)
            else:
                group, hint = self._units(node)
                groups.append(group)
                self.hints.append(hint)
        if groups:
            W_1, b_1, W_2 = joined(groups, self.width)
            stage = (W_1[None], b_1[None], W_2[None], np.zeros((1, self.width)))
            self.stages.append(FeedForwardStage(f"block {now // 2} feed-forward", *stage, role=Role.STEP))

    def _units(self, node: Node) -> tuple[Group, Hint]:
        roots = self.ranges.roots
        root = roots.of(node)
        if root is not None:
            line = knots.polyline(self.ranges.curve(node), self.budget.shares[node], node in self.budget.relative)
            return self._along([root], [root], [line], node)
        match node.step:
            case Product():
                return self._product(node)
            case Maximum():
                a, b = node.args
                line = ReluSum(0.0, 0.0, np.ones(1), np.zeros(1), np.ones(1))
                return self._along([a - b], [a, b], [line], node, (0.0, 1.0))
            case Relu():
                return self._along(
                    list(node.args), list(node.args), [ReluSum(0.0, 0.0, np.ones(1), np.zeros(1), np.ones(1))], node
                )
            case Absolute():
                line = ReluSum(-1.0, 0.0, np.ones(1), np.zeros(1), np.full(1, 2.0))
                return self._along(list(node.args), list(node.args), [line], node)
            case Gate():
                return self._gate(node)
            case Norm():
                return self._norm(node)
        raise AssertionError(f"{node} is no step of a feed-forward layer")

    def _along(
        self,
        looked_at: list[Form],
        read: list[Form],
        lines: list[ReluSum],
        node: Node,
        slopes: tuple[float, ...] | None = None,
        stretch: float = 1.0,
    ) -> tuple[Group, Hint]:
        """Polylines along forms, together in one channel; the straight parts are read beside it."""
        rows, biases, weights = [], [], []
        for form, line in zip(looked_at, lines, strict=True):
            along = self.of(form)
            rows.append(line.signs[:, None] * along.weights)
            biases.append(line.signs * along.constant + line.offsets)
            weights.append(line.weights)
        slopes = tuple(line.slope for line in lines) if slopes is None else slopes
        constant = math.fsum(line.constant for line in lines)
        total = self._unit(self.channels[node]).plus(Row(np.zeros(self.width), constant))
        for form, slope in zip(read, slopes, strict=True):
            total = total.plus(self.of(form), slope)
        self.rows[node] = total
        outputs = {self.channels[node]: np.concatenate(weights)}
        group = Group(np.concatenate(rows), np.concatenate(biases), outputs)
        return group, self._hint(node, slopes, constant, stretch)

    def _hint(self, node: Node, slopes: tuple[float, ...], constant: float = 0.0, stretch: float = 1.0) -> Hint:
        return Hint(
            node.number, len(self.stages), self.channels[node], slopes=slopes, constant=constant, stretch=stretch
        )

    def _product(self, node: Node) -> tuple[Group, Hint]:
        squares = Squares.of(node, self.ranges)
        lines = [knots.polyline(curve, self.budget.shares[node] / 2) for curve in squares.curves()]
        return self._along(list(squares.sums), list(squares.sums), lines, node, stretch=squares.stretch)

    def _gate(self, node: Node) -> tuple[Group, Hint]:
        """factor·v: for the tokens with this factor, v − B·[another token] is v; elsewhere it is negative."""
        assert isinstance(node.step, Gate)
        form, factors = node.args[0], node.step.factors.values
        value, error = self.of(form), self.errors.form(form).absolute
        low, high = self.ranges.form(form)
        rows, biases, weights = [], [], []
        for factor in np.unique(factors[factors != 0]):
            others = self.places.others(factors == factor, self.width)
            for sign, most in ((1.0, high + error), (-1.0, error - low)):
                if most > 0:
                    far = 2.0 ** math.ceil(math.log2(most * 1.01 + 1e-300))
                    rows.append(sign * value.weights - far * others)
                    biases.append(sign * value.constant)
                    weights.append(sign * factor)
        self.rows[node] = self._unit(self.channels[node])
        outputs = {self.channels[node]: np.array(weights)}
        group = Group(np.array(rows).reshape(-1, self.width), np.array(biases), outputs)
        return group, self._hint(node, (0.0,))

    def _norm(self, node: Node) -> tuple[Group, Hint]:
        """√(a² + b²) ≈ c·Σ |a cos θ + b sin θ| over K directions; on the circle the sum lies between cot(π/2K) and
        1/sin(π/2K). With |u| = 2·max(u, 0) − u, a direction is one unit."""
        a, b = (self.of(form) for form in node.args)
        count = max(2, math.ceil(math.pi / 4 / math.atan(math.sqrt(self.budget.shares[node]))))
        half = math.pi / (2 * count)
        factor = 2 / (1 / math.tan(half) + 1 / math.sin(half))
        turns = 2 * half * np.arange(count)
        cosines, sines = np.cos(turns), np.sin(turns)
        rows = cosines[:, None] * a.weights + sines[:, None] * b.weights
        biases = cosines * a.constant + sines * b.constant
        slopes = float(-factor * cosines.sum()), float(-factor * sines.sum())
        self.rows[node] = self._unit(self.channels[node]).plus(a, slopes[0]).plus(b, slopes[1])
        return Group(rows, biases, {self.channels[node]: np.full(count, 2 * factor)}), self._hint(node, slopes)


def _idle(width: int) -> FeedForwardStage:
    """A layer that adds 0, for a program that the embedding and the read-out do alone: a network has layers."""
    inward, outward = np.zeros((1, 1, width)), np.zeros((1, width, 1))
    return FeedForwardStage(
        "block 1 feed-forward", inward, np.zeros((1, 1)), outward, np.zeros((1, width)), role=Role.STEP
    )


def _joined(first: Scores, second: Scores) -> Scores:
    return Scores(
        np.concatenate([first.W_Q, second.W_Q]),
        np.concatenate([first.b_Q, second.b_Q]),
        np.concatenate([first.W_K, second.W_K]),
    )


def _attention_stage(heads: list[tuple[Scores, list[Array], list[int]]], width: int, name: str) -> AttentionStage:
    """All heads of a layer, filled up with zeros to one size."""
    size = max(max(len(scores.b_Q), len(values)) for scores, values, _ in heads)
    W_Q, W_K, W_V = (np.zeros((len(heads), size, width)) for _ in range(3))
    b_Q, W_O = np.zeros((len(heads), size)), np.zeros((len(heads), width, size))
    for h, (scores, values, channels) in enumerate(heads):
        m = len(scores.b_Q)
        W_Q[h, :m], b_Q[h, :m], W_K[h, :m] = scores.W_Q, scores.b_Q, scores.W_K
        for row, (value, channel) in enumerate(zip(values, channels, strict=True)):
            W_V[h, row] = value
            W_O[h, channel, row] = 1.0
    return AttentionStage(name, W_Q[None], b_Q[None], W_K[None], W_V[None], W_O[None], role=Role.STEP)
