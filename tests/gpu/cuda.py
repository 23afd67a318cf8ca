#!/usr/bin/env python3
"""Build the CUDA library of this project's series with ``opencoti-patches build``, and load it on a real GPU.

    cuda.py pack DIR                 where the project's store is: the base as an archive, the series, a configuration
    cuda.py run DIR --model GGUF     where the GPU is; asks no network

``run`` proves that the series applies strictly to the very base tree of its lock, builds the host (profile ``cpu``) and
the CUDA library (profile ``cuda``), and smoke-tests them together: the model on the GPU with the KV cache whole, then with
half of its heads in host memory; both answers have to be the same, and what the profile asks for. DIR keeps everything:
a second run builds nothing. Prints "N passed, N failed"; exits with 1 on a failure.

Needs cmake, a C++ compiler, nvcc and cuBLAS, and what this package needs (``pip install -e '.[abi]'``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = "base.tar.xz"
CONFIG = """schema = 1
name = "opencoti-cuda"

[[base.source]]
kind = "archive"
path = "{archive}"
sha256 = "{sha256}"
into = "llama.cpp"
{upstream}

[build.cpu]
options = ["-DBUILD_SHARED_LIBS=ON", "-DGGML_BACKEND_DL=ON", "-DGGML_NATIVE=OFF", "-DLLAMA_BUILD_APP=OFF"]
targets = ["llama-server", "ggml-cpu"]

[smoke]
args = ["-ngl", "99", "-fa", "on", "-c", "2048", "-np", "1"]

[[smoke.prompt]]
text = "The capital of France is"
contains = " Paris"

[[smoke.prompt]]
text = "Once upon a time, in a small village by the sea, there lived an old fisherman who"
max_tokens = 64
"""
HALF = "--kv-gpu-head-frac 0.5"


def tool(folder: Path, *args: str) -> Any:
    """Run the program on the project in ``folder``; its answer in JSON."""
    cmd = [sys.executable, "-m", "opencoti_patches", "-C", str(folder), "--json", *args]
    print("+ opencoti-patches", *args, flush=True)
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    done = subprocess.run(cmd, env=env, stdout=subprocess.PIPE, check=False)
    answer = json.loads(done.stdout)
    if not answer["ok"]:
        print(json.dumps(answer, indent=1), flush=True)
    return answer


def pack(folder: Path) -> None:
    """Write base, series and configuration into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    base = folder / "base"
    tool(ROOT, "bootstrap", str(base))
    with tarfile.open(folder / ARCHIVE, "w:xz") as tar:
        for path in sorted(p for p in (base / "llama.cpp").rglob("*") if not p.is_dir() or p.is_symlink()):
            info = tar.gettarinfo(path, str(path.relative_to(base)))
            info.mtime, info.uid, info.gid, info.uname, info.gname = 1_600_000_000, 0, 0, "", ""
            if info.isreg():
                with path.open("rb") as content:
                    tar.addfile(info, content)
            else:
                tar.addfile(info)
    shutil.rmtree(base)
    shutil.copytree(ROOT / "patches", folder / "patches", dirs_exist_ok=True)
    upstream = re.search(r"(?m)^upstream = .*$", (ROOT / "opencoti.toml").read_text())
    sha256 = hashlib.sha256((folder / ARCHIVE).read_bytes()).hexdigest()
    text = CONFIG.format(archive=ARCHIVE, sha256=sha256, upstream=upstream[0] if upstream else "")
    (folder / "opencoti.toml").write_text(text)
    print(f"{folder / ARCHIVE}: {(folder / ARCHIVE).stat().st_size / 1e6:.1f} MB")


class Checks:
    """What was asked, and how often the answer was yes."""

    def __init__(self) -> None:
        self.passed = self.failed = 0

    def __call__(self, ok: bool, what: str) -> bool:
        """Count a check and print it."""
        self.passed += ok
        self.failed += not ok
        print("ok  " if ok else "FAIL", what, flush=True)
        return ok


def run(folder: Path, model: Path, jobs: int) -> int:
    """Build, load, compare. Returns an exit status."""
    check = Checks()
    series = tool(folder, "check", "--locked", "--no-offset")
    check(series["ok"], f"the series applies to the base of its lock, tip {series['tip']['tree']}")
    for profile in ("cpu", "cuda"):
        built = tool(folder, "build", profile, "-j", str(jobs))
        libraries = [a["path"] for a in built.get("artefacts", ())]
        if not check(
            built["ok"] and libraries != [], f"build {profile}: {built.get('steps')} steps, {len(libraries)} files"
        ):
            return finish(check)
    whole = smoke(folder, model)
    half = smoke(folder, model, "--args", HALF)
    check(whole["ok"], "the host loads the CUDA library and answers, KV cache whole")
    check(half["ok"], f"and with {HALF}")
    texts = [[p["answer"] for p in answer.get("prompts", ())] for answer in (whole, half)]
    print(json.dumps(texts[0], indent=1), flush=True)
    check(texts[0] == texts[1] != [], "both say the same")
    log = Path(half["log"]).read_text("utf-8", "replace")
    check("CUDA0" in log, "the model was on the GPU")
    return finish(check)


def smoke(folder: Path, model: Path, *more: str) -> Any:
    """The host with the CUDA library, smoke-tested."""
    return tool(folder, "smoke", "cpu", "--with", "cuda", "--model", str(model), *more)


def finish(check: Checks) -> int:
    """Say how it went."""
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


def main() -> int:
    """Do what the command line says."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("what", choices=("pack", "run"))
    ap.add_argument("dir", type=lambda p: Path(p).resolve())
    ap.add_argument("--model", type=lambda p: Path(p).resolve())
    ap.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = ap.parse_args()
    if args.what == "pack":
        pack(args.dir)
        return 0
    if args.model is None:
        ap.error("run needs --model")
    return run(args.dir, args.model, args.jobs)


if __name__ == "__main__":
    sys.exit(main())
