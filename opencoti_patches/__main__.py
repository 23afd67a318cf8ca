"""The program: ``opencoti-patches`` and ``python -m opencoti_patches``."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run it."""
    from opencoti_patches.commands.warm import answer

    text = answer(sys.argv[1:])
    if text is not None and sys.stdout is not None:
        try:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        except (OSError, ValueError):
            pass  # the usual way knows what to do about it
        else:
            sys.exit(0)
    from opencoti_patches import cli

    try:
        cli.main()
    finally:
        gc.freeze()  # the system takes it all back: no last search for what refers to itself


if __name__ == "__main__":
    main()
