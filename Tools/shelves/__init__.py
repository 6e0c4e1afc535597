"""Synthetic bookshelves with exact masks, and the reference for taking such pictures apart into instances."""
