"""Lines for people, 80 columns wide."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from opencoti_patches.core.model import printable

WIDTH = 80
_BEFORE = 24  # columns before what two lines differ in, where both are too long to be shown whole


def from_here(path: Path, start: Path) -> str:
    """A path as people type it in the folder ``start``, where they run the program."""
    return printable(str(path.relative_to(start) if path.is_relative_to(start) else path))


# a command in its quotes, one of ours that stands in a sentence, one of others that a line begins with
_COMMAND = (
    r"(?:^\w+: )?(?:(['\"`])(?:opencoti-patches|git) .*?\1(?=[\s,;:.)]|$)"
    r"|(?<![\w'\"`/.-])opencoti-patches (?=[a-z-])(?:'[^']*'|.)*?(?=(?<=\S)[,;:.)](?:\s|$)|$))"
    r"|^(?:\w+: )?(?:git|pip|cd) .*?(?=[,;](?:\s|$)|$)"
    r"|^(?:echo >>|printf '|sed -i ).*"
)


def wrapped(line: str, indent: int = 0, hang: int = 4) -> list[str]:
    """A line broken at blanks alone, the rest of it ``hang`` columns further in. A command stays in one line, however
    long: it is there to be pasted."""
    if len(line) + indent <= WIDTH and "  " not in line and line == line.strip() and line:
        return [" " * indent + line]
    import textwrap  # a short line, which is what a warm check prints, needs none of it

    rows = textwrap.wrap(
        re.sub(_COMMAND, lambda m: m[0].replace(" ", "\0"), line),
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hang),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [row.replace("\0", " ") for row in rows]


class Said(str):
    """Rows of an answer that name commands to run. They know the ``line`` that they are made of: where the program was
    given the project's folder, the commands get it, and the line is wrapped anew."""

    line: str
    indent: int
    hang: int
    whole: bool  # it is a command, and stays in one row

    def __new__(cls, line: str, indent: int = 0, hang: int = 4, whole: bool = False) -> Said:
        rows = [" " * indent + line] if whole else wrapped(line, indent, hang)
        made = super().__new__(cls, "\n".join(rows))
        made.line, made.indent, made.hang, made.whole = line, indent, hang, whole
        return made

    def with_line(self, line: str) -> Said:
        """Another line in its place."""
        return Said(line, self.indent, self.hang, self.whole)


def with_short_ids(text: str) -> str:
    """Twelve digits of an id say as much to people as forty; the documents have them all."""
    return re.sub(r"\b([0-9a-f]{12})[0-9a-f]{28}\b", r"\1", text)


def saved_in(paths: Sequence[Path], start: Path) -> list[str]:
    """Where local edits are that were written over, for people in the folder ``start``."""
    return [line for path in paths for line in wrapped(f"saved your edits in {from_here(path, start)}")]


def is_command(step: str) -> bool:
    """Whether a step can be pasted; the others are words."""
    return step.startswith(("opencoti-patches ", "git "))


def steps(lines: Sequence[str], indent: int = 4) -> list[str]:
    """What to run next and what then. A command stays in one line, however long: it is there to be pasted."""
    return [
        Said(f"{'then' if i else 'next'}: {line}", indent, 2, whole=is_command(line)) for i, line in enumerate(lines)
    ]


def cut(lines: Sequence[str]) -> list[str]:
    """Lines of a patch, no longer than the screen is wide. Where what is shown of two were the same and they are not, both
    begin shortly before what they differ in."""
    rows = [line if len(line) <= WIDTH else line[: WIDTH - 1] + "…" for line in lines]
    alike: dict[str, list[int]] = {}
    for i, (line, row) in enumerate(zip(lines, rows, strict=True)):
        if row != line:
            alike.setdefault(_bare(row), []).append(i)
    for several in alike.values():
        texts = {_bare(lines[i]) for i in several}
        if len(texts) > 1:
            least, most = min(texts), max(texts)
            same = next((n for n, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), len(least))
            for i in several:
                text = _bare(lines[i])
                line = lines[i].removesuffix(text) + "…" + text[max(same - _BEFORE, 1) :]
                rows[i] = line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
    return rows


def _bare(line: str) -> str:
    """A line of a patch without its signs and its indentation."""
    return line.lstrip(" +-")
