"""One run of a built server: start, wait until it is ready, ask, end. Whatever goes wrong says in which step."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opencoti_patches.build.manifest import kind_of
from opencoti_patches.core.smoke import Prompt, Smoke
from opencoti_patches.doors import fs, loopback, proc

_KEPT = 6  # lines of a log that are shown
_WRONG = re.compile(r"error|fail|abort|assert|exception|terminate|invalid|unknown|unsupported|cannot|couldn't", re.I)
_SETTLE = 1.0  # seconds for the processes of an ended server to go


class Failure(NamedTuple):
    """What went wrong. ``step``: ``build``, ``start``, ``health``, ``ask``, ``expect`` or ``stop``; ``prompt``: which,
    from 1, where it is about one; ``cause`` is a word for programs."""

    step: str
    cause: str
    message: str
    prompt: int = 0

    @property
    def where(self) -> str:
        """The step as people say it: ``ask 2``."""
        return f"{self.step} {self.prompt}" if self.prompt else self.step


class Failed(Exception):
    """A run that went wrong; caught in this package, and data from there on."""

    def __init__(self, step: str, cause: str, message: str, prompt: int = 0) -> None:
        super().__init__(message)
        self.failure = Failure(step, cause, message, prompt)


class Launch(NamedTuple):
    """What to start, and where its log and its own home lie."""

    program: Path
    model: Path
    args: tuple[str, ...]
    log: Path
    home: Path
    settings: Smoke

    def loading(self, library: Path) -> Launch:
        """The same with one more backend library, which ggml's registry is told of."""
        env = (*self.settings.env, ("GGML_BACKEND_PATH", str(library)))
        return self._replace(settings=self.settings._replace(env=env))


class Token(NamedTuple):
    """A token of an answer. ``logprob`` and those of ``others`` are the server's own text, digit for digit."""

    text: str
    logprob: str
    others: tuple[tuple[str, str], ...] = ()


class Completion(NamedTuple):
    """An answer; ``tokens`` is None where the server gave no logprobs."""

    text: str
    tokens: tuple[Token, ...] | None


@contextlib.contextmanager
def running(launch: Launch) -> Iterator[Server]:
    """A started server; ended in any case. Errors: Failed, from all that is asked of it."""
    tmp = launch.home / "tmp"
    with fs.disk_errors(f"write into {launch.home}"):
        tmp.mkdir(parents=True, exist_ok=True)
        launch.log.parent.mkdir(parents=True, exist_ok=True)
    port = loopback.free_port()
    # ours last: they outrank the others
    command = [*_starter(launch.program), "-m", str(launch.model), *launch.args]
    command += ["--host", loopback.HOST, "--port", str(port)]
    with proc.service(command, cwd=launch.home, env=_environment(launch), log=launch.log) as service:
        yield Server(service, port, launch.settings)


class Server:
    """A running server."""

    def __init__(self, service: proc.Service, port: int, settings: Smoke) -> None:
        self._service = service
        self._port = port
        self._settings = settings

    def wait(self) -> None:
        """Wait until it says that it is ready. Errors: Failed ``start``: its port does not open; ``health``."""
        until = time.monotonic() + self._settings.timeout
        step, said = "start", ""
        while (left := until - time.monotonic()) > 0:
            self._alive(step)
            try:
                answer = loopback.ask(self._port, "/health", seconds=min(max(left, 0.5), 5.0))
            except loopback.NoAnswer as e:
                if not e.refused:
                    step, said = "health", said or str(e)
            else:
                step, said = "health", f"it says {answer.status}"
                if answer.status == 200:
                    self._alive(step)  # else somebody else took the port
                    return
            time.sleep(0.05)
        within = f"within {self._settings.timeout:g} s"
        if step == "start":
            raise Failed("start", "no-port", f"its port does not open {within}")
        raise Failed("health", "not-ready", f"it is not ready {within}: {said}")

    def complete(self, number: int, prompt: Prompt, *, logprobs: int = 1) -> Completion:
        """The answer to a prompt, the ``number``-th: greedy, from an empty cache. Errors: Failed ``ask``, ``expect``."""
        document = {
            "prompt": prompt.text,
            "max_tokens": prompt.max_tokens,
            "temperature": 0,
            "seed": 1,
            "logprobs": logprobs,
            "cache_prompt": False,
        }
        answer = self._ask("/v1/completions", document, number)
        with contextlib.suppress(KeyError, IndexError, TypeError):
            choice = answer["choices"][0]
            if isinstance(text := choice["text"], str):
                if _text(text) != text:
                    raise Failed("expect", "not-utf8", f"the answer has half a character: {text!r}", number)
                return Completion(text, _tokens(choice.get("logprobs")))
        raise Failed("ask", "bad-answer", "its answer is none of /v1/completions", number)

    def count(self, text: str, number: int) -> int:
        """How many tokens a text has. Errors: Failed ``ask``."""
        answer = self._ask("/tokenize", {"content": text}, number)
        if isinstance(answer, dict) and isinstance(answer.get("tokens"), list):
            return len(answer["tokens"])
        raise Failed("ask", "bad-answer", "its answer is none of /tokenize", number)

    def stop(self) -> None:
        """End it as a service manager would. Errors: Failed ``stop``."""
        self._alive("stop")
        seconds = self._settings.stop_timeout
        code = self._service.end(seconds)
        if code is None:
            raise Failed("stop", "no-end", f"it still runs {seconds:g} s after SIGTERM")
        if code:
            raise Failed("stop", "bad-exit", f"after SIGTERM it ends with {exit_word(code)}")
        if self._service.left(_SETTLE):
            raise Failed("stop", "left", "it ends, and leaves a process that it started")

    def _ask(self, path: str, document: Mapping[str, Any], number: int) -> Any:
        try:
            answer = loopback.ask(self._port, path, document, seconds=self._settings.timeout)
        except loopback.NoAnswer as e:
            time.sleep(0.05)  # the end of a process is seen a moment after that of its connections
            self._alive("ask", number)
            raise Failed("ask", "no-answer", str(e), number) from None
        if answer.status != 200:
            said = " ".join(answer.body[:300].decode("utf-8", "replace").split())
            raise Failed("ask", "http", f"it answers {answer.status}: {said}", number)
        try:
            return json.loads(answer.body.decode(), parse_float=str, parse_constant=str)
        except UnicodeDecodeError as e:
            raise Failed("expect", "not-utf8", f"byte {e.start} of its answer is not UTF-8", number) from None
        except ValueError:
            raise Failed("ask", "bad-answer", "its answer is not JSON", number) from None

    def _alive(self, step: str, number: int = 0) -> None:
        code = self._service.code()
        if code is not None:
            raise Failed(step, "died", f"the server ended by itself, with {exit_word(code)}", number)


def expect(number: int, prompt: Prompt, answer: Completion) -> None:
    """Hold an answer against what it must be. Errors: Failed ``expect``."""
    if not answer.text.strip():
        raise Failed("expect", "empty", "the answer is empty", number)
    if "\ufffd" in answer.text[:-1]:  # the last character may be cut off by the limit
        raise Failed("expect", "not-utf8", f"the answer is not UTF-8: {answer.text!r}", number)
    if answer.tokens is None:
        raise Failed("expect", "no-logprobs", "the answer has no logprobs", number)
    for at, token in enumerate(answer.tokens):
        if not _finite(token.logprob):
            message = f"the logprob of token {at} ({token.text!r}) is {token.logprob}"
            raise Failed("expect", "not-finite", message, number)
    if prompt.contains not in answer.text:
        raise Failed("expect", "not-contained", f"{prompt.contains!r} is not in {answer.text!r}", number)


def telling(log: Path) -> tuple[str, ...]:
    """The few lines of a log that tell most: the last ones that sound like an error, and the last ones."""
    try:
        lines = log.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ()
    lines = [line.rstrip() for line in lines if line.strip() and not line.startswith("+ ")]
    wrong = [n for n, line in enumerate(lines) if _WRONG.search(line)][-_KEPT // 2 :]
    shown = sorted({*wrong, *range(len(lines))[-(_KEPT - len(wrong)) :]})
    return tuple(lines[n] for n in shown)


def exit_word(code: int) -> str:
    """An exit code as people say it."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _starter(program: Path) -> list[str]:
    """A program of cosmocc is none that every kernel knows, but a shell can start it."""
    return ["sh", str(program)] if kind_of(program) == "ape" else [str(program)]


def _environment(launch: Launch) -> dict[str, str]:
    """The user's, without what changes a server behind its arguments, and without proxies; a home of its own, for what
    it unpacks or caches."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LLAMA_", "GGML_"))}
    env = {k: v for k, v in env.items() if not k.lower().endswith("_proxy")}
    env |= {"HOME": str(launch.home), "TMPDIR": str(launch.home / "tmp"), "NO_PROXY": "*", "no_proxy": "*"}
    return env | dict(launch.settings.env)


def _tokens(given: Any) -> tuple[Token, ...] | None:
    if not isinstance(given, dict) or not isinstance(given.get("content"), list):
        return None
    return tuple(
        Token(
            _text(t["token"]),
            _number(t["logprob"]),
            tuple((_text(o["token"]), _number(o["logprob"])) for o in t.get("top_logprobs", ())),
        )
        for t in given["content"]
    )


def _text(value: Any) -> str:
    """Text that can be written anywhere: JSON may escape one half of a character, which nothing else takes."""
    return str(value).encode("utf-8", "backslashreplace").decode()


def _number(value: Any) -> str:
    return "null" if value is None else str(value)


def _finite(number: str) -> bool:
    try:
        return math.isfinite(float(number))
    except ValueError:
        return False
