"""The click group. A command's module is imported when it is called, so that ``check`` pays for no other."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from opencoti_patches import __version__
from opencoti_patches.core.errors import Exit, OpencotiError

# name -> one line of help, in the order in which people meet them
COMMANDS = {
    "init": "Make a project: opencoti.toml, an empty series.",
    "bootstrap": "Fetch and verify the base; check out the tree after a patch.",
    "check": "Say whether the series applies strictly, and if not, why.",
    "apply": "Bring a folder to the patched tree.",
    "regen": "Write drifted patches anew by snapshot-diff.",
    "bump": "Carry the whole series to a new upstream.",
    "forecast": "Say at which upstream commit each patch will break.",
    "build": "Build the patched tree.",
    "impact": "Say which artefacts each patch reaches.",
    "smoke": "Start the built server, ask it, compare two builds.",
    "canary": "Ask the built server for codes hidden in long prompts.",
    "bisect": "Find the patch at which something begins to fail.",
    "abi": "Show and compare the binary interface of ggml.",
    "package": "Pack finished builds into a release.",
    "verify": "Say whether a release is what was verified.",
    "pin": "Show and compare pin files and indexes.",
    "doctor": "Say what builds need and what is missing.",
    "new": "Make a patch from a changed folder.",
    "edit": "Bring a folder to the tree after a patch, to change it.",
    "refresh": "Fold a folder's edits into a patch.",
    "absorb": "Fold edits at the tip into the patches that own the lines.",
    "split": "Part a patch in two.",
    "squash": "Make one patch of several.",
    "drop": "Take patches out of the series.",
    "disable": "Leave patches out, and keep their files.",
    "enable": "Put a disabled patch back.",
    "move": "Put a patch elsewhere in the series.",
    "rename": "Give a patch another name.",
    "renumber": "Give the patches numbers that ascend.",
    "deps": "Say which patches each patch stands on.",
    "annotate": "Say which patch owns which line of a file.",
    "find": "Say which patches add or remove a text.",
    "compare": "Compare two series, patch by patch.",
    "upstreamed": "Say what of the series upstream has already.",
    "undo": "Put patches, series and lock back as they were.",
    "redo": "Do again what was undone.",
    "import": "Take patches in: diffs, mails, an mbox, a quilt folder, commits.",
    "export": "Write the series for quilt, git am or as an mbox.",
    "list": "List the series.",
    "show": "Show one patch and what it does.",
    "report": "The series as a page, for a pull request, as data.",
    "status": "Base, lock, drift and tree on one screen.",
    "lock": "Record what was verified in series.lock.",
    "lint": "Check the patch files themselves.",
}

_BARE = getattr(click.exceptions, "NoArgsIsHelpError", ())  # a group alone; click has it from 8.2 on

_LIKE = 0.7  # of a mistyped name: below that a command is another one

# what quilt, StGit and git call it, or people do -> what to run here
ELSEWHERE = {
    "push": "apply",
    "pop": "apply --to PATCH",
    "goto": "apply --to PATCH",
    "top": "status",
    "applied": "list",
    "unapplied": "list",
    "next": "list",
    "previous": "list",
    "series": "list",
    "log": "undo --list",
    "header": "show PATCH",
    "files": "show PATCH",
    "patches": "list -v",
    "blame": "annotate FILE",
    "graph": "deps --format dot",
    "fold": "import FILE",
    "spill": "split PATCH",
    "delete": "drop PATCH",
    "remove": "drop PATCH",
    "rm": "drop PATCH",
    "diff": "show PATCH",
    "grep": "find TEXT",
    "why": "check",
    "explain": "check",
    "revert": "apply --force",
    "hide": "disable PATCH",
    "unhide": "enable PATCH",
    "float": "move PATCH --last",
    "sink": "move PATCH --first",
    "rebase": "bump REV-OR-VERSION",
    "am": "import FILE",
    "mail": "export DIR --format mbox",
    "email": "export DIR --format mbox",
    "format-patch": "export DIR --format git",
    "range-diff": "compare A B",
    "resolved": "bump --continue",
    "continue": "bump --continue",
    "skip": "bump --skip PATCH",
    "abort": "bump --abort",
    "upgrade": "bump REV-OR-VERSION",
    "help": "--help",
    "version": "--version",
}


class LazyGroup(click.Group):
    """Loads ``opencoti_patches.commands.NAME`` for command NAME."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"opencoti_patches.commands.{cmd_name.replace('import', 'import_')}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            said = f"no command '{args[0]}'"
            if there := ELSEWHERE.get(args[0]):
                ctx.fail(f"{said}; here it is 'opencoti-patches {there}'")
            close = get_close_matches(args[0].lower(), COMMANDS, n=1, cutoff=_LIKE)
            ctx.fail(said + (f"; did you mean '{close[0]}'?" if close else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"opencoti-patches {__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="""\b
Examples:
  opencoti-patches init
  opencoti-patches check && opencoti-patches apply
  opencoti-patches bump 0.3.25 --dry-run

Exit codes: 0 yes, 1 no (drift, conflict, findings), 2 usage or configuration, 3 could not (a tool, the network,
the disk, a lock), 130 interrupted.""",
)
@click.option("-C", "directory", metavar="DIR", help="Run as if started in DIR.")
@click.option("-q", "--quiet", is_flag=True, help="Only the answer and errors: no progress.")
@click.option("-v", "--verbose", is_flag=True, help="More detail.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version.")
@click.pass_context
def cli(ctx: click.Context, directory: str | None, quiet: bool, verbose: bool, as_json: bool) -> None:
    """Keep a patch series on top of llama.cpp: prove that it applies, explain why it does not, and write
    drifted patches anew.
    """
    ctx.obj = {"directory": directory, "quiet": quiet, "verbose": verbose, "as_json": as_json}


def main() -> NoReturn:
    """Run, and turn whatever happens into one clear line and the right exit code."""
    args = sys.argv[1:]
    for stream in ("stdin", "stdout", "stderr"):  # closed by whoever started us: None, which nothing can print to
        if getattr(sys, stream) is None:
            setattr(sys, stream, os.fdopen(os.open(os.devnull, os.O_RDWR), "r" if stream == "stdin" else "w"))
    as_json = (
        "--json" in args
        or any(a == "json" and args[i - 1] == "--format" for i, a in enumerate(args))
        or "--format=json" in args
    )
    name = next((a for i, a in enumerate(args) if a in COMMANDS and (i == 0 or args[i - 1] != "-C")), "")
    try:
        code = cli.main(args=args, prog_name="opencoti-patches", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as e:
        sys.exit(e.exit_code)
    except click.UsageError as e:
        said = e.format_message().rstrip(".")
        # an option without its value has no context
        where = e.ctx.command_path if e.ctx else f"opencoti-patches {name}".rstrip()
        if isinstance(e, _BARE):  # what it says is the whole help
            if not as_json:
                click.echo(e.format_message(), err=True)
                sys.exit(Exit.USAGE)
            said = "Missing command"
        _fail(name, as_json, Exit.USAGE, "usage", said, f"see '{where} --help'")
    except click.ClickException as e:
        _fail(
            name,
            as_json,
            Exit.USAGE,
            "usage",
            e.format_message(),
            f"see '{' '.join(filter(None, ('opencoti-patches', name)))} --help'",
        )
    except OpencotiError as e:
        _fail(name, as_json, e.exit, e.code, e.message, e.hint)
    except (KeyboardInterrupt, click.Abort):
        _fail(name, as_json, Exit.INTERRUPTED, "interrupted", "interrupted", "nothing is half written; run it again")
    except BrokenPipeError:  # the reader had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.YES)
    except OSError as e:
        from opencoti_patches.doors.failures import hint_of

        said = f"{e.strerror or e}{f': {e.filename}' if e.filename else ''}"
        _fail(name, as_json, Exit.COULD_NOT, "disk", said, hint_of(e))
    except Exception as e:  # a defect of ours: say so in one line; its trace is there for whoever wants it
        if os.environ.get("OPENCOTI_TRACE"):
            raise
        what = f"{type(e).__name__}: {e}".splitlines()[0][:200]
        _fail(
            name,
            as_json,
            Exit.COULD_NOT,
            "internal",
            f"internal error: {what}",
            "set OPENCOTI_TRACE=1 for the trace, and report it",
        )
    sys.exit(code or 0)


def _given(args: Sequence[str]) -> str:
    """The folder that ``-C`` names, as it was typed; that of the last, which counts."""
    found = ""
    for at, arg in enumerate(args):
        if arg == "-C":
            found = "".join(args[at + 1 : at + 2])
        elif arg.startswith("-C"):
            found = arg[2:]
    return found


def _fail(command: str, as_json: bool, code: Exit, word: str, message: str, hint: str) -> NoReturn:
    from opencoti_patches.core.model import printable
    from opencoti_patches.report.there import run_there

    message = printable(message)  # it may quote a file: one line stays one
    hint = run_there(hint, _given(sys.argv[1:]))
    if as_json:
        error: dict[str, Any] = {"code": word, "message": message, "hint": hint}
        try:
            click.echo(json.dumps({"schema": 1, "command": command, "ok": False, "error": error}))
            sys.stdout.flush()
        except OSError:  # nobody can be told in this way any more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            click.echo(f"error: {message}", err=True)
    else:
        from opencoti_patches.report.wrapping import wrapped

        said, *commands = hint.split("\n")
        for line in (f"error: {message}", f"hint: {said}" if hint else ""):
            for row in wrapped(line, 0, 2) if line else ():
                click.echo(row, err=True)
        for command in commands:  # each to be pasted
            click.echo(f"    {command}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
