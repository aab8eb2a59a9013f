"""Signatures, receipts and bundles, and the steps that verify them. Pure."""
