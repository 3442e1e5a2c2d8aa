"""Planned numbers of distributed training in documentation.

    wireplan.sphinx    the Sphinx extension: extensions = ["wireplan.sphinx"]
    wireplan.mkdocs    the MkDocs plugin:    plugins: [wireplan]
    wireplan.check     the same check for every other engine: wireplan-docs check docs

All of them ask the program `wireplan`; nothing here computes a number.
"""

from wireplan.program import Missing, Program, Refused

__version__ = "0.1.0"
__all__ = ["Missing", "Program", "Refused", "__version__"]
