"""A hidden code in a long prompt, asked back: whether a model still finds what stood far before.

What is asked follows from the number of the sample alone, so two runs ask the same.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from opencoti_patches.core.progress import Progress
from opencoti_patches.core.smoke import Prompt
from opencoti_patches.smoke.server import Failed, Failure, Launch, Server, running, telling

_ANSWER = 12  # tokens
_MARGIN = 8  # tokens of the context that stay free
_WORDS = (
    ("old", "young", "tall", "quiet", "busy", "clever", "tired", "happy"),
    ("farmer", "teacher", "sailor", "baker", "doctor", "painter", "driver", "gardener"),
    ("carried", "found", "bought", "cleaned", "painted", "repaired", "moved", "sold"),
    ("a table", "a boat", "some bread", "a lamp", "two chairs", "a letter", "an old clock", "a green door"),
    ("in the morning", "near the river", "after the rain", "at the market", "behind the house", "before lunch"),
)
_ASK = "\nThe secret code is"


class Sample(NamedTuple):
    """One question: what was hidden where (``depth`` from 0, the beginning, to 1), what came back; ``tokens`` of the
    prompt."""

    number: int
    code: str
    depth: float
    tokens: int
    answer: str

    @property
    def found(self) -> bool:
        """Whether the code is in the answer."""
        return self.code in self.answer


class Row(NamedTuple):
    """The samples at one length of context and one type of KV cache; fewer than were asked for if it failed."""

    context: int
    kv: str
    samples: tuple[Sample, ...]
    failure: Failure | None = None
    lines: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """The part of the samples that were found."""
        return sum(s.found for s in self.samples) / len(self.samples) if self.samples else 0.0

    def holds(self, at_least: float) -> bool:
        """Whether everything was answered, and enough found."""
        return self.failure is None and self.score >= at_least


def canary(
    launch: Launch, samples: int, contexts: Sequence[int], kinds: Sequence[str], progress: Progress
) -> list[Row]:
    """Every length with every type (``K`` or ``K/V``), a server each."""
    rows = []
    total, done = samples * len(contexts) * len(kinds), 0
    for context in contexts:
        for kv in kinds:
            rows.append(_row(launch, samples, context, kv, progress, done, total))
            done += samples
    return rows


def _row(launch: Launch, count: int, context: int, kv: str, progress: Progress, done: int, total: int) -> Row:
    k, _, v = kv.partition("/")
    own = launch._replace(args=(*launch.args, "-np", "1", "-c", str(context), "-ctk", k, "-ctv", v or k))
    samples: list[Sample] = []
    try:
        with running(own) as server:
            server.wait()
            for number in range(1, count + 1):
                progress.update(f"canary {context} {kv}", done + number, total, "samples")
                samples.append(_sample(server, number, count, context))
            server.stop()
    except Failed as e:
        return Row(context, kv, tuple(samples), e.failure, telling(own.log))
    return Row(context, kv, tuple(samples))


def _sample(server: Server, number: int, count: int, context: int) -> Sample:
    rng = random.Random(f"canary {number}")
    code = f"{1000 + int(rng.random() * 9000)}"
    depth = (number - 0.5) / count
    budget = context - _ANSWER - _MARGIN
    sentences = [_sentence(rng) for _ in range(32)]
    each = max(1.0, (server.count(" ".join(sentences), number)) / len(sentences))
    sentences += [_sentence(rng) for _ in range(int(budget / each) - len(sentences))]
    while True:
        text = _hidden(sentences, code, depth)
        tokens = server.count(text, number)
        if tokens <= budget or not sentences:
            break
        del sentences[-1 - int((tokens - budget) / each) :]
    if tokens > budget:
        raise Failed("ask", "too-short", f"a context of {context} tokens has no room for the question", number)
    answer = server.complete(number, Prompt(text, max_tokens=_ANSWER)).text
    return Sample(number, code, depth, tokens, answer)


def _hidden(sentences: Sequence[str], code: str, depth: float) -> str:
    at = int(depth * (len(sentences) + 1))
    told = f"The secret code is {code}. Remember the secret code {code}."
    return " ".join([*sentences[:at], told, *sentences[at:]]) + _ASK


def _sentence(rng: random.Random) -> str:
    # random() is the one method that promises the same numbers in every version of Python
    who, what, did, it, when = (words[int(rng.random() * len(words))] for words in _WORDS)
    return f"The {who} {what} {did} {it} {when}."
