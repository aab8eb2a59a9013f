"""Faulty time stamp authorities: each fault has its message."""

import pytest
from tests.faulty_server import (
    Behaviour,
    answers,
    breaks_off,
    drips,
    hangs_up,
    no_http,
    pours,
    serving,
)

from affidavit.base.errors import AffidavitError
from affidavit.base.http_client import FailureKind, HttpFailure, RequestStage
from affidavit.tools import timestamp_authority
from affidavit.tools.timestamp_authority import request_token, require_authority_url

FAULTS: dict[str, tuple[Behaviour, str]] = {
    "an error of the server": (answers(500, b"oops"), "HTTP 500"),
    "a redirect is not followed": (answers(302, Location="/1"), "HTTP 302"),
    "too much": (pours, "its answer has more than 1048576 bytes"),
    "half an answer is none": (breaks_off, "its answer broke off"),
    "another protocol": (no_http, "it does not speak HTTP as it should"),
    "a connection that is closed": (hangs_up, "remotedisconnected"),
    "an answer by the drop": (drips, "no answer within 0.5 s"),
}


@pytest.mark.parametrize(("behaviour", "wanted"), FAULTS.values(), ids=FAULTS.keys())
def test_a_faulty_authority_is_reported(behaviour: Behaviour, wanted: str) -> None:
    with serving(behaviour) as server, pytest.raises(AffidavitError) as caught:
        request_token(server.url(), b"{}", timeout_seconds=0.5 if behaviour is drips else 10)
    assert caught.value.fault.name == "stamp.unavailable"
    assert caught.value.message.endswith(wanted)


def test_an_invalid_certificate_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    failure = HttpFailure(FailureKind.CERTIFICATE, RequestStage.SECURING, "self-signed certificate")
    monkeypatch.setattr(timestamp_authority, "post", lambda *_, **__: failure)
    with pytest.raises(AffidavitError, match="its certificate does not hold: self-signed"):
        request_token("https://example.com/", b"")


def test_the_token_is_the_body_of_the_response() -> None:
    with serving(answers(200, b"token")) as server:
        assert request_token(server.url(), b"{}") == b"token"
    assert server.headers[0]["content-type"] == "application/timestamp-query"


ADDRESSES = {
    "half an address of IPv6": ("http://[::1/", "it cannot be read"),
    "another scheme": ("ftp://x/", "'ftp://x/' is not http:// or https:// with a host"),
    "a password": ("http://a:b@x/", "it must not hold a user or a password"),
}


@pytest.mark.parametrize(("url", "wanted"), ADDRESSES.values(), ids=ADDRESSES.keys())
def test_invalid_urls_are_refused(url: str, wanted: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        require_authority_url(url)
    assert wanted in caught.value.message
