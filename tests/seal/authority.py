"""A time stamp authority made with `openssl ts`, and hostile variants of its answers."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from affidavit.seal.crypto import SEQUENCE, SET, der_element, der_elements, der_integer
from affidavit.seal.rfc3161 import time_stamp_request, token_from_response

NONCE = 2**63 + 5
POLICY = "1.2.3.4.1"
TIME_STAMPING = ExtendedKeyUsageOID.TIME_STAMPING
INFO_KIND = "1.2.840.113549.1.9.16.1.4"


def require_openssl() -> None:
    """End the test where there is no openssl: skipped at home, failed in CI."""
    if shutil.which("openssl") is None:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("openssl is not installed, so there is no time stamp authority to test with")


@dataclass(frozen=True)
class Authority:
    """A folder with a root, a signer, and the configuration of `openssl ts`."""

    folder: Path
    now: datetime

    @property
    def roots(self) -> bytes:
        """The root's certificate in PEM."""
        return (self.folder / "root.pem").read_bytes()

    @property
    def signer(self) -> str:
        """The signer's whole name."""
        return "CN=Sample TSA"

    def answer(self, digest: str, nonce: int = NONCE, signer: str = "tsa") -> bytes:
        """Return the authority's answer to our request."""
        return self.answer_to(time_stamp_request(digest, nonce), signer)

    def answer_to(
        self,
        request: bytes,
        signer: str = "tsa",
        accuracy: str = "accuracy=secs:1,millisecs:500,microsecs:100",
        *,
        with_chain: bool = False,
    ) -> bytes:
        """Return the authority's answer to any request, signed with one of its certificates."""
        (self.folder / "query.tsq").write_bytes(request)
        (self.folder / "ts.cnf").write_text(
            f"[ts]\nserial=serial\ncrypto_device=builtin\nsigner_cert={signer}.pem\n"
            f"signer_key=tsa.key\nsigner_digest=sha256\ndefault_policy={POLICY}\n"
            f"digests=sha256,sha1\n{accuracy}\n"
            f"{'ess_cert_id_chain=yes' if with_chain else 'ess_cert_id_chain=no'}\n"
            f"{'certs=root.pem' if with_chain else ''}\n"
        )
        self.openssl(
            *("ts", "-reply", "-config", "ts.cnf", "-section", "ts"),
            *("-queryfile", "query.tsq", "-out", "answer.tsr"),
        )
        return (self.folder / "answer.tsr").read_bytes()

    def token(self, digest: str, signer: str = "tsa") -> bytes:
        """Return a token over a digest."""
        return token_from_response(self.answer(digest, signer=signer), digest, NONCE)

    def token_by_other_purpose(self, digest: str, signer: str) -> bytes:
        """Return a token that `openssl ts` refuses to sign: by a certificate for something else."""
        return self.signed(token_info(self.token(digest)), signer)

    def signed(self, info: bytes, signer: str, *more: str) -> bytes:
        """Return the info of a token signed by any certificate, as CMS."""
        (self.folder / "info.der").write_bytes(info)
        self.openssl(
            *("cms", "-sign", "-binary", "-nodetach", "-in", "info.der", "-cades"),
            *("-econtent_type", INFO_KIND, "-signer", f"{signer}.pem", "-inkey", "tsa.key"),
            *("-md", "sha256", "-nosmimecap", "-outform", "DER", "-out", "token.der", *more),
        )
        return (self.folder / "token.der").read_bytes()

    def openssl(self, *arguments: str) -> None:
        """Run openssl in the folder."""
        done = subprocess.run(
            ["openssl", *arguments], cwd=self.folder, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()


def found_authority(folder: Path) -> Authority:
    """Make a root, a signer with its certificates good and bad, and another root."""
    require_openssl()
    now = datetime.now(UTC)  # noqa: TID251 - openssl stamps with the clock of the machine
    root, signer = _key(folder, "root"), _key(folder, "tsa")
    other = _key(folder, "other")
    ca: list[tuple[x509.ExtensionType, bool]] = [(x509.BasicConstraints(True, None), True)]
    good: list[tuple[x509.ExtensionType, bool]] = [(x509.ExtendedKeyUsage([TIME_STAMPING]), True)]
    week = timedelta(days=7)
    _certify(folder, "root", ("Root", root), ("Root", root), ca, now - week, now + week)
    _certify(folder, "other", ("Root", other), ("Root", other), ca, now - week, now + week)
    _certify(folder, "past", ("Root", root), ("Root", root), ca, now - 2 * week, now - week)
    purposes: dict[str, list[tuple[x509.ExtensionType, bool]]] = {
        "tsa": good,
        "plain": [],
        "two": [(x509.ExtendedKeyUsage([TIME_STAMPING, ExtendedKeyUsageOID.CODE_SIGNING]), True)],
        "lax": [(x509.ExtendedKeyUsage([TIME_STAMPING]), False)],
    }
    for name, extensions in purposes.items():
        names = ("Sample TSA", signer), ("Root", root)
        _certify(folder, name, *names, extensions, now - week, now + week)
    _certify(
        folder, "expired", ("Sample TSA", signer), ("Root", root), good, now - 2 * week, now - week
    )
    _certify(
        folder, "spoofed", ("Spoofed TSA", other), ("Root", other), good, now - week, now + week
    )
    (folder / "serial").write_text("01\n")
    return Authority(folder, now)


def token_info(token: bytes) -> bytes:
    """Return the TSTInfo that a token carries."""
    (content_info,) = der_elements(token)
    (signed_data,) = content_info.members[1].members
    carried = signed_data.members[2]
    (octets,) = carried.members[1].members
    return octets.content


def with_certificate(token: bytes, pem: bytes) -> bytes:
    """Return a token with one more certificate in it, which nobody signed for."""
    der = x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.DER)
    (content_info,) = der_elements(token)
    kind, explicit = content_info.members
    (signed_data,) = explicit.members
    parts = [
        der_element(0xA0, *sorted((*(each.whole for each in part.members), der)))
        if part.tag == 0xA0
        else part.whole
        for part in signed_data.members
    ]
    return der_element(SEQUENCE, kind.whole, der_element(0xA0, der_element(SEQUENCE, *parts)))


def without_signers(token: bytes) -> bytes:
    """Return a token that nobody signed."""
    (content_info,) = der_elements(token)
    kind, explicit = content_info.members
    (signed_data,) = explicit.members
    parts = [part.whole for part in signed_data.members[:-1]]
    return der_element(
        SEQUENCE, kind.whole, der_element(0xA0, der_element(SEQUENCE, *parts, der_element(SET)))
    )


def with_status(response: bytes, status: int) -> bytes:
    """Return an answer with another status and the same token."""
    (whole,) = der_elements(response)
    return der_element(SEQUENCE, der_element(SEQUENCE, der_integer(status)), whole.members[1].whole)


def _key(folder: Path, name: str) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / f"{name}.key").write_bytes(pem)
    return key


def _certify(
    folder: Path,
    file: str,
    subject: tuple[str, ec.EllipticCurvePrivateKey],
    issuer: tuple[str, ec.EllipticCurvePrivateKey],
    extensions: list[tuple[x509.ExtensionType, bool]],
    start: datetime,
    end: datetime,
) -> None:
    builder = (
        x509.CertificateBuilder()
        .subject_name(_named(subject[0]))
        .issuer_name(_named(issuer[0]))
        .public_key(subject[1].public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    pem = builder.sign(issuer[1], hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    (folder / f"{file}.pem").write_bytes(pem)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
