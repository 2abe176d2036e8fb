"""The model card: what is claimed in plain words, how to load it, what is trusted.

Certificates may come from anyone, so their text is shown as text: nothing in it becomes Markdown, HTML or YAML.
"""

import html
import math
import re
from typing import Final

from anyformer.certificates.claims.certificate import Certificate
from anyformer.networks.network import Network

MARK: Final = "<!-- written by anyformer; save_pretrained writes it again -->"
"""A card with this line is replaced when the model is saved again; any other is left alone."""
_MOST: Final = 200
"""Characters of a text from a certificate."""
_HEAD: Final = """---
library_name: transformers
tags:
- anyformer
---
"""


def model_card(network: Network, certificate: Certificate | None) -> str:
    """The card of a network with its certificate, or of one that has none."""
    parts = [_unproved()] if certificate is None else [_claim(network, certificate), _trust(certificate)]
    return _HEAD + "\n\n".join([MARK, _title(network, certificate), *parts, _loading(network), _verifying(certificate)])


def as_text(given: str) -> str:
    r"""A text that Markdown shows as it is: on one line, not too long, with every special character escaped.

    >>> as_text("[a](b)\n# <script>")
    '\\[a\\]\\(b\\) \\# &lt;script&gt;'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in given).split())
    short = line if len(line) <= _MOST else line[: _MOST - 1] + "…"
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~$:@])", r"\\\1", html.escape(short, quote=False))


def _title(network: Network, certificate: Certificate | None) -> str:
    name = "A Transformer" if certificate is None else as_text(certificate.target.name)
    return f"# {name} on {network.tokens} tokens of width {network.width}"


def _unproved() -> str:
    return (
        "**This model has no certificate.** Its weights have changed since it was built, by training or by a change of "
        "their type, or it never had one. Nothing is claimed of it."
    )


def _claim(network: Network, certificate: Certificate) -> str:
    error = f"{certificate.certified_error:.6g}"
    said = (
        f"No input of the domain has an output that is off by more than **{error}** in any entry"
        if certificate.p == math.inf
        else f"The L^{certificate.p:g} distance between target and network over the domain is at most **{error}**"
    )
    rows = {
        "target": as_text(certificate.target.name),
        "domain": as_text(repr(certificate.target.domain)),
        "error, proved": f"{error} (asked for: {certificate.tolerance:.6g})",
        "error, measured": f"{certificate.measured.error:.6g} on {certificate.measured.samples} samples",
        "the proof is": as_text(certificate.kind.value),
        "layers": f"{network.layer_count} ({network.attention_layer_count} of attention)",
        "parameters": f"{network.parameter_count}, {network.dtype}",
        "weights digest": as_text(certificate.weights_digest),
    }
    table = "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])
    return (
        "A Transformer with explicit weights: attention and ReLU, no layer norm. It was constructed, not trained, and "
        f"its error was proved.\n\n## What is claimed\n\n{said}. `certificate.json` holds the claim, term "
        f"by term.\n\n{table}"
    )


def _trust(certificate: Certificate) -> str:
    lines = "\n".join(f"- {sentence}" for sentence in certificate.assumptions)
    return (
        f"## What is trusted\n\n{lines}\n- A certificate in a folder is a claim. It holds once the checker has proved "
        "it again, from the weights alone, on your machine.\n- It speaks of these weights in their type. Training, "
        "rounding or quantising them ends it."
    )


def _loading(network: Network) -> str:
    return f"""## How to load it

```python
import anyformer.exports.huggingface  # pip install "anyformer[huggingface]"; no code comes from this folder
import torch
from transformers import AutoModel

model = AutoModel.from_pretrained("path/to/this/folder")
x = torch.zeros(1, {network.tokens}, {network.width}, dtype=torch.{network.dtype})  # vectors, not ids
model(x).last_hidden_state
```"""


def _verifying(certificate: Certificate | None) -> str:
    if certificate is None:
        return ""
    own = "" if certificate.target.is_ready_made else "  # and target=…: a folder never runs code, so name it again"
    return f"""## How to prove it again

```python
import anyformer as af
from anyformer.exports.huggingface import AnyformerModel, from_huggingface

loaded = AnyformerModel.from_pretrained("path/to/this/folder")
af.verify(from_huggingface(loaded), loaded.certificate).verdict{own}
```
"""
