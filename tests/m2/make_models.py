#!/usr/bin/env python3
"""Write the tiny GGUF models that the head split tests use.

    make_models.py DIR [NAME...]

Standard library only. The weights come from a counter based generator, so the files are the same bytes on every machine
and with every Python version. A model has a few hundred thousand weights; its text is noise, but each logit depends on
every part of the KV cache, which is what the tests need.
"""

import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from gguf_file import BOOL, F16, F32, FLOAT, I32, STRING, U32, Gguf, Shape


class Weights:
    """Numbers of about unit variance from a 64 bit mixing function of a counter (splitmix64)."""

    def __init__(self, seed: int) -> None:
        self.x = seed * 0x9E3779B97F4A7C15

    def take(self, n: int, scale: float) -> list[float]:
        """The next n numbers, times scale."""
        out: list[float] = []
        x, m = self.x, 0xFFFFFFFFFFFFFFFF
        scale = scale * 3.0**0.5 / 32768.0  # each 16 bits are one uniform number
        while len(out) < n:
            x = (x + 0x9E3779B97F4A7C15) & m
            z = x
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & m
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & m
            z ^= z >> 31
            for shift in (0, 16, 32, 48):
                out.append((((z >> shift) & 0xFFFF) - 32767.5) * scale)
        self.x = x
        return out[:n]


class Model:
    """The hyperparameters, the vocabulary and the usual tensors of a transformer."""

    def __init__(
        self,
        arch: str,
        seed: int = 1,
        layers: int = 4,
        embd: int = 128,
        heads: int = 8,
        kv_heads: int = 4,
        head_dim: int = 64,
        ff: int = 96,
        vocab: int = 512,
        window: int = 0,
    ) -> None:
        self.g = Gguf(arch)
        self.w = Weights(seed)
        self.arch, self.layers, self.embd, self.heads, self.kv_heads = arch, layers, embd, heads, kv_heads
        self.head_dim, self.ff, self.vocab, self.window = head_dim, ff, vocab, window
        g = self.g
        g.add("general.name", STRING, f"tiny {arch}")
        g.hp("block_count", layers)
        g.hp("context_length", 4096)
        g.hp("embedding_length", embd)
        g.hp("feed_forward_length", ff)
        g.hp("attention.head_count", heads)
        g.hp("attention.head_count_kv", kv_heads)
        g.hp("attention.key_length", head_dim)
        g.hp("attention.value_length", head_dim)
        g.hp("attention.layer_norm_rms_epsilon", 1e-5)
        g.hp("rope.dimension_count", head_dim)
        g.hp("vocab_size", vocab)
        if window:
            g.hp("attention.sliding_window", window)
            g.hp("attention.sliding_window_pattern", 2)
        self.vocabulary()

    def vocabulary(self) -> None:
        """Bytes, printable characters, and invented two letter words."""
        g, n = self.g, self.vocab
        tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
        types = [2, 3, 3] + [6] * 256
        words = ["\u2581"] + [chr(c) for c in range(33, 127)]
        words += [a + b for a in "aeioubcdfg" for b in "klmnprstvw"] + [
            "\u2581" + a for a in "abcdefghijklmnopqrstuvwxyz"
        ]
        words += ["\u2581" + a + b for a in "klmnprst" for b in "aeiou"]
        tokens += words[: n - len(tokens)]
        types += [1] * (n - len(types))
        assert len(tokens) == len(types) == len(set(tokens)) == n
        g.add("tokenizer.ggml.model", STRING, "llama")
        g.add("tokenizer.ggml.pre", STRING, "default")
        g.add_list("tokenizer.ggml.tokens", STRING, tokens)
        g.add_list("tokenizer.ggml.scores", FLOAT, [-float(i) for i in range(n)])
        g.add_list("tokenizer.ggml.token_type", I32, types)
        for k, v in (("bos", 1), ("eos", 2), ("unknown", 0)):
            g.add(f"tokenizer.ggml.{k}_token_id", U32, v)
        g.add("tokenizer.ggml.add_bos_token", BOOL, True)
        g.add("tokenizer.ggml.add_eos_token", BOOL, False)

    def mat(self, name: str, n_in: int, n_out: int, gain: float = 1.0, *more: int) -> None:
        """A matrix that keeps the variance of what it multiplies, times gain; more: one for each expert or head."""
        n = n_in * n_out
        for m in more:
            n *= m
        vals = self.w.take(n, gain / n_in**0.5)
        self.g.tensor(name + ".weight", (n_in, n_out, *more), F16, struct.pack(f"<{n}e", *vals))

    def vec(
        self,
        name: str,
        n: int,
        mean: float = 0.0,
        spread: float = 0.0,
        suffix: str = ".weight",
        shape: Shape | None = None,
    ) -> None:
        """n numbers around mean: a norm, a bias, sinks."""
        vals = [mean + v for v in self.w.take(n, spread)]
        self.g.tensor(name + suffix, shape or (n,), F32, struct.pack(f"<{n}f", *vals))

    def norm(self, name: str, n: int) -> None:
        """A norm that changes nothing."""
        self.vec(name, n, 1.0)

    def ends(self, output: bool = True, norm: str = "output_norm") -> None:
        """The embedding, the last norm, the output."""
        self.mat("token_embd", self.embd, self.vocab, self.embd**0.5)
        self.norm(norm, self.embd)
        if output:
            self.mat("output", self.embd, self.vocab)

    def attention(self, p: str) -> None:
        """The attention of the layer with prefix p."""
        self.norm(p + "attn_norm", self.embd)
        self.mat(p + "attn_q", self.embd, self.heads * self.head_dim, 2.0)
        self.mat(p + "attn_k", self.embd, self.kv_heads * self.head_dim, 2.0)
        self.mat(p + "attn_v", self.embd, self.kv_heads * self.head_dim)
        self.mat(p + "attn_output", self.heads * self.head_dim, self.embd, 4.0)

    def ffn(self, p: str) -> None:
        """The feed forward part of the layer with prefix p."""
        self.norm(p + "ffn_norm", self.embd)
        self.mat(p + "ffn_gate", self.embd, self.ff)
        self.mat(p + "ffn_up", self.embd, self.ff)
        self.mat(p + "ffn_down", self.ff, self.embd)

    def dense(self) -> Gguf:
        """A model with attention and feed forward part in each layer, as llama has them."""
        self.ends()
        for i in range(self.layers):
            self.attention(f"blk.{i}.")
            self.ffn(f"blk.{i}.")
        return self.g


def gemma3(seed: int) -> Gguf:
    """A norm on Q and K, one behind each part, a sliding window in every other layer."""
    m = Model("gemma3", seed=seed, window=64)
    m.ends(output=False)
    for i in range(m.layers):
        p = f"blk.{i}."
        m.attention(p)
        m.ffn(p)
        m.norm(p + "attn_q_norm", m.head_dim)
        m.norm(p + "attn_k_norm", m.head_dim)
        m.norm(p + "post_attention_norm", m.embd)
        m.norm(p + "post_ffw_norm", m.embd)
    return m.g


def gpt_oss(seed: int) -> Gguf:
    """Attention sinks, a bias on each projection, a mixture of experts, a sliding window in every other layer."""
    m = Model("gpt-oss", seed=seed, window=64)
    n_exp = 4
    m.g.hp("expert_count", n_exp)
    m.g.hp("expert_used_count", 2)
    m.g.hp("expert_feed_forward_length", 32)
    m.ends()
    for i in range(m.layers):
        p = f"blk.{i}."
        m.attention(p)
        m.norm(p + "post_attention_norm", m.embd)
        m.vec(p + "attn_sinks", m.heads, 0.0, 1.0)
        for t, n in (
            ("attn_q", m.heads * m.head_dim),
            ("attn_k", m.kv_heads * m.head_dim),
            ("attn_v", m.kv_heads * m.head_dim),
            ("attn_output", m.embd),
            ("ffn_gate_inp", n_exp),
        ):
            m.vec(p + t, n, 0.0, 0.1, ".bias")
        m.mat(p + "ffn_gate_inp", m.embd, n_exp)
        m.mat(p + "ffn_gate_exps", m.embd, 32, 1.0, n_exp)
        m.mat(p + "ffn_up_exps", m.embd, 32, 1.0, n_exp)
        m.mat(p + "ffn_down_exps", 32, m.embd, 1.0, n_exp)
        for t, n in (("ffn_gate_exps", 32), ("ffn_up_exps", 32), ("ffn_down_exps", m.embd)):
            m.vec(p + t, n * n_exp, 0.0, 0.1, ".bias", (n, n_exp))
    return m.g


def deepseek2() -> Gguf:
    """MLA, with a dense feed forward part in each layer."""
    m = Model("deepseek2", layers=2, embd=64, heads=2, kv_heads=1, head_dim=80, ff=32)
    nope, rope, lora, v_dim = 32, 16, 64, 32
    m.g.drop("rope.dimension_count")
    for k, v in (
        ("leading_dense_block_count", 2),
        ("attention.q_lora_rank", 32),
        ("attention.kv_lora_rank", lora),
        ("attention.key_length_mla", nope + rope),
        ("attention.value_length_mla", v_dim),
        ("expert_feed_forward_length", 16),
        ("expert_shared_count", 1),
        ("rope.dimension_count", rope),
        ("expert_count", 2),
        ("expert_used_count", 1),
    ):
        m.g.hp(k, v)
    m.ends()
    for i in range(m.layers):
        p = f"blk.{i}."
        m.norm(p + "attn_norm", m.embd)
        m.norm(p + "attn_q_a_norm", 32)
        m.norm(p + "attn_kv_a_norm", lora)
        m.mat(p + "attn_q_a", m.embd, 32)
        m.mat(p + "attn_q_b", 32, m.heads * (nope + rope))
        m.mat(p + "attn_kv_a_mqa", m.embd, lora + rope)
        m.mat(p + "attn_k_b", nope, lora, 1.0, m.heads)
        m.mat(p + "attn_v_b", lora, v_dim, 1.0, m.heads)
        m.mat(p + "attn_output", m.heads * v_dim, m.embd)
        m.ffn(p)
    return m.g


def mamba() -> Gguf:
    """Recurrent: no attention at all."""
    m = Model("mamba", layers=2, embd=32, heads=0, kv_heads=0, head_dim=0, ff=0)
    inner, state, rank, conv = 64, 4, 4, 4
    for k, v in (("conv_kernel", conv), ("inner_size", inner), ("state_size", state), ("time_step_rank", rank)):
        m.g.hp("ssm." + k, v)
    m.ends()
    for i in range(m.layers):
        p = f"blk.{i}."
        m.norm(p + "attn_norm", m.embd)
        m.mat(p + "ssm_in", m.embd, 2 * inner)
        m.vec(p + "ssm_conv1d", conv * inner, 0.0, 0.5, shape=(conv, inner))
        m.vec(p + "ssm_conv1d", inner, 0.0, 0.1, ".bias")
        m.mat(p + "ssm_x", inner, rank + 2 * state)
        m.mat(p + "ssm_dt", rank, inner)
        m.vec(p + "ssm_dt", inner, 0.0, 0.1, ".bias")
        m.vec(p + "ssm_a", state * inner, -1.0, 0.1, "", (state, inner))
        m.vec(p + "ssm_d", inner, 1.0, 0.1, "")
        m.mat(p + "ssm_out", inner, m.embd)
    return m.g


def lfm2() -> Gguf:
    """Hybrid: a convolution layer, then an attention layer."""
    m = Model("lfm2", layers=2, embd=64, heads=2, kv_heads=2, head_dim=32, ff=32)
    m.g.drop("attention.head_count_kv")
    m.g.hp("attention.head_count_kv", [0, 2])
    m.g.hp("shortconv.l_cache", 3)
    m.ends(norm="token_embd_norm")
    for i in range(m.layers):
        p = f"blk.{i}."
        m.ffn(p)
        if i == 0:
            m.norm(p + "attn_norm", m.embd)
            m.mat(p + "shortconv.conv", 3, m.embd)
            m.mat(p + "shortconv.in_proj", m.embd, 3 * m.embd)
            m.mat(p + "shortconv.out_proj", m.embd, m.embd)
        else:
            m.attention(p)
            m.norm(p + "attn_q_norm", m.head_dim)
            m.norm(p + "attn_k_norm", m.head_dim)
    return m.g


def deci() -> Gguf:
    """Layers that differ in KV heads."""
    m = Model("deci", seed=4, layers=2, kv_heads=2)
    m.g.drop("attention.head_count_kv")
    m.g.hp("attention.head_count_kv", [2, 4])
    m.ends()
    for i, m.kv_heads in enumerate((2, 4)):
        m.attention(f"blk.{i}.")
        m.ffn(f"blk.{i}.")
    return m.g


def t5() -> Gguf:
    """A relative position bias; an encoder too."""
    m = Model("t5", heads=2, kv_heads=2, head_dim=32, **SMALL)
    m.g.hp("attention.relative_buckets_count", 8)
    m.ends(norm="dec.output_norm")
    m.norm("enc.output_norm", m.embd)
    for p in (f"{side}.blk.{i}." for side in ("enc", "dec") for i in range(m.layers)):
        for part in ("attn_", "cross_attn_") if p.startswith("dec") else ("attn_",):
            m.norm(p + part + "norm", m.embd)
            for t in "qkvo":
                m.mat(p + part + t, m.embd, m.embd)
        m.mat(p + "attn_rel_b", m.heads, 8)
        m.ffn(p)
    return m.g


SMALL = {"layers": 2, "embd": 64, "ff": 32}

MODELS: dict[str, Callable[[], Gguf]] = {
    # for equality
    "llama": lambda: Model("llama").dense(),
    "gemma3": lambda: gemma3(seed=2),
    "gpt-oss": lambda: gpt_oss(seed=3),
    # for ties: 5 KV heads
    "llama-kv5": lambda: Model("llama", heads=5, kv_heads=5, **SMALL).dense(),
    # for block sizes: a head is not a whole number of q8_0 blocks, a row is
    "llama-hd48": lambda: Model("llama", heads=4, kv_heads=4, head_dim=48, **SMALL).dense(),
    # for refusals, and for caches without a layer to split
    "refact": lambda: Model("refact", heads=2, kv_heads=2, head_dim=32, **SMALL).dense(),
    "deepseek2": deepseek2,
    "mamba": mamba,
    "lfm2": lfm2,
    "deci": deci,
    "t5": t5,
    "llama-mqa": lambda: Model("llama", heads=4, kv_heads=1, **SMALL).dense(),
    "llada": lambda: Model("llada", heads=2, kv_heads=2, head_dim=32, **SMALL).dense(),
}


def main() -> None:
    """Write the models that are named, or all of them."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    names: Iterable[str] = sys.argv[2:] or MODELS
    for name in names:
        MODELS[name]().write(out / f"{name}.gguf")


if __name__ == "__main__":
    main()
