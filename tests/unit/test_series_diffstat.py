"""The diffstat of a mail follows its patch: to the letter what git writes, and nothing else is touched."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from opencoti_patches.series.diffstat import follow, is_gone
from opencoti_patches.series.parse import parse

NAMES = [
    "f",
    "src/a.c",
    "ggml/src/ggml-cuda/template-instances/fattn-mma-f16-instance-ncols1_16-ncols2_1.cu",
    "a-file-with-a-name-that-is-so-long-that-no-slash-is-left-in-what-is-shown-of-it-at-last.c",
    "docs/x.md",
    "tools/server/webui/src/lib/components/app/chat/ChatMessages/ChatMessageActions.svelte",
]


def git(folder: Path, *args: str) -> bytes:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "core.abbrev=12"]
    return subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "empty")
    return tmp_path


def commit(folder: Path, chance: random.Random, subject: str) -> None:
    for name in chance.sample(NAMES, chance.randint(1, len(NAMES))):
        file = folder / name
        if file.exists() and chance.random() < 0.2:
            file.unlink()
            continue
        lines = file.read_text().splitlines() if file.exists() else []
        for _ in range(chance.choice([0, 1, 2, 7, 30])):
            lines[(at := chance.randint(0, len(lines))) : at + chance.choice([0, 1, 5])] = ["x"] * chance.choice(
                [0, 1, 9]
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{x} {chance.random()}\n" for x in lines))
        file.chmod(chance.choice([0o644, 0o644, 0o755]))
    (folder / "always").write_text(subject)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", subject, "-m", "Why.")


def mail(folder: Path, rev: str, *options: str) -> bytes:
    return git(folder, "format-patch", "-1", "--stdout", "--no-renames", "--zero-commit", *options, rev)


@pytest.mark.parametrize("seed", range(5))
def test_it_becomes_what_git_writes(repository: Path, seed: int) -> None:
    chance = random.Random(seed)
    for n in range(3):
        commit(repository, chance, f"change {n}")
    usual = [mail(repository, f"HEAD~{n}") for n in range(3)]
    wide = [mail(repository, f"HEAD~{n}", "--stat=80", "--summary") for n in range(3)]
    told = [i for i in range(3) if usual[i] != wide[i]]  # a short one looks the same in any width
    for mails, begun in ((usual, range(3)), (wide, told)):
        for old in (mails[i] for i in begun):
            for new in mails:
                header, wanted = parse(old).header, parse(new).header.partition(b"\n---\n")[2]
                followed = b"".join((*header.partition(b"\n---\n")[:2], wanted))
                assert follow(header, old, new) == followed
                assert follow(followed, old, new) == followed  # once more: it is right already


def test_what_is_not_gits_to_the_letter_is_taken_out_and_the_rest_stays(repository: Path) -> None:
    chance = random.Random(1)
    for n in range(2):
        commit(repository, chance, f"change {n}")
    old, new = mail(repository, "HEAD~1"), mail(repository, "HEAD")
    header = parse(old).header
    top, mark, stat = header.partition(b"\n---\n")
    notes = b"v2: a | b, 1 file changed\n rebased | 3 times\n\n"
    for other in (stat.replace(b"| ", b"|    "), stat.replace(b"+\n", b"++\n", 1), stat.replace(b" |", b"/x |", 1)):
        above = top + mark + notes + other
        assert follow(above, old, new) == top + mark + notes + b"\n"
        assert is_gone(above, top + mark + notes + b"\n")
        assert follow(above, old, old) == above
    assert follow(top + mark + notes + stat, old, new) == top + mark + notes + parse(new).header.partition(mark)[2]
    for bare in (top + mark, top + b"\n\n", b"", b" f | 2 +-\n", header.replace(b"\n", b"\r\n")):
        assert follow(bare, old, new) == bare


def test_a_moved_or_binary_file_keeps_a_diffstat_that_is_still_right(repository: Path) -> None:
    (repository / "b").write_bytes(b"\0\1")
    (repository / "old").write_text("a\nb\nc\nd\ne\nf\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "one")
    (repository / "b").write_bytes(b"\0\2")
    git(repository, "mv", "old", "new")
    git(repository, "commit", "-qam", "two")
    raw = git(repository, "format-patch", "-1", "--stdout", "-M", "--binary")
    header = parse(raw).header
    assert b" rename old => new (100%)\n" in header
    assert follow(header, raw, raw.replace(b"similarity index 100%", b"similarity index 99%")) == header
    changed = raw.replace(b"rename from old", b"rename from older").replace(b"a/old ", b"a/older ")
    assert follow(header, raw, changed) == header.partition(b"\n---\n")[0] + b"\n---\n\n"
