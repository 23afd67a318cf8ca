"""What the repository around a folder of somebody's says: whether it holds a path, what a path was, when it changed."""

from __future__ import annotations

from pathlib import Path

from opencoti_patches.core.model import decode
from opencoti_patches.doors.git.call import call, environment


def tracked(folder: Path, path: Path) -> bool:
    """Whether the repository around ``folder`` tracks anything at or under ``path``."""
    done = call(["ls-files", "-z", "--", str(path)], env=environment(GIT_LITERAL_PATHSPECS="1"), cwd=folder)
    return done.code == 0 and bool(done.out)


class Tracked:
    """A folder's history in the repository around it, which is only read. Names are relative to the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def commit(self, rev: str) -> str:
        """The commit that a revision names; empty if there is none."""
        return (
            (self._ask("rev-parse", "-q", "--verify", "--end-of-options", f"{rev}^{{commit}}") or b"").decode().strip()
        )

    def content(self, commit: str, name: str) -> bytes | None:
        """A file as a commit has it; None if it has none."""
        return self._ask("cat-file", "blob", f"{commit}:./{name}")

    def changed_before(self, commit: str, name: str, pattern: str) -> str:
        """The parent of the last commit, at or before ``commit``, that changed a line of the file that matches; empty
        if there is none."""
        args = ("-n1", "--format=%P", f"-G{pattern}", "--no-ext-diff", "--no-textconv", "--no-show-signature")
        return (self._ask("log", *args, commit, "--", name) or b"").decode().partition(" ")[0].strip()

    def days(self) -> dict[str, str]:
        """By file below the folder, the day (YYYY-MM-DD) of the last commit that changed it. Empty in a shallow clone,
        where all would have the day of the oldest commit there is."""
        if (self._ask("rev-parse", "--is-shallow-repository") or b"").strip() != b"false":
            return {}
        args = ("--format=%x01%cs", "--name-only", "--relative", "-z", "--no-renames", "--no-show-signature")
        found: dict[str, str] = {}
        for commit in (self._ask("log", *args, "--", ".") or b"").split(b"\x01")[1:]:
            day, *names = commit.split(b"\0")
            for name in names:
                found.setdefault(decode(name.lstrip(b"\n")), day.decode())
        return found

    def _ask(self, *args: str) -> bytes | None:
        done = call(args, env=environment(GIT_NO_LAZY_FETCH="1"), cwd=self._folder)  # a partial clone asks no server
        return done.out if done.code == 0 else None
