"""Exporters work offline: what a network's constructor would download comes from nobody's folder."""

from __future__ import annotations

import sys

EVENTS = ("socket.__new__", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")


def _refuse(event: str, _arguments: object) -> None:
    if event in EVENTS:
        raise PermissionError("an exporter opens no network connection; use weights that are on this machine")


def forbid_network() -> None:
    """From now on Python code of this process opens no socket: each attempt is a PermissionError. It cannot be taken back."""
    sys.addaudithook(_refuse)
