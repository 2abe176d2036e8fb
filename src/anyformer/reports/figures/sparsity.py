"""The sparsity pattern, and how far each token has seen."""

from anyformer.patterns.drawing import MOST_TOKENS, picture
from anyformer.reports.figures.subject import LeftOut, Plate, Subject
from anyformer.reports.terminal import count

TITLE = "The sparsity pattern"


def plates(subject: Subject) -> list[Plate | LeftOut]:
    """One for a sparse network."""
    pattern = subject.network.pattern
    if pattern is None:
        return []
    if pattern.tokens > MOST_TOKENS:
        return [LeftOut(TITLE, f"a picture has at most {MOST_TOKENS} tokens, and the pattern has {pattern.tokens:,}")]
    links = " and ".join(count(seen.connections) for seen in pattern.seen)
    caption = (
        f"Which token sees which ({links} connections a layer, of {count(pattern.tokens**2)} of dense attention), "
        f"and after how many layers an output depends on an input; then the path γ of the proof."
    )
    return [Plate("pattern", TITLE, caption, picture(pattern))]
