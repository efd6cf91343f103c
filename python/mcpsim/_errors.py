"""Exceptions of mcpsim. Each has the text that the command line prints after ``error:``."""

from __future__ import annotations

import typing


class Error(Exception):
    """Any failure of mcpsim; the base class of the other exceptions."""


class InputError(Error, ValueError):
    """A file, a key, an option or the machine is wrong."""


class ProgramError(Error):
    """The simulated program failed."""


class DeadlockError(Error):
    """The simulated ranks are in a deadlock."""


class CrashError(Error):
    """The simulated program crashed."""


class LimitError(Error):
    """The errors of a validation exceed the limit that its case states."""


class Bug(Error):
    """A bug in mcpsim. The input is not at fault."""


_BY_CODE: dict[int, type[Error]] = {
    2: InputError,
    3: DeadlockError,
    4: CrashError,
    5: LimitError,
    70: Bug,
}


def of_command(code: int, stderr: str) -> typing.NoReturn:
    """Raise the exception of a command that ended with the exit code `code`."""
    at = stderr.rfind("error: ")
    text = stderr[at + len("error: ") :].rstrip() if at >= 0 else stderr.strip() or f"mcpsim ended with code {code}"
    if code in (130, -2):
        raise KeyboardInterrupt(text)
    raise _BY_CODE.get(code, ProgramError)(text)
