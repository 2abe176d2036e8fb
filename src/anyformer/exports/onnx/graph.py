"""A graph that is being written: nodes and initializers, each value with a name of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from anyformer.arrays import Array
from anyformer.networks.dtypes import DType

OPSET = 18
# The one that came with this opset; every onnxruntime that knows the opset reads it.
IR_VERSION = 8


class Graph:
    """Nodes in the order in which they run, and the constants that they share."""

    def __init__(self, dtype: DType, prefix: str = "") -> None:
        self.dtype, self.prefix = dtype, prefix
        self.element: int = helper.np_dtype_to_tensor_dtype(np.dtype(dtype.stored_as))
        self.nodes: list[NodeProto] = []
        self.initializers: dict[str, TensorProto] = {}

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Append a node with one output, and return the output's name: `output`, or one that is new."""
        name = output or self.new_name(operator.lower())
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def new_name(self, what: str) -> str:
        """A name that no value has so far, in this graph or around it."""
        return f"{self.prefix}{what}.{len(self.nodes)}"

    def add_node(self, node: NodeProto) -> None:
        """Append a node that has been made elsewhere."""
        self.nodes.append(node)

    def constant(self, name: str, values: Any) -> str:
        """A constant of NumPy's own type, once for each name."""
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def weights(self, name: str, array: Array) -> str:
        """An array of weights in the graph's type, which holds every one of them."""
        return self.constant(name, array.astype(self.dtype.stored_as))

    def value(self, name: str, shape: Sequence[int | str | None]) -> ValueInfoProto:
        """A tensor of the graph's type, for the lists of inputs and outputs."""
        return helper.make_tensor_value_info(name, self.element, list(shape))

    def inside(self, name: str) -> "Graph":
        """A new graph of this type whose constants are kept here: the body of a loop sees them."""
        body = Graph(self.dtype, f"{self.prefix}{name}.")
        body.initializers = self.initializers
        return body
