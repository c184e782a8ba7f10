"""A stand-in for the AWS CLI with its plugin for sessions: it runs a session's command here.

As the plugin does, it prints lines of its own around what the command prints.
"""

import os
import sys
from pathlib import Path

import pytest

_PLUGIN = "session-manager-plugin"
_AWS = """#!{python}
import json, subprocess, sys
if sys.argv[1:3] == ["s3", "cp"]:
    sys.exit(subprocess.call(["cp", {archive!r}, sys.argv[4]]))
given = json.loads(sys.argv[sys.argv.index("--parameters") + 1])
print("\\nStarting session with SessionId: someone-0a1b2c", flush=True)
command = {command!r}.replace("{{{{ arguments }}}}", given["arguments"][0])
subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL)
print("\\n\\nExiting session with sessionId: someone-0a1b2c.\\n")
"""


def put_on_path(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *, command: str, archive: str = ""
) -> None:
    """``command`` is the session document's; an ``archive`` is what ``aws s3 cp`` copies."""
    folder.mkdir(exist_ok=True)
    text = _AWS.format(python=sys.executable, command=command, archive=archive)
    for name in ("aws", _PLUGIN):
        path = folder / name
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
