"""Reads trained nnU-Net v2 folders, writes them as model packages, and makes small ones for proofs."""
