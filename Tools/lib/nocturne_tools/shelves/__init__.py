"""Synthetic bookshelves with exact masks, and the reference for separating such pictures into instances."""
