"""For which CUDA architectures a build is made."""

from __future__ import annotations

import pytest

from opencoti_patches.build.gpu import architectures, settled
from opencoti_patches.core.profile import Profile, profiles


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("9.0\n", ["90-real"]),
        ("8.6\n9.0\n8.6\n", ["86-real", "90-real"]),
        ("12.0\n9.0\n", ["90-real", "120-real"]),
        ("No devices were found\n", []),
        ("[N/A]\n", []),
    ],
)
def test_a_gpu_is_what_it_is_built_for(answer: str, names: list[str]) -> None:
    assert architectures(answer) == names


def test_what_the_profile_names_is_left() -> None:
    cuda = profiles({}, "", "opencoti.toml")["cuda"]
    named = cuda._replace(options=(*cuda.options, "-DCMAKE_CUDA_ARCHITECTURES=75-virtual;80-real"))
    assert settled(named) == named
    assert settled(Profile(name="cpu")) == Profile(name="cpu")
