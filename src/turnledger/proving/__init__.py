"""Attacks on a ledger: simulated histories, kill -9, races; see docs/proof.md."""
