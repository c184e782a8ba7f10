import pytest

from tests.infra.permissions import DOCUMENT, rendered
from tests.infra.synthesis import Synthesized

pytestmark = pytest.mark.cdk


def test_the_document_of_permissions_says_what_every_role_may_do(
    prod: Synthesized, staging: Synthesized, options: Synthesized
) -> None:
    found = rendered({"prod": prod, "staging": staging, "options": options})

    assert found == DOCUMENT.read_text(), "run `.venv/bin/python -m tests.infra.permissions`"
