"""A Sphinx directive that embeds the explorer page of a model of the zoo, or shows its content where there is none.

:::{explorer} mean-scale-3-averaging
What stands here is shown if the package cannot make explorer pages.
:::
"""

from pathlib import Path, PurePosixPath

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import anyformer as af

FOLDER = "explorer"
WORDS = "This page computes with the real weights. Drag the tokens, and watch them walk through the proof."


class Explorer(SphinxDirective):
    """A frame with the page of the named model, and a link that opens it alone."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The frame, or the content."""
        if not hasattr(af.Model, "explore"):
            return self.parse_content_to_nodes()
        return self._frame(self.arguments[0])

    def _frame(self, name: str) -> list[nodes.Node]:
        place = Path(self.env.app.outdir) / FOLDER / f"{name}.html"
        place.parent.mkdir(parents=True, exist_ok=True)
        af.zoo.load(name).explore(place, overwrite=True)
        here = PurePosixPath("/".join([".."] * self.env.docname.count("/")) or ".") / FOLDER / place.name
        frame = (
            f'<iframe class="explorer" title="Explorer page of {name}" sandbox="allow-scripts" src="{here}"></iframe>'
        )
        link = nodes.reference("", f"Open {name} on a page of its own", refuri=str(here), internal=False)
        return [nodes.paragraph("", WORDS), nodes.raw("", frame, format="html"), nodes.paragraph("", "", link)]


def setup(app):
    """Register the directive."""
    app.add_directive("explorer", Explorer)
    return {"parallel_read_safe": True}
