"""Finds out what trained networks come as, and which exporter writes them as a model package."""
