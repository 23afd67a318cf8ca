"""``package``: a release folder from finished builds."""

from __future__ import annotations

from pathlib import Path

import click

from opencoti_patches.commands.common import Run, example, open_project, options, reread


@click.command(
    epilog=example(
        """
opencoti-patches package --component engine --out out/engine
opencoti-patches package --channel release --out out/1 --since out/0
"""
    )
)
@click.option("--component", "components", metavar="NAME", multiple=True, help="What to pack; may be given again.")
@click.option("--channel", type=click.Choice(["dev", "release"]), default="dev", show_default=True)
@click.option("--out", metavar="DIR", required=True, type=click.Path(path_type=Path), help="The release's folder.")
@click.option("--since", metavar="INDEX", type=click.Path(path_type=Path), help="The release before: for the notes.")
@click.option("--unsmoked", is_flag=True, help="Release what no smoke run passed, and record that.")
@click.option("--key", metavar="FILE", type=click.Path(path_type=Path), help="Sign with this minisign secret key.")
@click.option("--repo", metavar="REPO", default="", help="Where it is published, in place of [release] repo.")
@click.option("--version", metavar="DIGITS", default="", help="13 digits; default: the date in milliseconds.")
@click.option("--tag", metavar="TAG", default="", help="Default: the version behind 'v' or 'dev-'.")
@click.option("--rev", metavar="COMMIT", default="", help="The project's commit, where it is in no repository.")
@options()
@click.pass_context
def command(
    ctx: click.Context,
    run: Run,
    components: tuple[str, ...],
    channel: str,
    out: Path,
    since: Path | None,
    unsmoked: bool,
    key: Path | None,
    repo: str,
    version: str,
    tag: str,
    rev: str,
) -> None:
    """Pack finished builds with all that proves what they are: pin files and an index, licence texts, the patches,
    the patched source, sums, an SBOM and provenance.

    It refuses what was not verified: a series that is not the lock's, a build that is stale or changed, components
    whose interface of ggml differs, a missing licence. The same commit and builds give the same bytes; the date is
    that of the commit, or SOURCE_DATE_EPOCH. A version is cut once: a folder with other bytes of it stays as it is.
    """
    from opencoti_patches.release.package import package
    from opencoti_patches.release.prepare import Wanted, prepare
    from opencoti_patches.report.released import report

    wanted = Wanted(
        components=components,
        channel=channel,
        version=version,
        tag=tag,
        repo=repo,
        rev=rev,
        since=run.directory / since if since else None,
        unsmoked=unsmoked,
        key=run.directory / key if key else None,
    )
    project = open_project(run)
    config, store, progress = project.config, project.store, run.progress()
    with store.writing("package", config.patches):
        project = reread(project)
        job = prepare(config, project.series, project.base, wanted, store, progress=progress)
        released = package(job, run.directory / out, store, progress=progress)
    run.answer(report(released, run.directory, verbose=run.verbose), ctx)
