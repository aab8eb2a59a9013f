"""Claims about cells of tables, decided by rule (docs/adr/0031)."""

from affidavit.judge.cells.reading import CellFinding, QuotedCell, read_cells

__all__ = ["CellFinding", "QuotedCell", "read_cells"]
