"""The grammars in which calls are written, one module each. A family names one and gives it its markers."""

from counterfoil.text.grammars.braces import BraceCalls
from counterfoil.text.grammars.grammar import Grammar, Unwritable
from counterfoil.text.grammars.harmony import HarmonyCalls
from counterfoil.text.grammars.json_calls import JsonCalls
from counterfoil.text.grammars.named import NamedCalls
from counterfoil.text.grammars.pythonic import PythonicCalls
from counterfoil.text.grammars.react import ReactCalls
from counterfoil.text.grammars.tagged import TaggedCalls
from counterfoil.text.grammars.toolformer import ToolformerCalls

AnyGrammar = (
    JsonCalls | NamedCalls | TaggedCalls | PythonicCalls | BraceCalls | HarmonyCalls | ReactCalls | ToolformerCalls
)
"""Every grammar: a family's data is decoded into one of them by its `class`."""

__all__ = ["AnyGrammar", "Grammar", "Unwritable"]
