"""Claims about cells of tables, decided by rule (docs/adr/0031)."""

from affidavit.judge.cells.reading import CellFinding, QuotedCell, read_cells
from affidavit.judge.cells.rows import has_rows

__all__ = ["CellFinding", "QuotedCell", "has_rows", "read_cells"]
