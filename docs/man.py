"""Writes the man page from the commands themselves: docs/man.py man/opencoti-patches.1"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from opencoti_patches import __version__
from opencoti_patches.cli import cli

NAME = "opencoti-patches"
FILES = (
    ("opencoti.toml", "The project's configuration."),
    ("patches/series", "The patches in order."),
    ("patches/series.lock", "What was verified."),
    (".opencoti/", "The store, beside opencoti.toml. Deleting it loses nothing but time."),
)
ENVIRONMENT = (
    ("OPENCOTI_STORE", "Where the store is, instead of .opencoti."),
    ("OPENCOTI_TRACE", "Set to 1, an internal error ends with its trace."),
)


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    top = click.Context(cli, info_name=NAME, max_content_width=80)
    yield f'.TH OPENCOTI\\-PATCHES 1 "" "opencoti\\-patches {__version__}" "User Commands"'
    yield from (".SH NAME", f"{_escaped(NAME)} \\- keep a patch series on top of llama.cpp")
    yield from (".SH SYNOPSIS", f".B {_escaped(NAME)}", "[\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]")
    yield from (".SH DESCRIPTION", *_prose(cli.help or ""))
    yield from (".SH OPTIONS", "These go before the command or after it.", *_options(cli, top))
    yield ".SH COMMANDS"
    for name in cli.list_commands(top):
        command = cli.get_command(top, name)
        if command is not None:
            yield from _command(command, click.Context(command, info_name=name, parent=top))
    yield from (".SH EXIT STATUS", *_prose((cli.epilog or "").split("\n\n", 1)[1]))
    for title, rows in (("FILES", FILES), ("ENVIRONMENT", ENVIRONMENT)):
        yield f".SH {title}"
        for term, text in rows:
            yield from (".TP", f".B {_escaped(term)}", _escaped(text))


def _command(command: click.Command, ctx: click.Context) -> Iterator[str]:
    path = ctx.command_path.removeprefix(f"{NAME} ")
    pieces = " ".join(command.collect_usage_pieces(ctx))
    yield f'.SS "{_escaped(f"{path} {pieces}")}"'
    yield from _prose(command.help or "")
    yield from _options(command, ctx)
    yield from _prose(command.epilog or "")
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            if inner is not None:
                yield from _command(inner, click.Context(inner, info_name=name, parent=ctx))


def _options(command: click.Command, ctx: click.Context) -> Iterator[str]:
    """An option a paragraph; those that every command takes are told once."""
    told = {p.name for p in cli.params} if command is not cli else set()
    for param in command.params:
        record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
        if record and param.name not in told:
            yield from (".TP", f".B {_escaped(record[0])}", _escaped(record[1]))


def _prose(text: str) -> Iterator[str]:
    """Paragraphs; those that begin with \\b as they are."""
    for block in filter(None, (b.strip("\n") for b in text.split("\n\n"))):
        yield ".PP"
        if block.startswith("\b"):
            rows = [r.strip() for r in block[1:].strip("\n").split("\n")]
            yield from (".nf", *map(_escaped, rows), ".fi")
        else:
            yield _escaped(" ".join(block.split()))


def _escaped(text: str) -> str:
    """Text as roff takes it."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), "utf-8")
