"""Projects of parsers, as teams have them."""

from pathlib import Path

PYPROJECT = """
[project]
name = "tank"
version = "1.0"
requires-python = ">=3.13,<3.14"
dependencies = {dependencies}

[project.entry-points."{group}"]
tank = "tank:Tank"

[build-system]
requires = ["uv_build>=0.13,<0.14"]
build-backend = "uv_build"

[tool.uv]
no-index = true
find-links = ["wheels"]

[tool.uv.build-backend]
module-root = ""
"""


def write_project(
    folder: Path, *, dependencies: str = "[]", group: str = "fleetlane.parsers"
) -> Path:
    """Write a package of one parser, ``tank==1.0``; it finds what it needs in ``wheels`` alone."""
    (folder / "tank").mkdir(parents=True)
    (folder / "wheels").mkdir()
    pyproject = PYPROJECT.format(dependencies=dependencies, group=group)
    (folder / "pyproject.toml").write_text(pyproject)
    code = "class Tank:\n    def parse(self, message): yield {'size': len(message)}\n"
    (folder / "tank" / "__init__.py").write_text(code)
    return folder
