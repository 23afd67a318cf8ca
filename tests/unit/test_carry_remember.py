"""What a person changed in a merge, taken down and put in again: any change, any text."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from conftest import examples
from hypothesis import given

from opencoti_patches.carry import remember, resolutions
from opencoti_patches.carry.model import Marked
from opencoti_patches.carry.remember import Fitted
from opencoti_patches.carry.resolutions import BEGIN, END, Edit, Resolution
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import PatchName, encode

NAME = PatchName("0001-x.patch")
CONFLICT = [BEGIN, "theirs\n", "||||||| before\n", "old\n", "=======\n", "ours\n", END]
LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "}\n", "\n", "é\udcff\n"]), max_size=12)


def merge(lines: list[str]) -> Marked:
    """A merge of one file with a conflict, as it is laid out for a person."""
    shown = [
        {END: f">>>>>>> {NAME}\n", "||||||| before\n": f"||||||| before {NAME}\n"}.get(line, line) for line in lines
    ]
    return Marked(files={"f": ("100644", encode("".join(shown)))}, conflicts=("f",))


@given(LINES, LINES, LINES, LINES, LINES, LINES)
@examples(300)
def test_any_change_of_a_merge_is_put_in_again(
    head: list[str], middle: list[str], tail: list[str], head2: list[str], middle2: list[str], tail2: list[str]
) -> None:
    before = [*head, *CONFLICT, *middle, *CONFLICT[:1], *CONFLICT[2:], *tail]
    after = [*head2, "theirs and ours\n", *middle2, "both\n", *tail2]
    edits = tuple(Edit("f", found, put) for found, put in remember._edits(before, after))
    known = resolutions.parse(resolutions.text([Resolution("p", "v", edits)]))
    fitted = remember.fit(known, merge(before), NAME, lambda _: None)
    assert isinstance(fitted, Fitted), fitted
    assert fitted.files == {"f": ("100644", encode("".join(after)))}
    assert fitted.used == known
    moved = ["something\n", "new\n", *before, "more\n"]
    if all(e.conflict for e in edits):
        again = remember.fit(known, merge(moved), NAME, lambda _: None)
        assert isinstance(again, Fitted)
        assert again.files == {"f": ("100644", encode("".join(["something\n", "new\n", *after, "more\n"])))}


def test_a_conflict_that_stands_there_twice_is_told_apart() -> None:
    before = ["one\n", *CONFLICT, "two\n", *CONFLICT, "three\n"]
    after = ["one\n", "x\n", "two\n", "y\n", "three\n"]
    edits = tuple(Edit("f", found, put) for found, put in remember._edits(before, after))
    fitted = remember.fit([Resolution("p", "v", edits)], merge(before), NAME, lambda _: None)
    assert isinstance(fitted, Fitted)
    assert fitted.files["f"] == ("100644", encode("".join(after)))


def test_what_one_edit_puts_in_does_not_hide_the_place_of_another() -> None:
    before = ["a\n", "a\n", "a\n", *CONFLICT]
    after = ["both\n", "a\n", "a\n", "a\n", "a\n"]
    edits = tuple(Edit("f", found, put) for found, put in remember._edits(before, after))
    fitted = remember.fit([Resolution("p", "v", edits)], merge(before), NAME, lambda _: None)
    assert isinstance(fitted, Fitted)
    assert fitted.files["f"] == ("100644", encode("".join(after)))


def test_two_that_share_a_part_of_a_place_are_two_ways() -> None:
    wide = Resolution("p", "v", (Edit("f", ("a\n", *CONFLICT), ("a\n", "x\n")),))
    known = (wide, Resolution("p", "w", (Edit("f", tuple(CONFLICT), ("x\n",)),)))
    said = remember.fit(known, merge(["a\n", *CONFLICT]), NAME, lambda _: None)
    assert said == "resolutions.jsonl resolves the conflict in f in two ways"


def test_a_part_of_the_conflicts_is_not_enough() -> None:
    known = Resolution("p", "v", (Edit("f", tuple(CONFLICT), ("x\n",)),))
    other = [*CONFLICT[:1], "theirs too\n", *CONFLICT[2:]]
    assert remember.fit([known], merge([*CONFLICT, *other]), NAME, lambda _: None) is None
    both = (known, Resolution("p", "w", (Edit("f", tuple(other), ("y\n",)),)))
    fitted = remember.fit(both, merge([*CONFLICT, *other]), NAME, lambda _: None)
    assert isinstance(fitted, Fitted)
    assert (fitted.files["f"], fitted.used) == (("100644", b"x\ny\n"), both)


def test_a_conflict_without_markers_is_not_known() -> None:
    known = Resolution("p", "v", (Edit("f", tuple(CONFLICT), ("x\n",)),))
    binary = Marked(files=dict(merge(CONFLICT).files), conflicts=("f", "i.png"))
    assert remember.fit([known], binary, NAME, lambda _: ("100644", b"\0")) is None


def test_of_two_for_one_conflict_the_new_one_stays() -> None:
    old = Resolution("p", "v", (Edit("f", tuple(CONFLICT), ("x\n",)), Edit("g", tuple(CONFLICT), ("x\n",))))
    new = Resolution("p", "w", (Edit("f", tuple(CONFLICT), ("y\n",)),))
    kept = resolutions.with_new([old], [new])
    assert kept == (old._replace(edits=old.edits[1:]), new)
    assert resolutions.with_new([new], [old]) == (old,)


EDIT = '{"path": "f", "found": ["<<<<<<< upstream\\n"], "put": []}'


@pytest.mark.parametrize(
    "edit",
    [
        EDIT.replace('"f"', '"a/../../f"'),
        EDIT.replace('"f"', '"/f"'),
        EDIT.replace('"f"', '".git/hooks/post-checkout"'),
        EDIT.replace('"f"', '"a/.GIT /config"'),
        EDIT.replace('"f"', "7"),
        EDIT.replace("[]", '["a"'),
        EDIT.replace("[]", '["two\\nlines\\n"]'),
        EDIT.replace("[]", '["no end", "x\\n"]'),
        EDIT.replace("[]", "[7]"),
        EDIT.replace("[]", '"x"'),
        EDIT.replace("[]}", '[], "mode": "100644"}'),
        EDIT.replace("[]}", '[], "run": "x"}'),
        EDIT + ', {"path": "g", "found": null, "put": ["x\\n"], "mode": "120000"}',
        EDIT + ', {"path": "g", "found": null, "put": null, "mode": "100644"}',
        EDIT + ', {"path": "g", "found": [], "put": ["x\\n"]}',
    ],
)
def test_what_is_no_edit_is_refused(edit: str) -> None:
    good = f'{{"patch": "p", "to": "v", "edits": [{EDIT}]}}'
    assert resolutions.text(resolutions.parse(good.encode())) == good.encode() + b"\n"
    with pytest.raises(UsageError) as refused:
        resolutions.parse(f'\n{good}\n{{"patch": "p", "to": "v", "edits": [{edit}]}}\n'.encode())
    assert refused.value.code == "bad-resolutions"
    assert refused.value.message.startswith("resolutions.jsonl line 3 ")
