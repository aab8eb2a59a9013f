"""An identity provider on this machine: OpenID Connect, authorization code flow with PKCE."""

import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from affidavit.app.clock import now_ms
from affidavit.seal.crypto import to_base64url

CLIENT, SECRET = "affidavit", "a secret of the client"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def base64url(data: bytes) -> str:
    return to_base64url(data).rstrip("=")


def number(value: int) -> str:
    return base64url(value.to_bytes((value.bit_length() + 7) // 8))


def jwk() -> dict[str, str]:
    public = KEY.public_key().public_numbers()
    return {"kty": "RSA", "kid": "k1", "use": "sig", "n": number(public.n), "e": number(public.e)}


def token_of(claims: dict[str, Any], algorithm: str = "RS256", key: Any = KEY) -> str:
    """Sign claims, also in ways that must be refused."""
    parts = ({"alg": algorithm, "kid": "k1", "typ": "JWT"}, claims)
    signed = ".".join(base64url(json.dumps(part).encode()) for part in parts)
    if algorithm == "none":
        return f"{signed}."
    if algorithm == "HS256":  # With what everybody knows as the secret.
        mark = hmac.new(jwk()["n"].encode(), signed.encode(), "sha256").digest()
    else:
        mark = key.sign(signed.encode(), padding.PKCS1v15(), SHA256())
    return f"{signed}.{base64url(mark)}"


Change = Callable[[dict[str, Any]], str]


@dataclass
class Provider:
    """A provider that gives every browser a code. `make_token` may make a wrong token."""

    url: str = ""
    claims: dict[str, Any] = field(
        default_factory=lambda: {
            "sub": "u-1",
            "preferred_username": "grace",
            "groups": ["staff", "affidavit-admins"],
        }
    )
    make_token: Change = token_of
    issuer: str = ""
    status: int = 200
    asked: dict[str, dict[str, str]] = field(default_factory=dict)

    def authorize(self, address: str) -> dict[str, str]:
        """Do what a user does at the provider, and return the query of the way back."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        assert query["client_id"] == CLIENT
        code = f"code-{len(self.asked)}"
        self.asked[code] = query
        return {"code": code, "state": query["state"]}

    def token(self, form: dict[str, str]) -> dict[str, Any] | None:
        """Exchange a code, once, if the verifier and the secret are right."""
        query = self.asked.pop(form.get("code", ""), None)
        if query is None or form.get("client_secret") != SECRET:
            return None
        challenge = base64url(hashlib.sha256(form["code_verifier"].encode()).digest())
        same = form["redirect_uri"] == query["redirect_uri"]
        if challenge != query["code_challenge"] or not same:
            return None
        moment = now_ms() // 1000
        claims = {
            "iss": self.issuer or self.url,
            "aud": CLIENT,
            "iat": moment,
            "exp": moment + 300,
            "nonce": query["nonce"],
            **self.claims,
        }
        return {"access_token": "x", "token_type": "Bearer", "id_token": self.make_token(claims)}


@contextmanager
def running_provider() -> Iterator[Provider]:
    """Run a provider."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages: dict[str, Any] = {
                "/.well-known/openid-configuration": {
                    "issuer": provider.issuer or provider.url,
                    "authorization_endpoint": f"{provider.url}/authorize",
                    "token_endpoint": f"{provider.url}/token",
                    "jwks_uri": f"{provider.url}/keys",
                },
                "/keys": {"keys": [jwk()]},
            }
            self._answer(pages.get(self.path))

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"])).decode()
            form = {name: values[0] for name, values in parse_qs(raw).items()}
            self._answer(provider.token(form))

        def _answer(self, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(400 if value is None else provider.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
