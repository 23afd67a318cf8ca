"""What every command shares: the global options after the command too, the project, the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import update_wrapper
from pathlib import Path
from typing import Any, NamedTuple

import click

from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Config, load
from opencoti_patches.core.errors import Exit, OpencotiError, UsageError
from opencoti_patches.core.model import Report, Series, TreeId
from opencoti_patches.core.progress import Progress, Silent
from opencoti_patches.core.shell import quoted, word
from opencoti_patches.report.render import FORMATS, render
from opencoti_patches.report.there import run_there
from opencoti_patches.report.wrapping import wrapped
from opencoti_patches.series import order

FUNCTION = Callable[..., Any]
BASE = "base"  # how people name the tree before the first patch


class Run(NamedTuple):
    """One run of the program: where, how loud, in what form. The project is read when first needed."""

    directory: Path
    quiet: bool = False
    verbose: bool = False
    format: str = "text"
    given: str = ""  # with -C, as it was typed

    def config(self) -> Config:
        """The project's configuration."""
        return load(self.directory)

    def progress(self) -> Progress:
        """Where long work tells how far it is."""
        if self.quiet:
            return Silent()
        from opencoti_patches.report.progress import Lines

        return Lines()

    def answer(self, report: Report, ctx: click.Context) -> None:
        """Print the report and end with its exit code."""
        text = render(report, self.format, self.given)
        if text:  # what machines read is UTF-8, whatever the locale
            click.echo(text if self.format == "text" else text.encode("utf-8", "backslashreplace"))
        ctx.exit(Exit.YES if report.ok else Exit.NO)


def options(formats: bool = False) -> Callable[[FUNCTION], FUNCTION]:
    """The global options, also after the command; with ``--format`` where a report has several forms.
    The function gets a ``Run`` first."""

    def wrap(function: FUNCTION) -> FUNCTION:
        def call(**given: Any) -> Any:
            ctx = click.get_current_context()
            outer = ctx.obj or {}
            as_json = given.pop("as_json") or outer.get("as_json", False)
            form = given.pop("format_", None)
            if as_json and form not in (None, "json"):
                raise click.UsageError(f"--json and --format {form} do not go together")
            directory = given.pop("directory") or outer.get("directory")
            run = Run(
                directory=_directory(directory),
                given=directory or "",
                quiet=given.pop("quiet") or outer.get("quiet", False),
                verbose=given.pop("verbose") or outer.get("verbose", False),
                format="json" if as_json else form or "text",
            )
            return function(run, **given)

        update_wrapper(call, function)
        call = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")(call)
        if formats:
            call = click.option("--format", "format_", type=click.Choice(FORMATS), help="How to print the report.")(
                call
            )
        call = click.option("-v", "--verbose", is_flag=True, help="More detail.")(call)
        call = click.option("-q", "--quiet", is_flag=True, help="Only the answer and errors: no progress.")(call)
        return click.option("-C", "directory", metavar="DIR", type=click.Path(), help="Run as if started in DIR.")(call)

    return wrap


def example(text: str) -> str:
    """An epilog with one example a line, as it is."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in text.strip().splitlines())


def _directory(given: str | None) -> Path:
    folder = Path(given or ".")
    if not folder.is_dir():
        raise UsageError(
            "no-folder",
            f"-C {given}: there is no such folder",
            "point -C at the folder that holds opencoti.toml, or at one below it",
        )
    return folder.resolve()


class Project(NamedTuple):
    """A project with its base at hand."""

    config: Config
    store: Store
    base: TreeId
    series: Series


def open_project(run: Run, before: Callable[[Config, Store], None] | None = None) -> Project:
    """Read the configuration and the series, and have the base (fetched the first time, after ``before``)."""
    from opencoti_patches.base.bootstrap import base_if_ready

    config = run.config()
    store = Store.of(config.root)
    if store.journal.exists():  # a killed run had decided to change patch files: finish that first
        with store.writing("recovery", config.patches):
            pass
    series = order.load(config.patches, config.strip)
    base = base_if_ready(config, store)
    if base is None:
        from opencoti_patches.base.bootstrap import ensure_base

        with store.writing(click.get_current_context().info_name or "bootstrap", config.patches):
            if before:
                before(config, store)
            base = ensure_base(config, store, progress=run.progress())
    return Project(config=config, store=store, base=base, series=series)


def reread(project: Project) -> Project:
    """The project with its series read again: call it once the lock is held."""
    series = order.load(project.config.patches, project.config.strip)
    return Project(config=project.config, store=project.store, base=project.base, series=series)


def stopped(config: Config, store: Store, series: Series) -> list[str]:
    """What to say where a bump is under way that does not go on with ``series`` as it is now."""
    if not store.session.exists():
        return []
    from opencoti_patches.carry import session as sessions

    session = sessions.load(store)
    if session is None or not sessions.changed(session, config, series):
        return []
    return [
        f"a bump to {session.value} is under way, and does not go on with other patches: 'opencoti-patches undo' "
        "before 'opencoti-patches bump --continue', or 'opencoti-patches bump --abort' and start it again"
    ]


def say_stopped(run: Run, config: Config, store: Store) -> None:
    """Say so on stderr, once patches were written."""
    if not run.quiet and store.session.exists():
        for line in stopped(config, store, order.load(config.patches, config.strip)):
            click.echo("\n".join(wrapped(f"note: {run_there(line, run.given)}", 0, 2)), err=True)


_CHECK_IT = "opencoti-patches check  # or opencoti-patches undo, which takes it back"
_GLOBAL = ("directory", "quiet", "verbose", "as_json", "format_")


def again(*more: str, without: str = "", **instead: str) -> str:
    """The command line that was given, with ``more`` behind it, ``without`` one option, and others ``instead``."""
    ctx = click.get_current_context()
    words = ["opencoti-patches", ctx.info_name or ""]
    for p in ctx.command.params:
        value = instead.get(p.name or "", ctx.params.get(p.name or ""))
        if not value or p.name in (*_GLOBAL, without):
            continue
        values = value if isinstance(value, tuple) else (value,)
        as_word = quoted if isinstance(p, click.Option) else word
        for one in values:
            words += [p.opts[0]] * isinstance(p, click.Option) + [as_word(str(one))] * (value is not True)
    return " ".join([*words, *more])


def look_at_it(config: Config, adapted: bool) -> list[str]:
    """What to run once patches were written: git has taken them, but no compiler has seen what was ``adapted``."""
    if not adapted:
        return [_CHECK_IT]
    why = "no compiler has seen what was adapted"
    profile = next(iter(config.build), None)
    return [
        _CHECK_IT,
        f"opencoti-patches build {word(profile)}  # {why}"
        if profile
        else f"opencoti-patches apply  # and build it: {why}",
    ]


def guard_name(option: str, wanted: str) -> None:
    """Errors: UsageError ``bad-name`` if no patch can be called so, with the command line for one that can."""
    from opencoti_patches.series.numbering import parted, possible

    try:
        parted(wanted)
    except UsageError as e:
        right = again(**{option: close}) if (close := possible(wanted)) else ""
        raise UsageError("bad-name", e.message, right if right.isprintable() and right else e.hint) from None


def within(config: Config, path: Path) -> str:
    """A path as people type it from the project's folder."""
    return str(path.relative_to(config.root)) if path.is_relative_to(config.root) else str(path)


def completing(names: Callable[[Config], Iterable[str]]) -> Callable[..., list[str]]:
    """What click asks for the shell's completion: those of ``names`` that hold what was typed."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        given = ctx.params.get("directory") or ctx.find_root().params.get("directory")
        try:
            return [n for n in names(load(Path(given or "."))) if incomplete in n]
        except (OpencotiError, OSError):  # a broken project completes nothing; it must not print here
            return []

    return complete


def _left_out(config: Config) -> Iterable[str]:
    from opencoti_patches.series.disabled import left_out

    return left_out(order.load(config.patches, config.strip))


def _profiles(config: Config) -> Iterable[str]:
    from opencoti_patches.core.profile import profiles_of

    return profiles_of(config)


complete_patch = completing(lambda c: [e.name for e in order.load(c.patches, c.strip).entries])
complete_disabled = completing(_left_out)
complete_any = completing(lambda c: [*(e.name for e in order.load(c.patches, c.strip).entries), *_left_out(c)])
complete_profile = completing(_profiles)
