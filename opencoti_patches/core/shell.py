"""Words of a command line, as a shell takes them: what is printed to be pasted does what it says, and no more."""

from __future__ import annotations

from shlex import quote

from opencoti_patches.core.model import encode, printable


def quoted(text: str) -> str:
    """A text as one word. What no terminal shows stands as escapes, in the quotes that read those."""
    if printable(text) == text:
        return quote(text)
    plain = (c if c.isprintable() and c not in "'\\" else "".join(f"\\x{b:02x}" for b in encode(c)) for c in text)
    return f"$'{''.join(plain)}'"


def inline(command: str) -> str:
    """A command within a sentence, in quotes of which it has none: nobody could tell where it ends else."""
    sign = next((s for s in "'\"`" if s not in command), "'")
    return f"{sign}{command}{sign}"


def word(text: str) -> str:
    """The name of a patch, file or folder as one word, which is no option either."""
    return quoted(f"./{text}" if text.startswith("-") else text)
