"""Puts together what the service works with, from what the user named. It crosses processes."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from affidavit.app.answering import Desk, answer, request_from_wire
from affidavit.app.asking import CREW, NotAtHandError
from affidavit.app.crew import Crew
from affidavit.app.keys import export_keys
from affidavit.app.receipt_files import Subject
from affidavit.app.verifying import Outcome, ReceiptVerifier
from affidavit.base.canonical import sorted_compact, sorted_compact_decoded
from affidavit.base.json_limits import JsonLimits
from affidavit.base.strict_json import decode
from affidavit.seal.keys import SigningKey
from affidavit.seal.verify import Trust
from affidavit.store.api_keys import ApiKeyFile
from affidavit.store.kept import KeptFrom
from affidavit.wiring.answers import set_up
from affidavit.wiring.keys import FOLDER, find_passphrase, key_folder, moment_of
from affidavit.wiring.verifying import trust_from

API_KEYS_NAME: Final = "api-keys.json"


def api_key_file(project: Path) -> ApiKeyFile:
    """Return the API keys of the project at a place."""
    return ApiKeyFile(project / FOLDER / API_KEYS_NAME)


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """What the user named: all that each process of the service needs to set itself up."""

    project: Path
    tools: Path | None = None
    routes: Path | None = None
    issuer: str | None = None
    keys: tuple[Path, ...] = ()
    tsa_roots: tuple[Path, ...] = ()


class ProjectCounter:
    """Answers and verifies for a project. Threads may use it at the same time.

    Signing keys and trusted keys are read again when the registry changes; tools and routes are
    those of the start.
    """

    def __init__(self, plan: ServicePlan) -> None:
        self._plan = plan
        self._folder = key_folder(plan.project)
        self._setup = set_up(plan.tools, plan.routes, plan.project)
        registry = self._folder.registry_path
        self._signing = KeptFrom(registry, self._signing_key)
        self._trust = KeptFrom(registry, self._trusted)

    def answer(self, raw: bytes, limits: JsonLimits, since: float) -> bytes:
        """Return the signed receipt for a request, whose deadline counts from `since`."""
        return self._receipt(raw, limits, CREW, since)

    def find_answer_at_hand(self, raw: bytes, limits: JsonLimits) -> bytes | None:
        """Return the same if no source has to be waited for.

        It hangs if a file does, so the caller has to watch whether it comes back.
        """
        try:
            return self._receipt(raw, limits, None, None)
        except NotAtHandError:
            return None

    def verify(self, raw: bytes, name: str) -> Outcome:
        """Return the steps of verifying a receipt, with the keys of the project and those named."""
        verifier = ReceiptVerifier(self._trust.get(), moment_of(None))
        return verifier.verify(Subject(name, None, raw))

    @cached_property
    def coverage(self) -> bytes:
        """What can be asked: the coverage manifest."""
        return sorted_compact(self._desk(self._signing.get()).coverage)

    def public_keys(self, *, lifecycles: bool) -> bytes:
        """Return the flat document of public keys, or the registry."""
        return sorted_compact(export_keys(self._folder, lifecycles=lifecycles))

    def require_ready(self) -> None:
        """Raise why nothing could be signed or verified now."""
        self._signing.get()
        self._trust.get()

    def _receipt(
        self, raw: bytes, limits: JsonLimits, crew: Crew | None, since: float | None
    ) -> bytes:
        request = request_from_wire(decode(raw, limits))
        key = self._signing.get()
        desk = replace(self._desk(key), crew=crew, since=since)
        # It was written once, to be signed, so it holds nothing that has no form.
        return sorted_compact_decoded(answer(request, desk, key))

    def _desk(self, key: SigningKey) -> Desk:
        return self._setup.desk(self._plan.issuer or self._setup.issuer or key.public.id)

    def _signing_key(self) -> SigningKey:
        return self._folder.signing_key(find_passphrase())

    def _trusted(self) -> Trust:
        files = (self._folder.registry_path, *self._plan.keys)
        return trust_from(files, self._plan.tsa_roots)
