"""The examples of documentation pages, checked: outcomes, errata, the pytest plugin."""
