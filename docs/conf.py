"""How Sphinx makes the site: `sphinx-build -W docs SITE`, after `pip install '.[docs]'`. Nothing is downloaded."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import generate

from irexec import __version__

project = "irexec"
author = "the irexec authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["reference/help", "operators.md", "seed-pages.md"]
templates_path: list[str] = []
source_suffix = {".md": "markdown"}

html_theme = "furo"
html_title = "irexec"
html_static_path = ["images", "static"]
html_extra_path = ["reference/live"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# Wrong XML is what the pages of the codes are about. They and the operators are reached from their tables and by
# search: in the navigation, which is on each page, they would be most of the site.
suppress_warnings = ["misc.highlighting_failure", "toc.not_included"]

autodoc_default_options = {"members": True, "undoc-members": False}
autodoc_typehints = "description"
autodoc_member_order = "bysource"

SOURCE = tomllib.loads((generate.ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Homepage"]


def link_sources(app: object, name: str, source: list[str]) -> None:
    """A page may point to a file beside docs/, which the site does not have: there the link leads to the repository."""
    outside = r"\]\((?:\.\./)+((?:irexec|schemas|samples|benchmarks|tests)\b[^)]*)\)"
    source[0] = re.sub(outside, rf"]({SOURCE}/tree/main/\1)", source[0])


navigation: dict[str, Callable[..., str]] = {}


def share_navigation(app: Any, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Of the pages that are not in the navigation, most of the site, those of a folder have the same one: made once."""
    folder = page.rpartition("/")[0]
    if folder and not any(page in pages for pages in app.env.toctree_includes.values()):
        context["toctree"] = navigation.setdefault(folder, cache(context["toctree"]))


def setup(app: Any) -> None:
    app.connect("source-read", link_sources)
    app.connect("html-page-context", share_navigation, priority=400)  # The theme asks for it at 500.


generate.write()
