"""One run of a user's function on tracing arrays: the program in the making, and everything that was refused."""

from anyformer.programs.builder import Builder


class Run:
    """What belongs to one run. A function may catch an error and take another path than on arrays, so errors count.

    batch: the size that the batch axis pretends to have; None if the function takes no batch.
    """

    __slots__ = ("batch", "builder", "faults")

    def __init__(self, builder: Builder, batch: int | None) -> None:
        self.builder, self.batch = builder, batch
        self.faults: list[Exception] = []

    @property
    def tokens(self) -> int:
        """How many tokens a sequence has."""
        return self.builder.tokens

    def record(self, error: Exception) -> None:
        """Remember an error, so that it counts even if the function catches it."""
        if error not in self.faults:
            self.faults.append(error)


def pretended_batch(tokens: int, width: int) -> int:
    """A prime that no product of the other sizes is a multiple of, so that shapes tell the batch axis apart."""
    return next(p for p in (5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47) if (tokens * width) % p)
