"""Jinja's templates of HTML and SVG, which escape what they are given."""

from pathlib import Path

import jinja2


def templates_in(*folders: Path) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
