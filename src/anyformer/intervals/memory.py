"""Which arrays share memory: NumPy's rules, without relying on how our arrays lie in memory.

NumPy decides by the function alone whether its result is a view (basic indexing, transpose, split, flip, …) or a copy
(take, roll, concatenate, indexing by arrays, …), with two exceptions: `reshape` and `ravel` give a view where the
layout of the array permits it. The ends of an interval array lie in memory otherwise than the array that they stand
for. The same function, applied to the ends, gives the right relation for all functions except those two.

Their result gets its own `Memory`, which is *kin* to that of the argument: in NumPy the two may be the same memory.
Once one of them is written to, it is unknown whether the other one changed too. The other is then marked uncertain, and
using it is an error. The array that was written to stays certain: its own memory changed in every case.
"""

from weakref import WeakSet

UNCERTAIN = (
    "An array was written to that may share memory with this one, or may not: whether reshape and ravel give a view"
    " depends on how an array lies in memory. Write y = x.reshape(…).copy() before x or y is changed."
)


class Memory:
    """The memory of an array and of all its views."""

    __slots__ = ("__weakref__", "_kin", "is_uncertain", "version")

    def __init__(self, kin: "WeakSet[Memory] | None" = None) -> None:
        self.is_uncertain = False
        self.version = 0
        self._kin = kin
        if kin is not None:
            kin.add(self)

    def perhaps_shared(self) -> "Memory":
        """Memory for a reshaped array: the same as this one or not."""
        if self._kin is None:
            self._kin = WeakSet([self])
        return Memory(self._kin)

    def write(self) -> None:
        """Mark the kin as uncertain, because this memory is written to, and count the writes."""
        self.version += 1
        for other in self._kin or ():
            other.is_uncertain |= other is not self
