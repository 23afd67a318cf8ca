"""``[smoke]`` of opencoti.toml: what a built server is asked, and what it must answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opencoti_patches.core.errors import UsageError

KEYS = {"server", "args", "env", "timeout", "stop_timeout", "prompt"}
PROMPT_KEYS = {"text", "contains", "max_tokens"}


class Prompt(NamedTuple):
    """One question. ``contains``: what the answer must hold, empty for anything; ``max_tokens``: of the answer."""

    text: str
    contains: str = ""
    max_tokens: int = 16


class Smoke(NamedTuple):
    """How servers are tried. ``server`` is the name of an artefact, empty: the one that looks like a server;
    ``timeout`` is in seconds, for the start and for each answer, ``stop_timeout`` for the end."""

    server: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    timeout: float = 120
    stop_timeout: float = 15
    # any model says something to these
    prompts: tuple[Prompt, ...] = (Prompt("The capital of France is"), Prompt("Once upon a time, there was a"))


def settings(table: Mapping[str, Any], where: str) -> Smoke:
    """The settings of a ``[smoke]`` table whose keys are checked; ``where`` is the file, for messages.

    Errors: UsageError ``bad-value``, ``missing-key``.
    """
    values: dict[str, Any] = {}
    if "server" in table:
        values["server"] = _value(table["server"], str, f"{where}: smoke.server", 'a string: server = "llama-server"')
    if "args" in table:
        args = table["args"]
        if not isinstance(args, list) or not all(isinstance(a, str) for a in args):
            raise UsageError(
                "bad-value", f"{where}: smoke.args must be a list of strings, it is {args!r}", 'args = ["-c", "2048"]'
            )
        values["args"] = tuple(args)
    if "env" in table:
        env = table["env"]
        if not isinstance(env, dict) or not all(isinstance(v, str) for v in env.values()):
            raise UsageError("bad-value", f"{where}: smoke.env must be a table of strings", 'write env = { A = "b" }')
        values["env"] = tuple(sorted(env.items()))
    for key in ("timeout", "stop_timeout"):
        if key in table:
            values[key] = _seconds(table[key], f"{where}: smoke.{key}")
    if "prompt" in table:
        values["prompts"] = tuple(_prompt(p, f"{where}: smoke.prompt {n}") for n, p in enumerate(table["prompt"], 1))
    return Smoke(**values)


def _prompt(table: Mapping[str, Any], at: str) -> Prompt:
    if not table.get("text"):
        raise UsageError("missing-key", f"{at}: it needs 'text'", 'write text = "The capital of France is"')
    text = _value(table["text"], str, f"{at}: text", "a string")
    contains = _value(table.get("contains", ""), str, f"{at}: contains", "a string")
    count = table.get("max_tokens", Prompt._field_defaults["max_tokens"])
    if type(count) is not int or count < 1:
        raise UsageError(
            "bad-value", f"{at}: max_tokens must be a number from 1 up, it is {count!r}", "max_tokens = 32"
        )
    return Prompt(text, contains, count)


def _value(value: Any, kind: type, at: str, wanted: str) -> Any:
    if not isinstance(value, kind):
        raise UsageError("bad-value", f"{at} is {value!r}", f"it is {wanted}")
    return value


def _seconds(value: Any, at: str) -> float:
    if type(value) not in (int, float) or not 0 < value < 86400:
        raise UsageError("bad-value", f"{at} must be a number of seconds, it is {value!r}", "a number, such as 60")
    return float(value)
