"""``python -m ootci`` is the same as the console script ``ootci``."""

from ootci.cli.main import main

if __name__ == "__main__":
    main()
