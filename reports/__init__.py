"""Diagnosis -> page, terminal text and JSON: what a person reads, safe to forward to a stranger."""
