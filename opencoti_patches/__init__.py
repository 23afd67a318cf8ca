"""Keep an ordered patch series on top of llama.cpp, prove that it applies, and carry it forward."""

__version__ = "0.1.0"
