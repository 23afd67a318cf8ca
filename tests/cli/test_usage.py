"""What is said to who types a command that is none, or leaves something out: it leads on."""

from __future__ import annotations

import shlex

import click
import pytest

from opencoti_patches.cli import COMMANDS, ELSEWHERE, cli

from .conftest import Sandbox


@pytest.mark.parametrize("group", [(), ("abi",), ("pin",)])
def test_a_command_of_commands_alone_shows_its_help(sandbox: Sandbox, group: tuple[str, ...]) -> None:
    ran = sandbox(*group)
    assert (ran.code, ran.out) == (2, "")
    assert ran.screen == sandbox(*group, "--help").out
    told = sandbox("--json", *group)
    assert told.code == 2 and told.json["error"]["message"] == "Missing command"


@pytest.mark.parametrize(
    ("typed", "of"),
    [
        ("split 3 --hunks", "split"),
        ("pin show", "pin show"),
        ("abi diff", "abi diff"),
        ("check --to", "check"),
        ("check --nothing", "check"),
        ("--nothing check", ""),
    ],
)
def test_the_help_that_is_named_is_that_of_the_command(sandbox: Sandbox, typed: str, of: str) -> None:
    ran = sandbox(*shlex.split(typed))
    command = ran.err.partition("hint: see '")[2].partition("'")[0]
    assert ran.code == 2 and command == f"{f'opencoti-patches {of}'.rstrip()} --help"
    assert sandbox(*shlex.split(command)[1:]).out.startswith(command.replace(" --help", "").join(["Usage: ", " ["]))


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_other_tools_call_it_leads_to_a_command_that_there_is(sandbox: Sandbox, name: str) -> None:
    assert name not in COMMANDS
    first, *words = ELSEWHERE[name].split()
    if first.startswith("-"):
        assert sandbox(first).code == 0
        return
    command = cli.get_command(click.Context(cli), first)
    assert command is not None
    known = {o for p in command.params for o in p.opts}
    assert {w for w in words if w.startswith("-")} <= known
    assert (any(isinstance(p, click.Argument) for p in command.params)) or not [w for w in words if w.isupper()]


def test_a_name_of_another_tool_is_answered_with_the_one_here(sandbox: Sandbox) -> None:
    ran = sandbox("push")
    assert ran.code == 2 and "no command 'push'; here it is 'opencoti-patches apply'" in ran.err


@pytest.mark.parametrize(("typed", "meant"), [("chek", "check"), ("Status", "status"), ("repair", ""), ("merge", "")])
def test_a_mistyped_command_is_named_and_no_other(sandbox: Sandbox, typed: str, meant: str) -> None:
    more = f"; did you mean '{meant}'?" if meant else ""
    assert f"no command '{typed}'{more}\n" in sandbox(typed).err
