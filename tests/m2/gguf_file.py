"""Writes GGUF files."""

import struct
from collections.abc import Sequence
from pathlib import Path

F32, F16 = 0, 1
U32, FLOAT, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5
ALIGN = 32

Scalar = int | float | str
Shape = tuple[int, ...]


class Gguf:
    """A GGUF v3 file with F16 and F32 tensors."""

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self.kvs: list[bytes] = []
        self.tensors: list[tuple[str, Shape, int, bytes]] = []
        self.add("general.architecture", STRING, arch)

    @staticmethod
    def _str(s: str) -> bytes:
        b = s.encode()
        return struct.pack("<Q", len(b)) + b

    def _value(self, kind: int, v: Scalar) -> bytes:
        if isinstance(v, str):
            return self._str(v)
        return struct.pack({U32: "<I", I32: "<i", FLOAT: "<f", BOOL: "<?"}[kind], v)

    def add(self, key: str, kind: int, value: Scalar) -> None:
        """A key with one value."""
        self.kvs.append(self._str(key) + struct.pack("<I", kind) + self._value(kind, value))

    def add_list(self, key: str, kind: int, values: Sequence[Scalar]) -> None:
        """A key with a list of values of one kind."""
        head = self._str(key) + struct.pack("<IIQ", ARRAY, kind, len(values))
        self.kvs.append(head + b"".join(self._value(kind, v) for v in values))

    def hp(self, key: str, value: int | float | list[int]) -> None:
        """A hyperparameter of the architecture."""
        if isinstance(value, list):
            self.add_list(f"{self.arch}.{key}", U32, value)
        else:
            self.add(f"{self.arch}.{key}", FLOAT if isinstance(value, float) else U32, value)

    def drop(self, key: str) -> None:
        """Take a hyperparameter out again."""
        self.kvs = [kv for kv in self.kvs if not kv.startswith(self._str(f"{self.arch}.{key}"))]

    def tensor(self, name: str, shape: Shape, kind: int, data: bytes) -> None:
        """A tensor of this kind; data in the order of ggml, the first dimension fastest."""
        self.tensors.append((name, shape, kind, data))

    def write(self, path: Path) -> None:
        """Write the file."""
        info: list[bytes] = []
        data: list[bytes] = []
        offset = 0
        for name, shape, kind, raw in self.tensors:
            info.append(
                self._str(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", kind, offset)
            )
            raw += bytes(-len(raw) % ALIGN)
            data.append(raw)
            offset += len(raw)
        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.kvs)) + b"".join(self.kvs) + b"".join(info)
        path.write_bytes(head + bytes(-len(head) % ALIGN) + b"".join(data))
