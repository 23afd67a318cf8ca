"""A carry that is certain stays in its block, on drawn upstreams of indented code: the parser of the language judges."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from conftest import SLOWER, examples
from e2e.one_file import carried, contents
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.over import Conflict
from opencoti_patches.plan.replay import lines_of, put
from opencoti_patches.series.parse import parse

__all__ = ["contents"]

OURS = "ours_go(9)"
STAYS = "enter"


@dataclass
class Block:
    """A statement, and what it holds if it is the head of a block."""

    text: str
    inner: list[Block] | None = None


def code(blocks: list[Block], deep: int = 1) -> str:
    """The statements as they are written."""
    rows = []
    for b in blocks:
        rows.append("    " * deep + b.text + "\n")
        rows += [code(b.inner, deep + 1)] if b.inner is not None else []
    return "".join(rows)


def file(blocks: list[Block]) -> str:
    return f"def f(a):\n{code(blocks)}\n\ndef g(a):\n    end(a)\n"


def lists(blocks: list[Block]) -> Iterator[list[Block]]:
    """The statements of every block, outer ones first."""
    yield blocks
    for b in blocks:
        if b.inner is not None:
            yield from lists(b.inner)


def copied(blocks: list[Block]) -> list[Block]:
    return [Block(b.text, None if b.inner is None else copied(b.inner)) for b in blocks]


@st.composite
def bodies(draw: st.DrawFn, deep: int = 0, names: Iterator[int] | None = None) -> list[Block]:
    """Statements of which no two are the same. The first one of a block stays: both sides may take all others out."""
    names = names or iter(range(1, 1000))
    found = [Block(f"{STAYS}_{next(names)}(a)")]
    for _ in range(draw(st.integers(1, 4 if deep else 6))):
        n = next(names)
        if deep < 2 and draw(st.integers(0, 2)) == 0:
            head = draw(st.sampled_from(["if ask_{}(a):", "for x_{} in a:", "while wait_{}(a):"])).format(n)
            found.append(Block(head, draw(bodies(deep + 1, names))))
        else:
            found.append(Block(f"{draw(st.sampled_from(['load', 'store', 'trace']))}_{n}(a, {n % 7})"))
    return found


def edited(draw: st.DrawFn, blocks: list[Block], number: int) -> None:
    """One edit of upstream's: a statement put in, taken out, or changed; some of a block put into one of their own."""
    some = draw(st.sampled_from(list(lists(blocks))))
    at = draw(st.integers(0, len(some) - 1))
    kind = draw(st.sampled_from(["put", "end", "take", "change", "wrap", "block"]))
    if kind == "put":
        some.insert(at, Block(f"up_{number}(a)"))
    elif kind == "end":
        some.append(Block(f"up_{number}(a)"))
    elif kind == "take":
        some[at : at + 1] = [b for b in some[at : at + 1] if b.text.startswith((STAYS, "if up"))]
    elif kind == "change" and some[at].inner is None:
        some[at].text = some[at].text.replace(")", f", {number})")
    elif kind == "wrap":
        till = draw(st.integers(at + 1, len(some)))
        some[at:till] = [Block(f"if up_{number}(a):", [Block(f"{STAYS}_up_{number}(a)"), *some[at:till]])]
    else:
        some.insert(at, Block(f"if up_{number}(a):", [Block(f"{STAYS}_up_{number}(a)")]))


@st.composite
def upstreams(draw: st.DrawFn, old: list[Block]) -> str:
    new = copied(old)
    for number in range(draw(st.integers(1, 3))):
        edited(draw, new, number)
    return file(new)


def inside(text: str) -> dict[str, tuple[str, ...]]:
    """What every line of a file is inside of, outermost first. Errors: SyntaxError if it is no code."""
    ast.parse(text)
    found, heads = {}, list[tuple[int, str]]()
    for line in text.splitlines():
        if words := line.strip():
            deep = len(line) - len(words)
            heads = [(d, x) for d, x in heads if d < deep]
            found[words] = tuple(x for _, x in heads)
            heads.append((deep, words))
    return found


def certain(contents: Contents, old: str, ours: str, new: str) -> str | None:
    """What a patch makes of the new file, if its carry is certain and there is anything left of it."""
    try:
        found = carried(contents, old, ours, new)
    except Conflict:
        return None
    if found.doubts or not found.raw:
        return None
    lines = lines_of(new.encode())
    (part,) = parse(found.raw, 1).files
    assert all(put(lines, h, 0) for h in part.hunks)
    note(b"".join(lines).decode())
    return b"".join(lines).decode()


@settings(examples(300), derandomize=SLOWER == 1)  # a rare find is for the long run
@given(st.data())
def test_what_is_put_in_stays_in_its_block(contents: Contents, data: st.DataObject) -> None:
    old = data.draw(bodies())
    mine = copied(old)
    some = data.draw(st.sampled_from(list(lists(mine))))
    some.insert(data.draw(st.integers(0, len(some))), Block(OURS))
    before, ours, new = file(old), file(mine), data.draw(upstreams(old))
    note(f"{ours}\n{new}")
    if (after := certain(contents, before, ours, new)) is not None:
        assert inside(ours)[OURS][-1] in inside(after)[OURS]
        assert Counter(after.splitlines()) - Counter(new.splitlines()) == {
            next(x for x in after.splitlines() if OURS in x): 1
        }


@settings(examples(300), derandomize=SLOWER == 1)  # a rare find is for the long run
@given(st.data())
def test_what_is_taken_out_is_gone_and_nothing_else(contents: Contents, data: st.DataObject) -> None:
    old = data.draw(bodies())
    mine = copied(old)
    several = [x for x in lists(mine) if len(x) > 1]
    assume(several)
    some = data.draw(st.sampled_from(several))
    gone = some.pop(data.draw(st.integers(1, len(some) - 1)))
    before, ours, new = file(old), file(mine), data.draw(upstreams(old))
    note(f"{ours}\n{new}")
    if (after := certain(contents, before, ours, new)) is not None:
        were = [x.strip() for x in code([gone]).splitlines()]
        left = inside(after)
        assert not [x for x in were if x in left]
        assert {x: [h for h in heads if h not in were] for x, heads in inside(new).items() if x not in were} == {
            x: list(heads) for x, heads in left.items()
        }
