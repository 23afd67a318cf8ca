"""The door to a server of ours on this machine: 127.0.0.1 alone, around every proxy, with a deadline."""

from __future__ import annotations

import http.client
import json
import socket
import time
from typing import Any, NamedTuple

HOST = "127.0.0.1"
_LARGEST = 64 << 20  # bytes of an answer


class Answer(NamedTuple):
    """What a server says: the status of HTTP, the body."""

    status: int
    body: bytes


class NoAnswer(Exception):
    """Nothing came, or not all of it. ``refused``: nobody listens there."""

    def __init__(self, why: str, *, refused: bool = False) -> None:
        super().__init__(why)
        self.refused = refused


def free_port() -> int:
    """A port that nobody has at this moment."""
    with socket.socket() as s:
        s.bind((HOST, 0))
        return int(s.getsockname()[1])


def ask(port: int, path: str, document: Any = None, *, seconds: float) -> Answer:
    """GET a path, or POST a document to it. Errors: NoAnswer, at the latest after so many seconds."""
    until = time.monotonic() + seconds
    connection = http.client.HTTPConnection(HOST, port, timeout=seconds)
    try:
        if document is None:
            connection.request("GET", path)
        else:
            body = json.dumps(document).encode()
            connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        got = bytearray()
        while chunk := response.read1(1 << 16):
            got += chunk
            if time.monotonic() > until:
                raise TimeoutError
            if len(got) > _LARGEST:
                raise NoAnswer("its answer does not end")
        if response.length:
            raise NoAnswer("it closed the connection in the middle of its answer")
        return Answer(response.status, bytes(got))
    except ConnectionRefusedError:
        raise NoAnswer("nobody listens there", refused=True) from None
    except TimeoutError:
        raise NoAnswer(f"no answer within {seconds:g} s") from None
    except (OSError, http.client.HTTPException) as e:
        raise NoAnswer(f"it closed the connection ({type(e).__name__})") from None
    finally:
        connection.close()
