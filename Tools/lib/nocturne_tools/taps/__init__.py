"""TAPS, which finds the prostate in T2-weighted MR: from its wheel to a model package."""
