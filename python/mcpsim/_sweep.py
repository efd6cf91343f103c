"""Studies: predictions for many settings."""

from __future__ import annotations

import os
import pathlib
import tempfile
import typing

from . import _command, _native, _values
from ._errors import InputError, ProgramError
from ._progress import Bar
from ._run import asked


def axes(vary: typing.Mapping[typing.Any, typing.Any] | typing.Iterable[str] | str | None) -> list[str]:
    """Return the axes of a study as the option ``--vary`` has them."""
    if vary is None:
        return []
    if isinstance(vary, str):
        return [vary]
    if not isinstance(vary, typing.Mapping):
        return list(vary)
    settings = {key for key, *_ in _native.settings()}

    def column(key: str, values: typing.Any) -> str:
        name = f"run.{key}" if key in settings else key
        if isinstance(values, str):  # such as "1us..50us:log5"
            return f"{name}={values}"
        texts = [_values.of_setting(key, value) if _is_shape(name) else _values.text(value) for value in values]
        wrong = [text for text in texts if ";" in text or "&" in text]
        if wrong:
            raise InputError(f"vary {key}: expected values without ; and &; found {wrong[0]!r}")
        return f"{name}={';'.join(texts)}" + (";" if len(texts) == 1 else "")

    def axis(key: typing.Any, values: typing.Any) -> str:
        if isinstance(key, tuple):
            columns = zip(*values)
            return " & ".join(column(one, list(of)) for one, of in zip(key, columns))
        return column(key, values)

    return [axis(key, values) for key, values in vary.items()]


def _is_shape(name: str) -> bool:
    return name in ("run.nct", "platform.nct")


def sweep(
    app: str | os.PathLike,
    vary: typing.Mapping[typing.Any, typing.Any] | typing.Iterable[str] | str | None = None,
    *,
    set: typing.Mapping[str, typing.Any] | typing.Iterable[str] | None = None,
    jobs: int | None = None,
    repeats: int | None = None,
    base: str | None = None,
    gain: float | None = None,
    choices: typing.Sequence[str] = (),
    rerun: bool = False,
    out: str | os.PathLike | None = None,
    summary: bool = False,
    arguments: typing.Sequence[str | os.PathLike] = (),
    progress: bool | None = None,
    **settings: typing.Any,
):
    """Predict an application for every combination of the varied values, and return a table with a row per point.

    `vary` maps keys to lists of values: ``{"platform.inter_node.latency": ["1us", "5us"], "nct": [(1, 2, 2), (4, 2,
    2)]}``. A tuple of keys varies together: ``{("app.n", "nct"): [(64, (1, 2, 2)), (128, (8, 2, 2))]}``. A text is a
    range, such as ``"64..512:x2"``. `app` may be a study file, which states its own axes.

    `jobs` is the number of concurrent points (default: one per core). With `out` the study is kept in this directory,
    from which an interrupted study continues. With `summary` the table has one row per combination, with the speed-up.
    Further arguments are the settings of `run`. Real programs run in processes of their own.

    >>> mcpsim.sweep("jacobi3d", vary={"nct": [(1, 2, 2), (2, 2, 2), (4, 2, 2)]}, jobs=2)

    A point without a prediction has the error text in the column ``error``.
    """
    varied = axes(vary)
    given = asked(app, set, settings)
    study = {
        "vary": varied,
        "repeats": repeats,
        "jobs": jobs,
        "base": base,
        "gain": gain,
        "choices": list(choices),
    }
    if out is None and not arguments:
        with Bar(progress, "points") as bar:
            found = _native.sweep(given, study, bar.points)
        if found is not None:
            return _values.of_csv(found[1] if summary else found[0])
    options = {**settings, "jobs": jobs, "repeats": repeats, "base": base, "gain": gain, "rerun": rerun}
    words = _command.options(options, _values.of_setting)
    for name, texts in (("--vary", varied), ("--set", given["set"]), ("--choice", choices)):
        for text in texts:
            words += [name, text]
    with tempfile.TemporaryDirectory() as directory:
        kept = pathlib.Path(directory if out is None else out)
        more = ["--", *map(str, arguments)] if arguments else []
        try:
            _command.command("sweep", "--quiet", "--out", kept, *words, os.fspath(app), *more)
        except ProgramError:
            # A study in which points failed has its results, and ends with code 1.
            if not kept.joinpath("study.csv").is_file():
                raise
        return _values.of_csv(kept.joinpath("summary.csv" if summary else "study.csv").read_text())
