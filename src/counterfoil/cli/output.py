"""The one place that writes to the terminal: colours and bars where somebody looks, plain text where nobody does."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any, TextIO, cast

import msgspec
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from counterfoil.cli.inert import inert
from counterfoil.cli.outlet import Outlet

Part = str | tuple[str, str]
"""A piece of a line: text, or text and its style."""


class Output:
    """Says things on standard output, and what is not the answer (progress, errors) on standard error.

    Every text is made inert on its way: none is ever read as markup or obeyed as an escape sequence. With `json` only
    `data` says anything, one JSON value a line. Piped, lines are never cut or wrapped.
    """

    def __init__(self, *, json: bool = False, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.json = json
        streams = (stdout or sys.stdout, stderr or sys.stderr)
        for stream in streams:
            if isinstance(stream, TextIOWrapper):  # an ASCII terminal still gets every answer
                stream.reconfigure(errors="backslashreplace")
        self._out, self._err = map(Outlet, streams)
        self._console, self._errors = (
            Console(file=cast("TextIO", each), highlight=False, markup=False, emoji=False)
            for each in (self._out, self._err)
        )
        self._open = False
        """Whether `live` has left the cursor in the middle of a line; then where, and what it has not written yet."""
        self._column = self._indent = 0
        self._held = ""

    @property
    def terminal(self) -> bool:
        """Whether somebody looks at standard output."""
        return self._console.is_terminal

    @property
    def unread(self) -> bool:
        """Whether a command that only shows things has lost who reads them."""
        return self._out.needed and self._out.gone

    def only_shows(self) -> None:
        """Let the command end with `BrokenPipeError` when nobody reads any more: it has no work but to show things."""
        self._out.needed = True

    def glyph(self, fancy: str, plain: str) -> str:
        """A sign, or its stand-in where the encoding has no such sign."""
        return fancy if self._console.encoding.startswith("utf") else plain

    def say(self, *parts: Part, indent: int = 0) -> None:
        """Write one line (or the lines of a text), each indented."""
        if self.json:
            return
        self.end_live()
        text = _styled(parts)
        if self.terminal:
            self._console.print(Padding(text, (0, 0, 0, indent), expand=False) if indent else text)
        else:
            self._plain(text.plain, indent)

    def live(self, text: str, style: str = "", indent: int = 0) -> None:
        """Write a piece of a line as it arrives; `end_live` or the next `say` ends the line.

        On a terminal lines break between words, so the last word is held back until it is whole.
        """
        if self.json or not text:
            return
        if not self._open:
            self._open, self._column, self._indent = True, indent, indent
            self._write(" " * indent, "")
        self._held += inert(text)
        *whole, self._held = re.split(r"(?<=\s)", self._held)
        for word in whole:
            self._word(word, style)
        self._out.flush()

    def _word(self, word: str, style: str) -> None:
        bare = word.rstrip("\n")
        if self.terminal and self._column + len(bare.rstrip()) >= self._console.width and self._column > self._indent:
            self._write("\n" + " " * self._indent, "")
            self._column = self._indent
        self._write(bare, style)
        self._column += len(bare)
        for _ in range(len(word) - len(bare)):
            self._write("\n" + " " * self._indent, "")
            self._column = self._indent

    def _write(self, text: str, style: str) -> None:
        if self.terminal:
            self._console.print(Text(text, style), end="", soft_wrap=True)
        else:
            self._out.write(text)

    def end_live(self) -> None:
        """End the line that `live` left open."""
        if self._open:
            self._word(self._held, "")
            self._held = ""
            self._open = False
            self._out.write("\n")
            self._out.flush()

    def data(self, value: Any) -> None:
        """Write one JSON value as a line; only with `json`."""
        if self.json:
            self._out.write(msgspec.json.encode(value).decode() + "\n")

    def line(self, text: bytes) -> None:
        """Write one line of a file that goes to standard output, as it is."""
        self._out.write(text.decode() + "\n")

    def raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        self.end_live()
        self._out.write_bytes(data)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> None:
        """Write rows under headings: aligned, and on a terminal fitted to its width."""
        if self.json:
            return
        self.end_live()
        cells = [[inert(cell, lines=False) for cell in row] for row in rows]
        if self.terminal:
            table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
            for index, column in enumerate(columns):
                table.add_column(column, style=styles[index] if index < len(styles) else "", overflow="fold")
            for row in cells:
                table.add_row(*[Text(cell) for cell in row])
            self._console.print(table)
            return
        widths = [max(len(row[index]) for row in [list(columns), *cells]) for index in range(len(columns))]
        for row in [list(columns), *cells]:
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self._out.write(line.rstrip() + "\n")

    def box(self, rows: Sequence[tuple[str, str]], *, indent: int = 0, style: str = "") -> None:
        """Write labelled values that belong together: on a terminal in a frame."""
        if self.json:
            return
        self.end_live()
        if self.terminal:
            grid = Table.grid(padding=(0, 1))
            grid.add_column(style="dim", no_wrap=True)
            grid.add_column(overflow="fold")
            for label, value in rows:
                grid.add_row(Text(inert(label)), Text(inert(value)))
            panel = Panel(grid, border_style=style, expand=False, padding=(0, 1))
            self._console.print(Padding(panel, (0, 0, 0, indent), expand=False))
            return
        width = max(len(label) for label, _ in rows)
        for label, value in rows:
            self._plain(f"{inert(label):<{width}}  {inert(value)}", indent)

    def note(self, text: str, style: str = "dim") -> None:
        """Say on standard error what is not part of the answer."""
        self.end_live()
        self._errors.print(Text(inert(text), style), soft_wrap=not self._errors.is_terminal)

    def error(self, text: str) -> None:
        """Say on standard error what went wrong."""
        self.end_live()
        line = Text("counterfoil: ", "bold red")
        line.append(inert(text), "default")
        self._errors.print(line, soft_wrap=True)

    @contextmanager
    def bar(self, what: str) -> Generator[Callable[[str, float], None]]:
        """Show how far something is, on standard error, where somebody looks; nothing is left of it afterwards."""
        if not self._errors.is_terminal:
            yield lambda what, part: None
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), TimeElapsedColumn())
        with Progress(*columns, console=self._errors, transient=True) as progress:
            task = progress.add_task(inert(what), total=1.0)
            yield lambda what, part: progress.update(task, description=inert(what), completed=part)

    def ask(self, question: str, read: Callable[[str], str] = input) -> str:
        """Ask on the terminal. Raises `EOFError` when nobody will answer."""
        self.end_live()
        return read(inert(question))

    def flush(self) -> None:
        """Let everything out."""
        self.end_live()
        self._out.flush()
        self._err.flush()

    def _plain(self, text: str, indent: int) -> None:
        for line in text.split("\n"):
            self._out.write((" " * indent + line).rstrip() + "\n")


def _styled(parts: Sequence[Part]) -> Text:
    text = Text()
    for part in parts:
        words, style = part if isinstance(part, tuple) else (part, "")
        text.append(inert(words), style)
    return text
