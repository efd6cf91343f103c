"""The ``mcpsim`` command of this package: real programs run in a process of their own."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import typing

from . import _errors

_BINARY = pathlib.Path(__file__).parent / "bin" / "mcpsim"


def executable() -> str:
    """Return the path of the ``mcpsim`` command of this package."""
    return str(_BINARY)


def command(*arguments: str | os.PathLike, quiet: bool = False) -> str:
    """Run ``mcpsim ARGUMENTS…`` and return what it prints to stdout.

    Notes and other texts of stderr are printed to ``sys.stderr`` unless `quiet` is true.

    Raises `Error` if the exit code is not 0, with the error text of the command.
    """
    run = [executable(), *(os.fspath(argument) for argument in arguments)]
    with subprocess.Popen(
        run, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as child:
        try:
            stdout, stderr = child.communicate()
        except KeyboardInterrupt:
            # The command has received the signal too if it is in the terminal's foreground process group.
            child.terminate()
            child.wait()
            raise
    if child.returncode != 0:
        _errors.of_command(child.returncode, stderr)
    if stderr and not quiet:
        print(stderr, end="", file=sys.stderr)
    return stdout


def options(values: typing.Mapping[str, typing.Any], text: typing.Callable[[str, typing.Any], str]) -> list[str]:
    """Return keyword arguments as options of the command line. None and False are left out."""
    words: list[str] = []
    for key, value in values.items():
        name = "--" + key.replace("_", "-")
        if value is None or value is False:
            continue
        words += [name] if value is True else [name, text(key, value)]
    return words


def main() -> None:
    """Replace this process by the ``mcpsim`` command."""
    os.execv(_BINARY, ["mcpsim", *sys.argv[1:]])
