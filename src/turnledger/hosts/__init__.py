"""Hosts: what stands between turnledger and a framework. Each module has an extra of its own."""
