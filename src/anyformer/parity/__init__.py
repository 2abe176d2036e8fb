"""The same inputs through every runtime in every type: what is lost, and from which type on the guarantee ends."""

from anyformer.parity.comparing import parity
from anyformer.parity.inputs import Inputs, inputs_for
from anyformer.parity.rows import Outcome, Parity, Proof, Row
from anyformer.parity.runners import RUNNERS, Cast, Run, Runner

__all__ = ["RUNNERS", "Cast", "Inputs", "Outcome", "Parity", "Proof", "Row", "Run", "Runner", "inputs_for", "parity"]
