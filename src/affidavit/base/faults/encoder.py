"""AF248 and AF249: the files of the judge's encoder."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

ENCODER_MISSING = Fault(
    "AF248",
    "encoder.missing",
    "a file of the judge's encoder is not installed or cannot be read",
    "pip install --force-reinstall affidavit",
    Exit.UNKNOWN,
)
ENCODER_CHANGED = Fault(
    "AF249",
    "encoder.changed",
    "this file of the judge's encoder is not the one that was released",
    "pip install --force-reinstall affidavit",
    Exit.TAMPERED,
)
