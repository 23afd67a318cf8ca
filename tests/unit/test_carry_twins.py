"""No carry takes a hunk into another function without a word: of functions with the same body, or nearly so."""

from __future__ import annotations

import re

from conftest import examples
from e2e.carried import BODY, SURE, Ground, Lines, function, ground, patch_of
from hypothesis import given
from hypothesis import strategies as st

__all__ = ["ground"]


def home_of(lines: Lines, mark: str) -> str:
    """The function in which a line stands."""
    at = next(i for i, line in enumerate(lines) if mark in line)
    return next((m[1] for line in lines[at::-1] if (m := re.match(r"int (\w+)\(", line))), "")


@st.composite
def twins(draw: st.DrawFn) -> tuple[Lines, Lines, Lines]:
    """A file of functions with the same body or nearly so, one of them changed by us; and upstream's, which
    edits that one, and takes in, out and about others."""
    names = ["alpha", "beta", "gamma"][: draw(st.integers(1, 3))]
    target = draw(st.sampled_from(names))
    bodies = {n: list(BODY) for n in names}
    at = draw(st.integers(0, len(BODY)))
    ours = {n: list(b) for n, b in bodies.items()}
    if draw(st.booleans()) and at < len(BODY):
        ours[target][at] = "    OURS(x);\n"
    else:
        ours[target].insert(at, "    OURS(x);\n")
    theirs = {n: list(b) for n, b in bodies.items()}
    for _ in range(draw(st.integers(0, 2))):
        i = draw(st.integers(0, len(theirs[target]) - 1)) if theirs[target] else 0
        kind = draw(st.sampled_from(["out", "word", "in"]))
        if kind == "out":
            del theirs[target][i : i + 1]
        elif kind == "in":
            theirs[target].insert(i, f"    theirs({i});\n")
        elif theirs[target]:
            theirs[target][i] = theirs[target][i].replace("x", "xx")
    order = draw(st.permutations(names)) if draw(st.booleans()) else names
    new = [(n, theirs[n]) for n in order]
    for planted in draw(st.lists(st.sampled_from(["delta", "omega"]), unique=True, max_size=2)):
        new.insert(draw(st.integers(0, len(new))), (planted, list(BODY)))
    if draw(st.booleans()) and len(new) > 1:
        new = [(n, b) for n, b in new if n != target]
    made = (list(bodies.items()), list(ours.items()), new)
    old, after, now = ([line for n, b in rows for line in function(n, b)] for rows in made)
    return old, after, now


@examples(60)
@given(drawn=twins())
def test_a_twin_never_takes_a_hunk_away_in_silence(ground: Ground, drawn: tuple[Lines, Lines, Lines]) -> None:
    old, ours, new = drawn
    row = ground.carry(patch_of(old, ours), old, new)
    if row.status not in SURE:
        return
    after = ground.applied(patch_of(old, ours) if row.raw is None else row.raw, new)
    assert home_of(after, "OURS") == home_of(ours, "OURS")


def headed(patch: bytes, old: Lines) -> bytes:
    """The patch with the function of each hunk behind its ``@@``, as git writes it."""

    def named(m: re.Match[bytes]) -> bytes:
        before = [line for line in old[: int(m[1]) - 1] if line.startswith("int ")]
        return m[0] + (f" {before[-1].rstrip()}" if before else "").encode()

    return re.sub(rb"(?m)^@@ -(\d+)\S* \S+ @@", named, patch)


@examples(150)
@given(drawn=twins())
def test_nor_without_the_old_base(ground: Ground, drawn: tuple[Lines, Lines, Lines]) -> None:
    """Of a patch that names no contents, too, every added line comes along, and another function is named."""
    old, ours, new = drawn
    patch = headed(patch_of(old, ours), old)
    row = ground.regenerate(patch, new)
    if row.status in ("conflict", "kept"):  # kept: git's verdict, at the very line
        return
    after = ground.applied(row.raw or patch, new)
    assert sum("OURS(" in x for x in after) == 1
    if home_of(after, "OURS") != home_of(ours, "OURS"):
        assert row.status == "adapted", "nobody would look"
        assert f"{home_of(ours, 'OURS')}(" in row.reason, "the function that it was made in"
