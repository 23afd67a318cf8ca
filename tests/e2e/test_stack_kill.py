"""A kill in the middle of a command that rearranges the stack, or of an undo: the patches and the log are both as
before, or both as after."""

from __future__ import annotations

import signal

import pytest

from e2e.scene import Scene
from e2e.test_kill import moments


def steps(scene: Scene) -> list[str]:
    """The commands in the log that are not undone, the newest first."""
    return [s["command"] for s in scene.run("undo", "--list", "--json").json["steps"] if not s["undone"]]


@pytest.mark.parametrize("command", ["drop 1", "move 3 --first", "undo"])
def test_killed_at_the_kth_event(command: str, scene: Scene) -> None:
    args = command.split()
    if command == "undo":
        assert scene.run("drop", "1").code == 0
    scene.keep()
    old, old_steps = scene.patches(), steps(scene)
    whole = scene.run(*args)
    assert whole.code == 0, whole.err
    new, new_steps = scene.patches(), steps(scene)
    assert old != new
    assert old_steps != new_steps
    for at in moments(whole.events, 3):
        scene.back()
        assert scene.run(*args, at=at, strike=signal.SIGKILL).code in (0, -signal.SIGKILL)
        assert scene.run("check").code == 0  # finishes what was decided
        assert (scene.patches(), steps(scene)) in ((old, old_steps), (new, new_steps)), whole.events[at - 1]
        if scene.patches() == old:
            assert scene.run(*args).code == 0
        assert (scene.patches(), steps(scene)) == (new, new_steps)
        if command != "undo":
            assert scene.run("undo").code == 0
            assert scene.patches() == old
