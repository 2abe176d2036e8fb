"""Damage to files, drawn from a seed: bytes, characters, and values of JSON in places of other values."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

STRANGE = (
    *(None, True, False, -1, 0, 1, 2**31, 2**40, 2**63, 10**300, 0.5, -0.0, 1e308),
    *("", "nan", "inf", "0x1p99999", "0x1p-1074", "\x1b[31m[bold]\u202e\n", "\ud800", "../../x", "a" * 300),
    *([], [[]], [[[0]], 1], [True, 1.5, -1], {}, {"kind": []}, {"kind": "causal", "of": {"kind": "ring"}}),
)
"""What nobody expects in a place."""

TELLING = b'\x00\x80\xff"{}[],:019-eE\n\r\t .=\x1baZ'
"""Bytes that mean something somewhere."""


def damaged(data: Any, draw: random.Random) -> Any:
    """A JSON value with one or two of its values replaced by strange ones, or removed."""
    data = copy.deepcopy(data)
    for _ in range(draw.choice((1, 1, 2))):
        holder, key = draw.choice(list(places(data)) or [({"": None}, "")])
        what = draw.randrange(8)
        if what == 0:
            del holder[key]
        elif what == 1:
            holder[key] = [holder[key], copy.deepcopy(holder[key])]
        else:
            holder[key] = copy.deepcopy(draw.choice(STRANGE))
    return data


def damaged_json(text: str, draw: random.Random) -> str:
    """JSON with strange values, and at times a key that is there twice."""
    made = json.dumps(damaged(json.loads(text), draw))
    return made if draw.randrange(10) else made.replace("{", '{"format": 1, "format": 1, ', 1)


def damaged_bytes(content: bytes, draw: random.Random) -> bytes:
    """A few bytes changed, a piece cut out, or a piece repeated."""
    made = bytearray(content)
    for _ in range(draw.choice((1, 2, 8))):
        start = draw.randrange(len(made) + 1)
        end = min(len(made), start + draw.choice((1, 2, 50)))
        what = draw.randrange(4)
        if what == 0:
            del made[start:end]
        elif what == 1:
            made[start:start] = made[start:end] * draw.choice((1, 3))
        else:
            made[start:end] = bytes(draw.choice(TELLING) for _ in range(end - start))
    return bytes(made)


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value, as its holder and key."""
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], dict | list):
            yield from places(data[key])
