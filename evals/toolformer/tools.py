"""The three tools that calls are placed for, and how each was shown to the model."""

from __future__ import annotations

from datetime import date
from decimal import Decimal, DivisionByZero, InvalidOperation
from typing import Annotated

import msgspec

from counterfoil import Catalogue, ToolError, tool
from counterfoil.tools.tool import Tool

SUM = r"[0-9]{1,7}( [-+*/] [0-9]{1,7}){1,3}"
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DAY = rf"[1-9][0-9]? ({'|'.join(MONTHS)}) 1[0-9]{{3}}"

ENTRIES = {
    "Sheridan": "Richard Brinsley Sheridan, playwright, born in 1751, died in 1816 in Savile Row",
    "Reform Club": "a club in Pall Mall in London, founded in 1836",
    "Suez": "a port in Egypt, at the southern end of the canal",
    "Brindisi": "a port in the south of Italy",
    "Mongolia": "a steamer of the Peninsular and Oriental Company",
    "Peninsular": "the Peninsular and Oriental Company, a shipping company in London",
    "Mont Cenis": "a pass and a railway tunnel between France and Turin in Italy",
    "Calcutta": "a port in India, on the Hooghly",
    "Yokohama": "a port in Japan",
    "Phileas Fogg": "a gentleman of Saville Row in London, member of the Reform Club",
}
"""What `Lookup` knows."""
SUBJECT = "|".join(ENTRIES)


@tool(effect="read", permission="toolformer:use", name="Calculator")
def calculator(expression: Annotated[str, msgspec.Meta(pattern=f"^{SUM}$")]) -> str:
    """Work out a sum, as 400 / 1400. Times and divided come before plus and minus."""
    words = expression.split(" ")
    sums: list[Decimal] = []
    try:
        for sign, word in zip(["+", *words[1::2]], words[::2], strict=True):
            number = Decimal(word)
            if sign == "*":
                sums[-1] *= number
            elif sign == "/":
                sums[-1] /= number
            else:
                sums.append(-number if sign == "-" else number)
    except (DivisionByZero, InvalidOperation):
        raise ToolError("nothing can be divided by 0") from None
    return f"{round(sum(sums, Decimal(0)), 2).normalize():f}"


@tool(effect="read", permission="toolformer:use", name="Calendar")
def calendar(day: Annotated[str, msgspec.Meta(pattern=f"^{DAY}$")]) -> str:
    """Find the day of the week of a date, as 18 June 1815."""
    number, month, year = day.split(" ")
    try:
        return f"{date(int(year), MONTHS.index(month) + 1, int(number)):%A}"
    except ValueError:
        raise ToolError(f"there is no {day}") from None


@tool(effect="read", permission="toolformer:use", name="Lookup")
def lookup(subject: Annotated[str, msgspec.Meta(pattern=f"^({SUBJECT})$")]) -> str:
    """Look something up in a small encyclopaedia."""
    return ENTRIES[subject]


class Shown(msgspec.Struct, frozen=True):
    """A tool, the pattern of its input, what a call is for, and texts with calls in them."""

    tool: Tool
    pattern: str
    purpose: str
    examples: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    @property
    def parameter(self) -> str:
        """The name of its only parameter."""
        (name,) = self.tool.spec.parameters["properties"]
        return str(name)

    def prompt(self, text: str) -> str:
        """What the model is shown before it copies a text with calls."""
        parts = [f"Copy each text, and put in calls of {self.name} where {self.purpose}."]
        parts += [f"Text:\n{plain}\nWith calls:\n{called}" for plain, called in self.examples]
        return "\n\n".join([*parts, f"Text:\n{text}\nWith calls:\n"])


SHOWN = (
    Shown(
        calculator,
        SUM,
        "a number follows that can be worked out",
        (
            (
                "The hall has 40 rows of 25 seats, so 1000 people fit in.",
                "The hall has 40 rows of 25 seats, so [Calculator(40 * 25)] 1000 people fit in.",
            ),
            (
                "She was born in 1819 and died in 1901, at the age of 82 years.",
                "She was born in 1819 and died in 1901, at the age of [Calculator(1901 - 1819)] 82 years.",
            ),
        ),
    ),
    Shown(
        calendar,
        DAY,
        "a day of the week follows",
        (
            (
                "The battle was fought on the 18th of June, 1815, a Sunday, in the rain.",
                "The battle was fought on the 18th of June, 1815, a [Calendar(18 June 1815)] Sunday, in the rain.",
            ),
            (
                "In 1865 they met again on Friday, the 14th of April.",
                "In 1865 they met again on [Calendar(14 April 1865)] Friday, the 14th of April.",
            ),
        ),
    ),
    Shown(
        lookup,
        SUBJECT,
        "a fact follows that an encyclopaedia has",
        (
            (
                "The poem is by Keats, who died in 1821 in Rome.",
                "The poem is by Keats, who died in [Lookup(Keats)] 1821 in Rome.",
            ),
            (
                "They saw Etna, the volcano of Sicily, from the sea.",
                "They saw Etna, [Lookup(Etna)] the volcano of Sicily, from the sea.",
            ),
        ),
    ),
)


def catalogue(shown: tuple[Shown, ...] = SHOWN) -> Catalogue:
    """The tools, for the gate."""
    return Catalogue([each.tool for each in shown])
