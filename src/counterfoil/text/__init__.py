"""Tool calls written as text: families of models as data, read as it arrives and written so that it reads back."""

from __future__ import annotations

from counterfoil.text.blocks import NOTES
from counterfoil.text.family import Family
from counterfoil.text.format import Format
from counterfoil.text.reader import Reader
from counterfoil.text.registry import families, family, get, names
from counterfoil.types.error import TextError, Unwritable

__all__ = ["NOTES", "Family", "Format", "Reader", "TextError", "Unwritable", "families", "family", "get", "names"]
