"""The search itself: every place of a bad patch, every set of trees that cannot be tested."""

from __future__ import annotations

from itertools import chain, combinations

import pytest

from opencoti_patches.core.model import TreeId
from opencoti_patches.core.progress import Silent
from opencoti_patches.smoke.bisect import Bisected, Tried, bisect


def searched(low: int, high: int, bad: int, skipped: tuple[int, ...] = ()) -> Bisected:
    """The search where trees from ``bad`` on fail."""

    def probe(at: int) -> Tried:
        return Tried(TreeId(f"{at:040}"), "skip" if at in skipped else "fail" if at >= bad else "pass")

    return bisect(low, high, probe, progress=Silent())


@pytest.mark.parametrize("count", range(1, 40))
def test_it_finds_every_patch_in_as_few_steps_as_halving_takes(count: int) -> None:
    for bad in range(1, count + 1):
        found = searched(0, count, bad)
        assert (found.first, found.between) == (bad, ())
        assert len(found.steps) <= 2 + (count - 1).bit_length()


def test_with_skips_the_bad_patch_is_always_among_those_named() -> None:
    low, high = 3, 10
    inner = range(low + 1, high)
    for skipped in chain.from_iterable(combinations(inner, n) for n in range(len(inner) + 1)):
        for bad in range(low + 1, high + 1):
            found = searched(low, high, bad, skipped)
            if found.first:
                assert found.first == bad
                assert bad - 1 not in skipped
                assert bad not in skipped
            else:
                assert found.between[0] <= bad <= found.between[-1]
                assert set(found.between[:-1]) <= set(skipped)  # no tree that can be tested is left
            tried = [s.at for s in found.steps]
            assert len(tried) == len(set(tried))


@pytest.mark.parametrize(("bad", "skipped"), [(3, ()), (11, ()), (5, (3,)), (5, (10,))])
def test_ends_that_are_not_proven_end_it(bad: int, skipped: tuple[int, ...]) -> None:
    found = searched(3, 10, bad, skipped)
    assert (found.first, found.between) == (0, ())
    assert found.why
    assert len(found.steps) <= 2
