"""Conversion between Python values and the texts of mcpsim, and tables."""

from __future__ import annotations

import csv
import io
import json
import os
import typing

from ._errors import InputError

Value = typing.Union[bool, int, float, str, os.PathLike, list, tuple, dict]


def text(value: Value) -> str:
    """Return a value of a key as the command line spells it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_quoted(of)}" for key, of in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_quoted(of) for of in value) + "]"
    if hasattr(value, "item"):  # a number of NumPy
        return text(value.item())
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _quoted(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else text(value)


def of_setting(key: str, value: Value) -> str:
    """Return the value of a setting of a run. Lists, such as ``nct=(4, 2, 2)``, are joined by commas."""
    if isinstance(value, (list, tuple)):
        return ",".join(text(one) for one in value)
    return text(value)


def overrides(values: typing.Mapping[str, Value] | typing.Iterable[str] | None) -> list[str]:
    """Return overrides of keys as texts ``KEY=VALUE``."""
    if values is None:
        return []
    if isinstance(values, str):
        return [values]
    if isinstance(values, typing.Mapping):
        of = {key: of_setting(key, value) if key.endswith(".nct") else text(value) for key, value in values.items()}
        return [f"{key}={value}" for key, value in of.items()]
    return list(values)


def pandas():
    """Return the module pandas, or None if it is not installed."""
    try:
        import pandas as module
    except ImportError:
        return None
    return module


def table(rows: list[dict[str, typing.Any]]):
    """Return rows as a DataFrame, or as they are if pandas is not installed."""
    module = pandas()
    return rows if module is None else module.DataFrame(rows)


def seconds(row: typing.Mapping[str, typing.Any], prefix: str = "") -> dict[str, typing.Any]:
    """Return a row of the outcome as a flat row: times in seconds, names of columns with their units."""
    flat: dict[str, typing.Any] = {}
    for key, value in row.items():
        if isinstance(value, typing.Mapping):
            flat.update(seconds(value, f"{prefix}{key}_"))
        elif key.endswith("_ps") and isinstance(value, int):
            flat[f"{prefix}{key[:-3]}_s"] = value / 1e12
        else:
            flat[prefix + key] = value
    return flat


def _cell(value: str) -> typing.Any:
    if value == "":
        return None
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return value


def of_csv(content: str):
    """Return a CSV table with a header as a table of numbers and texts."""
    return table([{key: _cell(value) for key, value in row.items()} for row in csv.DictReader(io.StringIO(content))])


def one_of(name: str, value: str, known: typing.Iterable[str]) -> str:
    """Return `value`, which must be one of `known`."""
    known = list(known)
    if value not in known:
        raise InputError(f"{name}: expected one of {', '.join(known)}; found {value!r}")
    return value
