"""Text from anyone in Markdown: a parser finds only text in it, and all of it."""

import pytest
from markdown_it import MarkdownIt

from anyformer.reports.figures.markdown import prose, table, text
from anyformer.reports.terminal import visible

HOSTILE = [
    "[click](http://evil.example/)",
    "![x](http://evil.example/x.png)",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "`code` **bold** _it_ ~~no~~",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "a | b",
    "&lt;b&gt; &amp; &#35;",
    "\\[x\\] \\",
    "line\nbreak\r\x1b[31m \u202e",
    "https://evil.example www.evil.example <https://evil.example>",
    "[ref]: http://evil.example",
    "$x$ @someone #1",
    "---",
    "```\nfence",
    "[click](javascript:alert(1))",
]


def parts(source: str) -> tuple[set[str], str]:
    """The kinds of what a reader finds, and the letters it shows."""
    tokens = [
        child
        for token in MarkdownIt("gfm-like", {"linkify": False}).parse(source)
        for child in (token, *(token.children or ()))
    ]
    return {token.type for token in tokens}, "".join(
        token.content for token in tokens if token.type in ("text", "text_special")
    )


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("escaped", [text, prose])
def test_inside_a_sentence_it_is_text(hostile, escaped):
    kinds, shown = parts(f"The name is {escaped(hostile)} here.")
    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special"}
    assert shown == f"The name is {visible(hostile)} here."


@pytest.mark.parametrize("hostile", HOSTILE)
def test_at_the_start_of_a_line_and_in_a_table_it_is_text(hostile):
    kinds, shown = parts(text(hostile))
    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special"}
    assert shown == visible(hostile)
    kinds, shown = parts(table([("a", "b"), ("c", text(hostile))]))
    assert not kinds & {"link_open", "image", "html_inline", "html_block", "code_inline", "strong_open", "em_open"}
    assert shown == "abc" + visible(hostile).strip()


def test_long_names_are_cut():
    assert len(text("x" * 10**6)) == 200
    assert text("x" * 10**6).endswith("x…")


def test_these_tests_can_fail():
    assert "link_open" in parts(HOSTILE[0])[0]
    assert "image" in parts(HOSTILE[1])[0]
    assert "html_inline" in parts("a " + HOSTILE[2])[0]
