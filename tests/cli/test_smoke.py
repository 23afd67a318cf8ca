"""``smoke`` and ``canary`` on real processes and real ports: a toy server that behaves, and every way in which it may not."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cli.documents import checked
from cli.served import Served, project, served, state

if TYPE_CHECKING:
    from conftest import Answer, Cli

__all__ = ["project"]
pytestmark = pytest.mark.skipif(not shutil.which("cmake"), reason="needs cmake")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two patches, built."""
    root = served(tmp_path_factory.mktemp("served") / "p", [state(), state(1), state(2)])
    run = [sys.executable, "-m", "opencoti_patches", "-C", str(root), "build", "cpu"]
    subprocess.run(run, check=True, capture_output=True)
    return root


def smoked(cli: Cli, root: Path, *args: str) -> Answer:
    """One run on the toy model."""
    return cli("-C", root, "smoke", "cpu", "--model", "toy.gguf", *args)


def gone(number: int) -> bool:
    """Whether a process is there no more."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return "zombie" in Path(f"/proc/{number}/status").read_text() if Path("/proc").is_dir() else False


def test_a_server_that_answers_is_on_record(cli: Cli, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("LLAMA_ARG_HOST", "0.0.0.0")
    ran = smoked(cli, built, "--args", "--host 0.0.0.0 --alias 'two words'", "--json")
    document = checked(ran.out, ran.code)
    assert ran.code == 0, ran.out
    assert [(p["answer"], p["tokens"]) for p in document["prompts"]] == [(" Paris", 1), (" Paris", 1)]
    log = Path(document["log"]).read_text()
    assert "host 127.0.0.1 proxies [] " in log
    assert f"home {built}/.opencoti/" in log
    assert "more None own\n" in log
    assert "'two words'" in log
    kept = json.loads(Path(document["record"]).read_text())
    raw = (Path(document["record"]).parent / "manifest.json").read_bytes()
    manifest = json.loads(raw)
    whole = hashlib.sha256(raw).hexdigest()
    assert (kept["ok"], kept["manifest"], kept["model"]) == (True, whole, document["model"]["sha256"])
    assert kept["server"] == {k: manifest["artefacts"][1][k] for k in ("path", "sha256")}
    assert [p["answer"] for p in kept["prompts"]] == [" Paris", " Paris"]
    said = smoked(cli, built).out
    assert said.startswith("cpu: bin/llama-server starts, answers 2 prompts, ends\n")
    assert '    "The capital of France is" -> " Paris"\n' in said


FAILURES = [
    ("dies", "start", "died", "exit code 3"),
    ("deaf", "start", "no-port", "does not open within 1 s"),
    ("loading", "health", "not-ready", "it says 503"),
    ("mute", "health", "not-ready", "no answer within"),
    ("crash", "ask", "died", "SIGABRT"),
    ("asleep", "ask", "no-answer", "no answer within 4 s"),
    ("short", "ask", "no-answer", "in the middle"),
    ("refuses", "ask", "http", '{"error": "no"}'),
    ("garbled", "ask", "bad-answer", "not JSON"),
    ("strange", "ask", "bad-answer", "/v1/completions"),
    ("garbage", "expect", "not-utf8", "byte "),
    ("replaced", "expect", "not-utf8", "not UTF-8"),
    ("halved", "expect", "not-utf8", "half a character"),
    ("empty", "expect", "empty", "empty"),
    ("nan", "expect", "not-finite", "token 0 (' Paris') is NaN"),
    ("null", "expect", "not-finite", "is null"),
    ("silent", "expect", "no-logprobs", "no logprobs"),
    ("stubborn", "stop", "no-end", "1 s after SIGTERM"),
    ("sour", "stop", "bad-exit", "exit code 7"),
    ("killed", "stop", "bad-exit", "SIGTERM"),
    ("litters", "stop", "left", "a process that it started"),
]
# those that are waited for to the end; a slow machine has time to come as far as that
WAITS = dict.fromkeys(("loading", "mute", "asleep"), "timeout = 4")
WAITS |= {"deaf": "timeout = 1", "stubborn": "timeout = 30\nstop_timeout = 1"}


@pytest.mark.parametrize(("mode", "step", "cause", "says"), FAILURES, ids=[f[0] for f in FAILURES])
def test_every_failure_names_its_step(cli: Cli, built: Path, mode: str, step: str, cause: str, says: str) -> None:
    config = built / "opencoti.toml"
    whole = config.read_text()
    config.write_text(whole.replace("timeout = 30", WAITS.get(mode, "timeout = 30")))
    try:
        ran = smoked(cli, built, "--args", f"--toy {mode}", "--json")
    finally:
        config.write_text(whole)
    document = checked(ran.out, 1)
    failure = document["failure"]
    assert (failure["step"], failure["cause"]) == (step, cause), failure
    assert failure["prompt"] == (1 if step in ("ask", "expect") else None)
    assert says in failure["message"]
    numbers = re.findall(r"^(?:pid|child) (\d+)", Path(document["log"]).read_text(), re.M)
    assert len(numbers) == 1 + (mode == "litters")
    assert all(gone(int(n)) for n in numbers)
    assert json.loads(Path(document["record"]).read_text())["ok"] is False
    if mode in ("dies", "crash"):  # the log's own words
        assert any("no tensors" in line or "GGML_ASSERT" in line for line in failure["lines"])


def test_a_failure_reads_well(cli: Cli, built: Path) -> None:
    ran = smoked(cli, built, "--args", "--toy dies")
    assert ran.code == 1
    first, second, *_, before, last = ran.out.splitlines()
    assert first == "cpu: start failed"
    assert second == "    the server ended by itself, with exit code 3"
    assert before == "    | error: this model has no tensors"
    assert last.strip().startswith("the whole log: ")


def test_an_unexpected_answer(cli: Cli, project: Served) -> None:
    root = project(state(), state(WORD='" London"'))
    assert cli("-C", root, "build", "cpu").code == 0
    ran = smoked(cli, root)
    assert ran.code == 1
    assert ran.out.splitlines()[:3] == [
        "cpu: expect 1 failed",
        '    "The capital of France is" -> " London"',
        "    'Paris' is not in ' London'",
    ]


def test_only_what_was_built_from_the_tip_is_started(cli: Cli, project: Served) -> None:
    root = project(state(), state(1), state(2))

    def refused() -> str:
        ran = smoked(cli, root, "--json")
        assert (ran.code, ran.json["error"]["code"]) == (1, "not-built")
        assert ran.json["error"]["hint"] == f"opencoti-patches -C {root} build cpu"
        return str(ran.json["error"]["message"])

    assert refused() == "cpu is not built"
    assert cli("-C", root, "build", "cpu").code == 0
    program = root / ".opencoti/build/cpu/bin/llama-server"
    whole = program.read_bytes()
    program.write_bytes(whole + b"\n")
    assert "not as its manifest says" in refused()
    program.write_bytes(whole)
    assert smoked(cli, root).code == 0
    (root / "patches/series").write_text("0001-step.patch\n")
    assert "another tree" in refused()


def test_which_artefact_and_which_model(cli: Cli, built: Path) -> None:
    ape = smoked(cli, built, "--server", "ape", "--json")  # a shell starts it
    assert checked(ape.out, ape.code)["server"] == "bin/ape"
    assert "+ sh " in Path(ape.json["log"]).read_text()
    ran = smoked(cli, built, "--server", "nothing", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "no-server")
    assert "bin/llama-server" in ran.json["error"]["message"]
    for model, code in (("nowhere.gguf", "no-file"), ("opencoti.toml", "bad-model")):
        ran = cli("-C", built, "smoke", "cpu", "--model", model, "--json")
        assert (ran.code, ran.json["error"]["code"]) == (2, code)
    ran = smoked(cli, built, "--args", "'", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "bad-value")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_server(built: Path, how: signal.Signals) -> None:
    log = built / ".opencoti/smoke/cpu.log"
    log.unlink(missing_ok=True)
    command = ["-C", str(built), "smoke", "cpu", "--model", "toy.gguf", "--args", "--toy loading"]
    run = subprocess.Popen(
        [sys.executable, "-m", "opencoti_patches", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    for _ in range(3000):
        if log.exists() and "more " in log.read_text():
            break
        time.sleep(0.01)
    number = re.findall(r"^pid (\d+)", log.read_text(), re.M)[0]
    run.send_signal(how)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert b"error: interrupted" in err
    assert gone(int(number))


@pytest.mark.parametrize(
    ("changed", "what", "old", "new"),
    [
        ({}, None, None, None),
        ({"LOGPROB": "-0.25000000000000006"}, "logprob", "-0.25", "-0.25000000000000006"),
        ({"WORD": '" London"'}, "token", " Paris", " London"),
    ],
)
def test_two_builds_are_compared_to_the_last_digit(
    cli: Cli, project: Served, changed: dict[str, str], what: str | None, old: str | None, new: str | None
) -> None:
    root = project(state(), state(1), state(2, **changed))
    ran = smoked(cli, root, "--against", "1", "--json")
    document = checked(ran.out, ran.code)
    assert document["against"] == "0001-step.patch"
    assert document["old"]["tree"] != document["new"]["tree"]
    assert Path(document["new"]["dir"]) == root / ".opencoti/build/cpu"
    assert Path(document["old"]["dir"]).is_relative_to(root / ".opencoti/projects")
    if what is None:
        assert (ran.code, document["differences"]) == (0, [])
        return
    assert ran.code == 1
    assert [d["prompt"] for d in document["differences"]] == [1, 2]
    assert {k: document["differences"][0][k] for k in ("token", "what", "old", "new")} == {
        "token": 0,
        "what": what,
        "old": old,
        "new": new,
    }
    if what != "logprob":
        return
    said = smoked(cli, root, "--against", "1").out
    assert f'"The capital of France is": token 0: {what}' in said
    assert re.search(rf"^      - .*{re.escape(str(old))}.*\n      \+ .*{re.escape(str(new))}", said, re.M)


def test_a_side_that_does_not_build_or_run_is_named(cli: Cli, project: Served) -> None:
    root = project(state(), state(1, cmake="message(FATAL_ERROR broken)\n"), state(2))
    ran = smoked(cli, root, "--against", "1", "--json")
    failure = checked(ran.out, 1)["failure"]
    assert (failure["side"], failure["step"]) == ("old", "build")
    assert smoked(cli, root, "--against", "1").out.startswith("cpu, after 0001-step.patch: build failed\n")
    ran = smoked(cli, root, "--against", "base", "--args", "--toy empty", "--json")
    failure = checked(ran.out, 1)["failure"]
    assert (failure["side"], failure["step"], failure["cause"]) == ("old", "expect", "empty")


def test_canary(cli: Cli, built: Path) -> None:
    asked = ["-C", built, "canary", "cpu", "--model", "toy.gguf", "--samples", "2", "--at-least", "1"]
    asked += ["--context", "200", "--context", "400", "--kv", "f16", "--kv", "q8_0/q4_0"]
    ran = cli(*asked, "--json")
    document = checked(ran.out, 0)
    rows = document["rows"]
    assert [(r["context"], r["kv"], r["found"]) for r in rows] == [
        (200, "f16", 2),
        (200, "q8_0/q4_0", 2),
        (400, "f16", 2),
        (400, "q8_0/q4_0", 2),
    ]
    assert all(r["context"] - 60 < s["tokens"] <= r["context"] - 20 for r in rows for s in r["samples"])
    # the same on every machine, in every version of Python
    assert all([(s["code"], s["depth"]) for s in r["samples"]] == [("8987", 0.25), ("2515", 0.75)] for r in rows)
    assert "-c 400 -ctk q8_0 -ctv q4_0" in Path(document["log"]).read_text()
    assert cli(*asked).out.splitlines() == [
        "context  KV type     found",
        "    200  f16          2 of 2  100%",
        "    200  q8_0/q4_0    2 of 2  100%",
        "    400  f16          2 of 2  100%",
        "    400  q8_0/q4_0    2 of 2  100%",
        "cpu: at least 100% everywhere",
    ]


def test_a_canary_that_forgets(cli: Cli, project: Served) -> None:
    root = project(state(), state(REACH="150"))
    assert cli("-C", root, "build", "cpu").code == 0
    asked = ["-C", root, "canary", "cpu", "--model", "toy.gguf", "--samples", "4", "--context", "300"]
    document = checked(cli(*asked, "--json").out, 0)  # nobody asked for a part
    assert (document["at_least"], document["rows"][0]["found"]) == (None, 2)
    ran = cli(*asked, "--at-least", "0.6")
    assert ran.code == 1
    assert ran.out.endswith("cpu: less than 60% in 1 of 1\n")
    assert '" not known."' in ran.out
    broken: Any = checked(cli(*asked, "--args", "--toy crash", "--json").out, 1)["rows"][0]
    assert (broken["failure"]["step"], broken["samples"]) == ("ask", [])
    small = cli("-C", root, "canary", "cpu", "--model", "toy.gguf", "--context", "128", "--samples", "1", "--json")
    assert checked(small.out, 0)["rows"][0]["found"] == 1


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ("[smoke]\nservers = 1\n", "unknown-key"),
        ("[smoke]\nserver = 1\n", "bad-value"),
        ('[smoke]\nargs = "-t 1"\n', "bad-value"),
        ("[smoke]\nenv = { A = 1 }\n", "bad-value"),
        ("[smoke]\ntimeout = 0\n", "bad-value"),
        ("[smoke]\nstop_timeout = true\n", "bad-value"),
        ("[smoke.prompt]\n", "bad-value"),
        ("[[smoke.prompt]]\n", "missing-key"),
        ('[[smoke.prompt]]\ntext = "a"\nmax_tokens = 0\n', "bad-value"),
        ('[[smoke.prompt]]\ntext = "a"\ncontain = "b"\n', "unknown-key"),
        ('smoke = "no"\n', "bad-value"),
    ],
)
def test_a_wrong_setting_is_said_by_every_command(cli: Cli, project: Served, table: str, code: str) -> None:
    root = project({}, {}, config="")
    config = root / "opencoti.toml"
    config.write_text((table + config.read_text()) if table.startswith("smoke =") else config.read_text() + table)
    ran = cli("-C", root, "list", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, code)
