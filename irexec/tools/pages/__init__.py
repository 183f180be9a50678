"""Documentation pages: the operators they are about and the examples they hold, each with its place in the page."""

from irexec.tools.pages.page import SUFFIXES, Page, TextExample, XmlExample, pages_below, read_page

__all__ = ["SUFFIXES", "Page", "TextExample", "XmlExample", "pages_below", "read_page"]
