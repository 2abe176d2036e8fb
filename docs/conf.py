"""How the documentation site is built: `make docs`, or `sphinx-build -W -n docs build/docs`."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs")]
# Tutorials run in a process of their own.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])

from anyformer import __version__  # noqa: E402

project = "anyformer"
author = "the anyformer authors"
copyright = author
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "myst_nb",
    "docstrings",
    "explorer_page",
]
exclude_patterns = ["*.py", "figures/*.py", "build", "**/.ipynb_checkpoints"]

# Markdown as it is written for other readers: headings are link targets.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

# Tutorials are Python scripts in Jupytext's percent format. They are run whenever the site is built.
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True
nb_merge_streams = True

# Names in docstrings are plain code. Types are shown as they are written and lead nowhere if they are not public.
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]
# A name of several classes is a link to none of them.
suppress_warnings = ["ref.python"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
add_module_names = False

html_theme = "furo"
html_title = "anyformer"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True}
html_copy_source = False
html_show_sphinx = False
highlight_language = "none"

# Pages that stand at the root of the repository are read there; the site has them below docs.
AT_THE_ROOT = {"../ARCHITECTURE.md": "architecture.md", "../CONTRIBUTING.md": "extending.md"}


def _source(app, page, text):
    for there, here in AT_THE_ROOT.items():
        text[0] = text[0].replace(f"]({there}", f"]({here}")


def setup(app):
    """Read links to the root as links within the site."""
    app.connect("source-read", _source)
