"""The encoder that ships, for the tests that cannot do without its weights."""

import os

import pytest

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.evidence import ENCODER_MISSING
from affidavit.judge.encoder import FAST, EncoderFiles, encoder_folder, read_files


def shipped_or_skip(name: str = FAST) -> EncoderFiles:
    """Return the released files. A checkout without them skips at home, and fails in CI."""
    try:
        return read_files(encoder_folder(name))
    except AffidavitError as error:
        if error.fault is not ENCODER_MISSING or os.environ.get("CI"):
            raise
        pytest.skip("the encoder's weights are not in this checkout")
