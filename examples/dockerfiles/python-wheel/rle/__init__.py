"""Run-length encoding; the loop is in C."""

from rle._rle import encode

__all__ = ["encode"]
