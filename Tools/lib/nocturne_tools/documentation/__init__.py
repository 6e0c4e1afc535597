"""The manual: generated reference pages, the commands that it documents, and the static site."""
