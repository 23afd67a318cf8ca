"""``python -m opencoti_patches``."""

from opencoti_patches.cli import main

if __name__ == "__main__":
    main()
