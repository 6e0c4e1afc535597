"""The command line of scripts without options."""

from __future__ import annotations

import argparse


def no_arguments(description: str | None) -> None:
    """Prints the description for --help and refuses any argument."""
    argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
