"""Synthetic dermoscopy-like lesions, the network that is trained on them, and its attention graph."""
