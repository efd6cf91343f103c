"""``python -m mcpsim`` is the ``mcpsim`` command."""

from ._command import main

if __name__ == "__main__":
    main()
