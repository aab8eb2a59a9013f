"""The service, its processes and its database are really killed, once each.

interop/store_kills.sh kills each of them twenty times.
"""

import pytest
from tests.web.store_kills import main


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_was_accepted_survives_kills(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main([kind, "1"])
    said = capsys.readouterr().out
    assert code == 0, said
    assert "accepted sessions: 0," not in said
