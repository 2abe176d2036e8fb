"""Model cards say what is claimed; text from certificates stays text; the code in them runs."""

import re
from dataclasses import replace

import numpy as np
import pytest

import anyformer as af
from anyformer.exports.huggingface import to_huggingface
from anyformer.exports.huggingface.card import MARK, as_text, model_card

HOSTILE = (
    "x\n---\nlicense: mit\n---\n# Proved <script>alert(1)</script> | [click](http://evil.example) `code` ![i](j) &amp;"
)


def test_the_claim_is_in_plain_words(model):
    card = model_card(model.network, model.certificate)
    assert card.startswith("---\nlibrary_name: transformers\ntags:\n- anyformer\n---\n")
    assert "# sort on 4 tokens of width 1\n" in card
    proved = f"{model.certificate.certified_error:.6g}"
    assert f"L^2 distance between target and network over the domain is at most **{proved}**" in card
    assert model.certificate.weights_digest in card
    sup = replace(model.certificate, p=np.inf)
    assert "No input of the domain has an output that is off by more than **" in model_card(model.network, sup)


def test_text_from_a_certificate_stays_text(model):
    hostile = replace(
        model.certificate, target=replace(model.certificate.target, name=HOSTILE), weights_digest=HOSTILE * 9
    )
    card = model_card(model.network, hostile)
    assert card.count("\n---\n") == 1
    for told in ("<script>", "[click]", "![i]", "`code`", "http://", "\n# Proved", " | \\["):
        assert told not in card
    assert "&lt;script&gt;" in card
    assert max(map(len, card.splitlines())) < 1500


@pytest.mark.parametrize("given", ["a\u202eb", "a\x00b", "tab\tand\rnew\u2028line", "*bold* _it_ ~~x~~ $y$ {z} <b>"])
def test_escaped_text_has_one_line_and_no_marks(given):
    shown = as_text(given)
    assert shown.isprintable()
    assert not re.search(r"(?<!\\)[*_~$`\[\]{}|]|<|>", shown)


def test_the_code_in_a_card_runs(original, capsys):
    names: dict[str, object] = {}
    blocks = (original / "README.md").read_text().split("```python\n")[1:]
    assert len(blocks) == 2
    for block in blocks:
        code = block.split("```")[0].replace("path/to/this/folder", str(original))
        *lines, last = code.strip().splitlines()
        exec("\n".join(lines), names)
        names["last"] = eval(last, names)
    assert names["last"] is af.Verdict.PROVED
    assert names["x"].shape == (1, 4, 1)


def test_a_card_that_was_written_by_hand_is_left_alone(model, folder):
    (folder / "README.md").write_text("my own words")
    to_huggingface(model).save_pretrained(folder)
    assert (folder / "README.md").read_text() == "my own words"
    (folder / "README.md").write_text(f"old\n{MARK}\n")
    to_huggingface(model).save_pretrained(folder)
    assert "What is claimed" in (folder / "README.md").read_text()
