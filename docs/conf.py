"""How is the documentation made? `make docs`: Sphinx reads the Markdown pages of this folder."""

from rollout import __version__

project = "rollout"
author = "The rollout authors"
copyright = "The rollout authors"  # noqa: A001  (Sphinx's own name)
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"rollout {__version__}"
exclude_patterns = ["build"]
myst_heading_anchors = 4
# Pages link to files of the project, such as examples; there are no pages of these.
suppress_warnings = [
    "myst.xref_missing",
    "myst.header",
    "misc.highlighting_failure",
]
