"""The other commands of mcpsim, with tables as results."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
import typing

from . import _command, _native, _values
from ._errors import LimitError


def list():
    """Return a table of the shipped applications, platforms and studies."""
    return _values.table([{"kind": kind, "name": name, "about": about} for kind, name, about in _native.list()])


def _sets(values: typing.Any) -> typing.List[str]:
    return [word for override in _values.overrides(values) for word in ("--set", override)]


def collectives(
    *,
    platform: str | os.PathLike | None = None,
    nct: str | typing.Sequence[int] | None = None,
    ranks: int | None = None,
    placement: str | os.PathLike | None = None,
    library: str | None = None,
    of: str | typing.Sequence[str] | None = None,
    sizes: str | typing.Sequence[int | str] | None = None,
    timing: str | None = None,
    rules: str | os.PathLike | None = None,
    jobs: int | None = None,
    set: typing.Any = None,
):
    """Predict the time of each algorithm of each collective, as a table.

    `rules` is a file into which the fastest algorithms are written, for Open MPI 4. ``mcpsim collectives --help``
    describes the arguments.
    """
    options = {key: value for key, value in locals().items() if key != "set"}
    words = _command.options(options, _values.of_setting)
    return _values.of_csv(_command.command("collectives", "--quiet", "--csv", "-", *words, *_sets(set), quiet=True))


def models(platform: str | os.PathLike, *, nct: str | typing.Sequence[int] | None = None, set: typing.Any = None):
    """Fit the models of Hockney, LogP and LogGP to a machine or to samples of ``measure``.

    The table has the columns ``level``, ``model``, ``parameter``, ``value`` and ``unit``.
    """
    words = _command.options({"nct": nct}, _values.of_setting)
    words += _sets(set)
    return _values.of_csv(_command.command("models", os.fspath(platform), "--csv", "-", *words, quiet=True))


class Validation:
    """The comparison of predictions with measured runs."""

    def __init__(self, outcome: typing.Dict[str, typing.Any], points: typing.Any, within_limits: bool):
        #: All results, as ``mcpsim validate --json`` writes them.
        self.json = outcome
        #: A table with a row per point and model.
        self.points = points
        #: Whether the errors are within the limits that the cases state.
        self.within_limits = within_limits


def validate(
    *cases: str | os.PathLike,
    models: str | typing.Sequence[str] | None = None,
    repeats: int | None = None,
    jobs: int | None = None,
) -> Validation:
    """Compare predictions with the measured runs of the folders `cases`."""
    options = _command.options({"models": models, "repeats": repeats, "jobs": jobs}, _values.of_setting)
    with tempfile.TemporaryDirectory() as directory:
        outcome, table = pathlib.Path(directory, "result.json"), pathlib.Path(directory, "points.csv")
        words = ["validate", "--quiet", "--json", outcome, "--csv", table, *options, *cases]
        within_limits = True
        try:
            _command.command(*words, quiet=True)
        except LimitError:
            within_limits = False
        return Validation(json.loads(outcome.read_text()), _values.of_csv(table.read_text()), within_limits)


def import_benchmarks(
    files: typing.Mapping[str, str | os.PathLike | typing.Sequence[str | os.PathLike]],
    output: str | os.PathLike,
    **options: typing.Any,
) -> str:
    """Make a platform file from the output of the OSU or Intel MPI benchmarks. Return the path of the platform file.

    `files` maps levels to files: ``{"inter_node": ["osu_latency.txt", "osu_bw.txt"]}``. Further arguments are the
    options of ``mcpsim measure --import``.
    """
    words = []
    for level, named in files.items():
        for path in [named] if isinstance(named, (str, os.PathLike)) else named:
            words += ["--import", f"{level}={os.fspath(path)}"]
    words += _command.options(options, _values.of_setting)
    _command.command("measure", *words, "-o", output)
    return os.fspath(output)
