"""The served OpenAPI document describes exactly what the handlers do."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.web.service_client import CHECKS, Service, make_project

from affidavit.checks.operators import OPERATORS
from affidavit.checks.routes import words_of
from affidavit.web.access import CallerSlots
from affidavit.web.handlers import Handlers
from affidavit.web.problems import MEDIA_TYPE, STATUSES
from affidavit.web.routes import ROUTES, UNLIMITED_PATHS
from affidavit.web.settings import WebSettings

SETTINGS = WebSettings(key_rate=0, address_rate=0)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Service:
    return Service(make_project(tmp_path_factory.mktemp("described")), SETTINGS)


@pytest.fixture(scope="module")
def document(service: Service) -> dict[str, Any]:
    found: dict[str, Any] = service.ask("GET", "/schema").json
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from references(part)


def test_every_route_is_described_by_its_handler(document: dict[str, Any]) -> None:
    described = {(method, path): each for method, path, each in operations(document)}
    assert described.keys() == {(route.method, route.path) for route in ROUTES}
    for route in ROUTES:
        operation = described[route.method, route.path]
        handler = getattr(Handlers, route.handler)
        assert operation["operationId"] == route.handler
        assert operation["summary"] == handler.__doc__
        assert ("requestBody" in operation) is ("data" in handler.__annotations__)
        needs_key = {"api_key": []} in operation.get("security", ())
        assert needs_key is (route.scope is not None)
        if route.scope is not None:
            assert f"`{route.scope.value}`" in operation["description"]


def test_every_status_and_code_of_a_route_is_described(document: dict[str, Any]) -> None:
    described = {(method, path): each for method, path, each in operations(document)}
    for route in ROUTES:
        responses = described[route.method, route.path]["responses"]
        faults = list(route.possible_faults(anonymous=True))
        assert responses.keys() == {"200", *(str(STATUSES[fault].value) for fault in faults)}
        assert ("429" in responses) is (route.path not in UNLIMITED_PATHS)
        for fault in faults:
            response = responses[str(STATUSES[fault].value)]
            assert f"{fault.code} {fault.name}" in response["description"]
            assert response["content"].keys() == {MEDIA_TYPE}
        for response in responses.values():
            assert response["headers"]["X-Request-Id"]["schema"] == {"type": "string"}
        assert responses["200"]["content"].keys() == {route.media_type}


def test_every_reference_resolves_to_a_component(document: dict[str, Any]) -> None:
    found = set(references(document))
    components = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert len(found) > 20
    assert found <= components
    assert "\\Z" not in json.dumps(document)


def test_structs_are_as_strict_as_their_readers(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["ChecksRequestV1"]["additionalProperties"] is False
    assert schemas["ChecksRequestV1"]["properties"]["checks"]["minItems"] == 1
    content = document["paths"]["/v1/answer"]["post"]["requestBody"]["content"]
    (bare,) = (
        member
        for member in content["application/json"]["schema"]["oneOf"]
        if member.get("type") == "array"
    )
    assert bare["minItems"] == 1
    operators = [
        name
        for choice in schemas["Expectation"]["anyOf"]
        for name in choice["properties"]["op"]["enum"]
    ]
    assert sorted(operators) == sorted(OPERATORS)


def test_a_receipt_can_be_verified_by_its_link(service: Service, document: dict[str, Any]) -> None:
    links = document["paths"]["/v1/answer"]["post"]["responses"]["200"]["links"]
    assert links["verify"]["operationId"] == "verify"
    receipt = service.post("/v1/answer", CHECKS).json
    assert service.post("/v1/verify", receipt).json["valid"] is True


def test_local_callers_need_no_key_only_where_the_service_allows_it() -> None:
    for anonymous in (True, False):
        settings = WebSettings(anonymous=anonymous)
        use_cases: Any = None
        handlers = Handlers(use_cases, settings, anyio.CapacityLimiter(1), CallerSlots(1))
        secured = [route for route in handlers.routes() if route.security]
        assert len(secured) == 4
        for route in secured:
            assert ({} in (route.security or ())) is anonymous


def test_every_example_is_answered(service: Service, document: dict[str, Any]) -> None:
    count = 0
    for method, path, operation in operations(document):
        for slot in operation.get("parameters", ()):
            (example,) = slot["examples"].values()
            address = path.replace("{" + slot["name"] + "}", example["value"])
            assert service.ask(method, address).status == 200
        content = operation.get("requestBody", {}).get("content", {})
        for name, example in content.get("application/json", {}).get("examples", {}).items():
            reply = service.post(path, example["value"])
            assert reply.status == 200, (name, reply.json)
            count += 1
    assert count == 4


def test_the_schema_of_a_question_requires_a_word(document: dict[str, Any]) -> None:
    """White space is spelled out, because `\\s` differs between dialects."""
    request = document["components"]["schemas"]["QuestionRequestV1"]
    pattern = re.compile(request["properties"]["question"]["pattern"])
    for letter in map(chr, (*range(0xD800), *range(0xE000, 0x110000))):
        assert bool(pattern.search(letter)) is bool(words_of(letter)), repr(letter)


def test_the_page_shows_every_operation_and_loads_nothing(
    service: Service, document: dict[str, Any]
) -> None:
    reply = service.ask("GET", "/docs")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert reply.headers["content-security-policy"].startswith("default-src 'none'")
    page = html.unescape(reply.body.decode())
    for method, path, operation in operations(document):
        assert f'<span class="method">{method}</span> {path}' in page
        assert operation["summary"] in page
        assert all(response["description"] in page for response in operation["responses"].values())
    assert '"op": "semver_gte"' in page
    assert not re.search(r"src=|@import|url\(|<script", page)


def test_the_deadline_that_an_operator_allows(tmp_path: Path) -> None:
    service = Service(make_project(tmp_path), WebSettings(max_deadline_ms=1000))
    components = service.ask("GET", "/schema").json["components"]["schemas"]
    deadline = components["ChecksRequestV1"]["properties"]["deadline_ms"]
    assert (deadline["maximum"], deadline["default"]) == (1000, 1000)
    refused = service.post("/v1/answer", {**CHECKS, "deadline_ms": 1001})
    assert (refused.status, refused.json["code"]) == (422, "AF355")
    assert refused.json["next"].endswith("from 1 to 1000")
    assert service.post("/v1/answer", CHECKS["checks"]).status == 200
