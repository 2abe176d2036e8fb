"""Sparse attention by compiled loops, on CPUs."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anyformer.arrays import Integers
from anyformer.attention.kernels.compiling import Shape, shape_for
from anyformer.attention.kernels.rows import RowKernels, row_kernels
from anyformer.attention.kernels.tiles import TileKernels, tile_kernels
from anyformer.attention.threads import run
from anyformer.patterns.tiling.parts import Rows, Tiles, Tiling

Numbers: TypeAlias = NDArray[Any]
_RANGES_PER_THREAD = 4  # ranges of a thread are not equally long; the next free thread takes the next one


def tensors_of(tiling: Tiling) -> list[Tensor]:
    """The tiling as tensors: four for each part of tiles, then two for rows if there are any."""
    arrays: list[NDArray[Any]] = []
    for part in tiling.tiles:
        arrays += [part.queries, part.starts, part.keys, part.masks.view(np.int32)]
    if tiling.rows is not None:
        arrays += [tiling.rows.starts, tiling.rows.keys]
    return [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]


def pairs_computed(tiling: Tiling) -> int:
    """In one head."""
    return tiling.executed


def forward(
    q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, tiling: Sequence[Tensor], scale: float
) -> tuple[Tensor, Tensor]:
    """Outputs (heads, tokens, head_size) and levels (heads, tokens): the logarithm of the sum of a query's weights."""
    out, level = _large(np.empty, q.shape, q), q.new_full(q.shape[:2], -torch.inf)
    given = [*map(_numpy, (q, k, v)), _kept(keep), _numpy(out), _numpy(level)]
    shape, heads, number = _shape(q), len(q), given[0].dtype.type(scale)
    for part in _parts(tiling):
        kernel, own = _kernels(part, shape).forward, _arrays(part)
        ranges = _equal(heads * (len(part.starts) - 1), _RANGES_PER_THREAD * torch.get_num_threads())
        run(partial(kernel, first, last, *given, *own, number) for first, last in ranges)
    unseen = level.isneginf()
    if unseen.any():
        out[unseen] = 0.0
    return out, level


def backward(
    back: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, level: Tensor, keep: Tensor | None,
    tiling: Sequence[Tensor], scale: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients of q, k and v."""
    heads, slices = len(q), _slices(len(q))
    dq = _large(np.zeros, q.shape, q)
    # Slices of a head run at the same time and add to the same keys: each has a copy to add to.
    dk, dv = (_large(np.zeros, (slices, *q.shape), q) for _ in range(2))
    arrays = [*map(_numpy, (q, k, v)), _kept(keep), _numpy(back), _numpy(level)]
    drift = np.einsum("hnd,hnd->hn", arrays[4], _numpy(out))
    shape, number = _shape(q), arrays[0].dtype.type(scale)
    keys, values = _numpy(dk), _numpy(dv)
    for part in _parts(tiling):
        kernel, own = _kernels(part, shape).backward, _arrays(part)
        run(
            partial(kernel, head, first, last, *arrays, drift, _numpy(dq), keys[s, head], values[s, head], *own, number)
            for head in range(heads)
            for s, (first, last) in enumerate(_by_pairs(part.starts, slices))
        )
    return dq, dk.sum(0) if slices > 1 else dk[0], dv.sum(0) if slices > 1 else dv[0]


def _parts(tiling: Sequence[Tensor]) -> Iterator[Tiles | Rows]:
    arrays = [_numpy(tensor) for tensor in tiling]
    for first in range(0, len(arrays) // 4 * 4, 4):
        queries, starts, keys, masks = arrays[first : first + 4]
        yield Tiles(queries, starts, keys, masks.view(np.uint32))
    if len(arrays) % 4:
        yield Rows(*arrays[-2:])


def _large(make: Callable[..., Numbers], shape: Sequence[int], like: Tensor) -> Tensor:
    """A new tensor of NumPy's memory, which asks for large pages: PyTorch's costs a page fault for every 4 KiB."""
    return torch.from_numpy(make(tuple(shape), dtype=_numpy(like).dtype))


def _numpy(tensor: Tensor) -> Numbers:
    array: Numbers = tensor.detach().numpy()
    return array


def _kept(keep: Tensor | None) -> Numbers:
    """(batch, tokens), or nothing at all where everything is kept."""
    return np.zeros((0, 0), dtype=np.uint8) if keep is None else _numpy(keep)


def _shape(q: Tensor) -> Shape:
    return shape_for(q.shape[-1], q.element_size())


def _kernels(part: Tiles | Rows, shape: Shape) -> TileKernels | RowKernels:
    return tile_kernels(shape) if isinstance(part, Tiles) else row_kernels(shape)


def _arrays(part: Tiles | Rows) -> tuple[Any, ...]:
    """What a kernel is told of a part."""
    if isinstance(part, Tiles):
        return part.queries, part.starts, part.keys, part.masks
    return part.starts, part.keys, int(np.diff(part.starts).max())


def _slices(heads: int) -> int:
    """Into how many slices a head is cut, so that all threads have work where there are few heads."""
    threads = torch.get_num_threads()
    return 1 if heads % threads == 0 or heads >= 2 * threads else threads


def _equal(items: int, count: int) -> list[tuple[int, int]]:
    count = min(items, count)
    return [(i * items // count, (i + 1) * items // count) for i in range(count)]


def _by_pairs(starts: Integers, count: int) -> list[tuple[int, int]]:
    """Ranges with about as many pairs each."""
    ends = np.searchsorted(starts, np.arange(1, count) * int(starts[-1]) / count).tolist()
    return list(zip([0, *ends], [*ends, len(starts) - 1], strict=True))
