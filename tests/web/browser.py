"""A browser for the tests of signing in: it keeps cookies, and says where a request comes from."""

import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from tests.web.service_client import JSON, Reply, Service

HOST = "ledgers.example:443"
ELSEWHERE = ("192.0.2.7", 40_000)
FORM = {"content-type": "application/x-www-form-urlencoded"}
OWN = {"origin": f"https://{HOST}", "sec-fetch-site": "same-origin"}
_TOKEN = re.compile(r'name="csrf" value="([^"]+)"')


@dataclass(slots=True)
class Browser:
    """A browser on another machine."""

    service: Service
    cookies: dict[str, str] = field(default_factory=dict)

    def send(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> Reply:
        """Send a request with the cookies, and keep those of the reply."""
        given = {"host": HOST, "accept": "text/html", **(headers or {})}
        if self.cookies:
            given["cookie"] = "; ".join(f"{name}={text}" for name, text in self.cookies.items())
        reply = self.service.ask(method, path, body, given, ELSEWHERE)
        for each in reply.set_cookies:
            assert "Secure" in each
            assert "HttpOnly" in each
            assert "SameSite=" in each
            assert "Path=/;" in f"{each};"
            name, _, rest = each.partition("=")
            assert name.startswith("__Host-")
            if "Max-Age=0" in each:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = rest.partition(";")[0]
        return reply

    def form(self, path: str, fields: dict[str, str], **headers: str) -> Reply:
        """Send a form as our own pages do."""
        return self.send("POST", path, urlencode(fields).encode(), {**FORM, **OWN, **headers})

    def json(self, method: str, path: str, value: Any = None, **headers: str) -> Reply:
        """Send JSON as a script of our own pages does."""
        body = b"" if value is None else json.dumps(value).encode()
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return self.send(method, path, body, {**JSON, **OWN, "accept": "*/*", **named})

    def token_of(self, path: str) -> str:
        """Return the token in the form of a page."""
        found = _TOKEN.search(self.send("GET", path).body.decode())
        assert found
        return found[1]

    def sign_in(self, name: str, password: str, target: str = "/") -> Reply:
        """Sign in on the page."""
        fields = {"csrf": self.token_of("/sign-in"), "next": target}
        return self.form("/sign-in", {**fields, "name": name, "password": password})

    @property
    def csrf(self) -> str:
        """The token of the sign-in."""
        return str(self.json("GET", "/api/v1/me").json["csrf"])
