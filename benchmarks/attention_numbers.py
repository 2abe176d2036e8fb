"""The results of `benchmarks/sparse_attention.py`, and how to find something in them."""

from dataclasses import dataclass
from typing import Any, Final, final

from benchmarks.peers.names import DENSE, MASKED, OURS

FORWARD: Final = "forward"
BOTH: Final = "forward + backward"
SGEMM: Final = "sgemm"
SGEMM_BY_TORCH: Final = "sgemm of PyTorch"
# Multiplications and additions of a pair and a channel: two products forward, five backward.
FLOPS: Final = {FORWARD: 4, BOTH: 14}


@final
@dataclass(frozen=True, eq=False)
class Numbers:
    """The results file, and how to find something in it."""

    given: dict[str, Any]

    def seconds(self, pattern: str, contender: str, tokens: int, way: str, threads: int = 1) -> float | None:
        """The fastest round; those that compute all pairs belong to every pattern."""
        for row in self.given["rows"]:
            place = row["contender"], row["tokens"], row["way"], row["threads"]
            if place == (contender, tokens, way, threads) and row["pattern"] in ("", pattern):
                return float(row["best"])
        return None

    def times(self, pattern: str, contender: str, tokens: int, way: str, threads: int = 1) -> float | None:
        """How many times longer than ours."""
        its, ours = (self.seconds(pattern, name, tokens, way, threads) for name in (contender, OURS))
        return None if its is None or ours is None else its / ours

    def share(self, pattern: str, tokens: int, way: str) -> float | None:
        """Of sgemm in the same rounds, counting the pairs of the pattern alone."""
        ours, counted = self.seconds(pattern, OURS, tokens, way), self.counted(pattern, tokens)
        if ours is None or counted is None:
            return None
        wanted = (row for row in self.given["rows"] if row["contender"] == SGEMM and row["tokens"] == tokens)
        peak = next(row["flops"] / row["best"] for row in wanted if row["way"] == way and row["threads"] == 1)
        flops = FLOPS[way] * self.given["head_size"] * self.given["heads"] * counted["pairs"]
        return float(flops / ours / peak)

    def peak(self, name: str) -> float:
        """GFlop/s of products of matrices on one thread, at their best."""
        found = [row for row in self.given["rows"] if (row["contender"], row["threads"]) == (name, 1)]
        return float(max(row["flops"] / row["best"] for row in found) / 1e9)

    def speed_up(self, tokens: int) -> float:
        """How many times faster sgemm was on two threads by the clock than on one: middle rounds at this length."""
        found = [row for row in self.given["rows"] if (row["contender"], row["way"]) == (SGEMM, BOTH)]
        one, two = (
            next(row["flops"] / row["median"] for row in found if (row["tokens"], row["threads"]) == (tokens, threads))
            for threads in (1, 2)
        )
        return float(two / one)

    @property
    def has_peak(self) -> bool:
        """Whether sgemm used the widest instructions there are; otherwise it is no peak to have a share of."""
        return not (self.given["instructions"] == "AVX-512" and "SkylakeX" not in self.given["sgemm_library"])

    def counted(self, pattern: str, tokens: int) -> dict[str, Any] | None:
        """The pairs of a pattern, and those that are executed."""
        wanted = (one for one in self.given["patterns"] if (one["pattern"], one["tokens"]) == (pattern, tokens))
        return next(wanted, None)

    @property
    def patterns(self) -> list[str]:
        """Their names, in order."""
        return list(dict.fromkeys(one["pattern"] for one in self.given["patterns"]))

    def lengths(self, threads: int = 1) -> list[int]:
        """At which lengths there are times."""
        return sorted({row["tokens"] for row in self.given["rows"] if row["threads"] == threads})

    def names(self, pattern: str, way: str, threads: int = 1) -> list[str]:
        """Who was timed on a pattern, ours first."""
        found = dict.fromkeys(
            row["contender"]
            for row in self.given["rows"]
            if row["pattern"] in ("", pattern) and (row["way"], row["threads"]) == (way, threads)
        )
        others = [name for name in found if name not in (OURS, DENSE, MASKED, SGEMM, SGEMM_BY_TORCH)]
        return [name for name in (OURS, *others, MASKED, DENSE) if name in found]
