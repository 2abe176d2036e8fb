"""A measurement of contexts as one page for a browser: curves over the layers, and witnesses as text."""

from anyformer.contextuality import ContextReport
from anyformer.explorer.assembly import CONTEXTS, assembled
from anyformer.explorer.page import Page
from anyformer.reports.contextuality.data import context_data
from anyformer.reports.contextuality.view import KINDS, ending, ids_in_words


def context_page(found: ContextReport) -> Page:
    """The page: one HTML file that needs nothing else. All text in it, a model's name too, is shown as text."""
    data = {
        **context_data(found),
        "kinds": KINDS,
        "ending": ending(found),
        "ids_in_words": None if found.ids is None else ids_in_words(found),
    }
    title = f"{found.model}: contexts"
    return Page(title, assembled(f"{title} · anyformer", data, CONTEXTS))
