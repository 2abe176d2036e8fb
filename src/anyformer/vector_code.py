"""LLVM instructions on vectors of the machine's full length, for kernels that Numba compiles.

Left to itself the compiler uses half of a 512-bit register and keeps few sums in registers. Here a kernel says which
vectors it holds, and every product is fused with its sum.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import llvmlite.binding
from llvmlite import ir
from numba import njit
from numba.core import cgutils

INDEX: Final = ir.IntType(64)
KEY: Final = ir.IntType(32)
MASK: Final = ir.IntType(32)


@cache
def vector_bytes() -> int:
    """The length of a vector register."""
    features = llvmlite.binding.get_host_cpu_features()
    return 64 if features.get("avx512f", False) else 32 if features.get("avx", False) else 16


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile, keeping the result on disk beside the source or in the user's cache, if either can be written."""
    try:
        return njit(nogil=True, cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no place for a cache: every process compiles again
        return njit(nogil=True, **options)(function)  # type: ignore[no-any-return]


class Vectors:
    """Writes instructions on vectors of `lanes` numbers of `size` bytes."""

    def __init__(self, builder: Any, size: int, lanes: int) -> None:
        self.builder, self.size, self.lanes = builder, size, lanes
        self.real = ir.FloatType() if size == 4 else ir.DoubleType()
        self.bits = ir.IntType(8 * size)
        self.vector = ir.VectorType(self.real, lanes)
        self._everywhere = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)

    def pointer(self, address: Any, kind: Any = None) -> Any:
        """An address as a pointer to numbers, or to another kind."""
        return self.builder.inttoptr(address, (kind or self.real).as_pointer())

    def at(self, pointer: Any, *offsets: Any) -> Any:
        """The pointer moved by these offsets, each an int or an INDEX."""
        for offset in offsets:
            pointer = self.builder.gep(pointer, [index(offset) if isinstance(offset, int) else offset])
        return pointer

    def load(self, pointer: Any, align: int | None = None) -> Any:
        """A vector from anywhere, or from a multiple of `align` bytes."""
        return self.builder.load(self.builder.bitcast(pointer, self.vector.as_pointer()), align=align or self.size)

    def store(self, vector: Any, pointer: Any, align: int | None = None) -> None:
        """A vector to anywhere, or to a multiple of `align` bytes."""
        self.builder.store(vector, self.builder.bitcast(pointer, self.vector.as_pointer()), align=align or self.size)

    def broadcast(self, number: Any) -> Any:
        """One number in all lanes."""
        nothing = ir.Constant(ir.VectorType(number.type, self.lanes), ir.Undefined)
        first = self.builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(first, nothing, self._everywhere)

    def constant(self, number: float) -> Any:
        """A known number in all lanes."""
        return ir.Constant(self.vector, [number] * self.lanes)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """a·b + c with one rounding."""
        kind = ir.FunctionType(self.vector, [self.vector] * 3)
        name = f"llvm.fma.v{self.lanes}f{8 * self.size}"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), [a, b, c])

    def sum(self, vector: Any) -> Any:
        """The sum of all lanes, in any order."""
        kind = ir.FunctionType(self.real, [self.real, self.vector])
        name = f"llvm.vector.reduce.fadd.v{self.lanes}f{8 * self.size}"
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, [ir.Constant(self.real, -0.0), vector], fastmath=("reassoc",))

    def larger(self, a: Any, b: Any) -> Any:
        """max(a, b); b where a is NaN."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def chosen(self, mask: Any, first: int) -> Any:
        """Bits `first` to `first + lanes` of a mask, one a lane."""
        shifted = self.builder.lshr(mask, ir.Constant(MASK, first))
        few = shifted if self.lanes == 32 else self.builder.trunc(shifted, ir.IntType(self.lanes))
        return self.builder.bitcast(few, ir.VectorType(ir.IntType(1), self.lanes))

    def loop(self, count: Any, carried: list[Any], body: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
        """for k in range(count): carried = body(k, carried); there must be at least one round."""
        builder, before = self.builder, self.builder.block
        inside, after = builder.append_basic_block(), builder.append_basic_block()
        builder.branch(inside)
        builder.position_at_end(inside)
        counter = builder.phi(INDEX)
        counter.add_incoming(index(0), before)
        held = [builder.phi(value.type) for value in carried]
        for phi, value in zip(held, carried, strict=True):
            phi.add_incoming(value, before)
        results = body(counter, held)
        following = builder.add(counter, index(1))
        counter.add_incoming(following, builder.block)
        for phi, value in zip(held, results, strict=True):
            phi.add_incoming(value, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, count), inside, after)
        builder.position_at_end(after)
        return results

    def exp(self, x: Any) -> Any:
        """exp(x) for x ≤ 0 or a little above, within 2 units in the last place; 0 where it would be subnormal.

        x = n·ln 2 + r with |r| ≤ ln 2/2, so that exp(x) = 2ⁿ·exp(r), and a polynomial for exp(r). Adding 1.5·2ᵐ, with m
        bits of mantissa, rounds to a whole number n and leaves it in the lowest bits.
        """
        builder, mantissa = self.builder, 23 if self.size == 4 else 52
        lowest, bias = (-87.0, 127) if self.size == 4 else (-708.0, 1023)
        whole, magic = ir.VectorType(self.bits, self.lanes), self.constant(1.5 * 2.0**mantissa)
        inside = self.larger(x, self.constant(lowest))
        shifted = self.fma(inside, self.constant(1.4426950408889634), magic)
        n = builder.fsub(shifted, magic)
        high, low = (
            (-0.693359375, 2.12194440054690583e-4)
            if self.size == 4
            else (-0.693145751953125, -1.42860682030941723212e-6)
        )
        r = self.fma(n, self.constant(low), self.fma(n, self.constant(high), inside))
        value = self.constant(_EXP[self.size][0])
        for coefficient in _EXP[self.size][1:]:
            value = self.fma(value, r, self.constant(coefficient))
        power = builder.sub(builder.bitcast(shifted, whole), builder.bitcast(magic, whole))
        power = builder.add(power, ir.Constant(whole, [bias] * self.lanes))
        power = builder.shl(power, ir.Constant(whole, [mantissa] * self.lanes))
        value = builder.fmul(value, builder.bitcast(power, self.vector))
        return builder.select(builder.fcmp_ordered("<", x, self.constant(lowest)), self.constant(0.0), value)


# Coefficients of exp(r) on |r| ≤ ln 2/2, the highest power first: Cephes' polynomial for float32, Taylor's for float64
# (its first omitted term, r¹⁴/14!, is below 5e-18).
_EXP: Final = {
    4: (
        *(1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1),
        *(1.0, 1.0),
    ),
    8: tuple(
        1.0 / product
        for product in (
            *(6227020800.0, 479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0),
            *(2.0, 1.0, 1.0),
        )
    ),
}


def index(value: int) -> Any:
    """A constant offset."""
    return ir.Constant(INDEX, value)
