"""Figures of runs and studies, with matplotlib."""

from __future__ import annotations

import typing

from ._errors import InputError

#: Colour of each activity of a rank.
COLOURS = {
    "compute": "#4e79a7",
    "send": "#f28e2b",
    "recv": "#edc948",
    "wait": "#e15759",
    "collective": "#b07aa1",
}

#: First column of a study's table that is a result. The columns before it are the varied keys.
_FIRST_RESULT = ("nodes", "ranks")
#: Most series that a figure of a study shows.
_MOST_SERIES = 12


def _pyplot():
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("figures need matplotlib: pip install 'mcpsim[plot]'") from None
    return pyplot


def _records(table: typing.Any) -> list[dict[str, typing.Any]]:
    return table.to_dict("records") if hasattr(table, "to_dict") else table


def _number(value: typing.Any) -> typing.Optional[float]:
    return value if isinstance(value, (int, float)) and value == value else None


def _series(table: typing.Any) -> dict[str, list[tuple[float, float]]]:
    """Return the predicted time by number of ranks, for each combination of the other varied keys."""
    rows = _records(table)
    if not rows:
        raise InputError("expected a table of mcpsim.sweep; found an empty table")
    columns = [*rows[0]]
    time = "mean_s" if "mean_s" in columns else "predicted_s"
    if time not in columns or "ranks" not in columns:
        raise InputError("expected a table of mcpsim.sweep, with the columns ranks and predicted_s")
    first = next(columns.index(name) for name in _FIRST_RESULT if name in columns)
    shapes = ("run.nct", "platform.nct", "run.ranks", "run.seed")
    # A quantity has a second column with its number in the base unit.
    keys = [key for key in columns[:first] if not any(key.startswith(f"{other}_") for other in columns[:first])]
    keys = [key for key in keys if key not in shapes and len({row[key] for row in rows}) > 1]
    found: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        ranks, seconds = _number(row["ranks"]), _number(row[time])
        if ranks is None or seconds is None:
            continue
        label = ", ".join(f"{key.removeprefix('platform.')}={row[key]}" for key in keys)
        found.setdefault(label, {}).setdefault(ranks, []).append(seconds)
    if not found:
        raise InputError("expected a point with a prediction; no point has one")
    # Of several machine shapes with the same number of ranks, the fastest counts.
    return {label: sorted((ranks, min(of)) for ranks, of in points.items()) for label, points in found.items()}


def scaling(table: typing.Any, axes: typing.Any = None):
    """Draw the predicted time, the speed-up and the efficiency of a study by the number of ranks.

    `table` is a result of `mcpsim.sweep`. There is a line for each combination of the varied values other than the
    machine's shape, the number of ranks and the seed. The speed-up is relative to the least number of ranks of a line.

    `axes` may be three axes of matplotlib. Returns the figure.
    """
    series = _series(table)
    if axes is None:
        _, axes = _pyplot().subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    time, speedup, efficiency = axes
    for label, points in list(series.items())[:_MOST_SERIES]:
        ranks, seconds = [x for x, _ in points], [y for _, y in points]
        gains = [seconds[0] / y for y in seconds]
        time.plot(ranks, seconds, marker="o", label=label)
        speedup.plot(ranks, gains, marker="o", label=label)
        efficiency.plot(ranks, [100 * gain * ranks[0] / x for gain, x in zip(gains, ranks)], marker="o", label=label)
    all_ranks = sorted({x for points in series.values() for x, _ in points})
    least = all_ranks[0]
    ideal = speedup.plot(all_ranks, [x / least for x in all_ranks], color="grey", linestyle=":", label="ideal")
    names = ("predicted time in s", f"speed-up over {least} ranks", "efficiency in %")
    for each, name in zip((time, speedup, efficiency), names):
        each.set_xscale("log", base=2)
        each.set_xticks(all_ranks, [str(x) for x in all_ranks])
        each.minorticks_off()
        each.set_xlabel("ranks")
        each.set_ylabel(name)
        each.grid(alpha=0.3)
    time.set_yscale("log")
    speedup.set_yscale("log", base=2)
    time.yaxis.set_major_formatter("{x:g}")
    time.yaxis.set_minor_formatter("{x:g}")
    speedup.yaxis.set_major_formatter("{x:g}")
    speedup.legend(handles=ideal, fontsize="small")
    efficiency.set_ylim(bottom=0)
    if len(series) > 1:
        time.legend(fontsize="small")
    return time.figure


def timeline(run: typing.Any, ranks: typing.Optional[typing.Iterable[int]] = None, axes: typing.Any = None):
    """Draw the activities of the ranks of a run over time.

    `run` is a result of `mcpsim.run`, and `ranks` selects some of its ranks. `axes` may be axes of matplotlib. Returns
    the figure.
    """
    intervals = run.intervals()
    shown = sorted({rank for rank, *_ in intervals}) if ranks is None else [*ranks]
    rows = {rank: row for row, rank in enumerate(shown)}
    bars: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for rank, start, end, activity, _ in intervals:
        if rank in rows:
            bars.setdefault((rank, activity), []).append((start / 1e12, (end - start) / 1e12))
    if axes is None:
        _, axes = _pyplot().subplots(figsize=(10, 1.2 + 0.22 * min(len(shown), 64)), layout="constrained")
    named: set[str] = set()
    for (rank, activity), spans in bars.items():
        label = None if activity in named else activity
        named.add(activity)
        axes.broken_barh(spans, (rows[rank] - 0.4, 0.8), facecolors=COLOURS[activity], label=label)
    axes.set_yticks([*rows.values()] if len(rows) <= 64 else [], [*rows] if len(rows) <= 64 else [])
    axes.invert_yaxis()
    axes.set_xlabel("virtual time in s")
    axes.set_ylabel("rank")
    axes.set_title(f"{run.json['app']} on {run.json['platform']}", fontsize="medium")
    axes.figure.legend(loc="outside lower center", ncols=len(COLOURS), fontsize="small")
    return axes.figure


def path(run: typing.Any, axes: typing.Any = None):
    """Draw the parts of the critical path of a run, which sum to the predicted time. Returns the figure."""
    parts = {name.removesuffix("_s").removeprefix("levels_"): value for name, value in run.path.items() if value > 0}
    parts = dict(sorted(parts.items(), key=lambda part: part[1]))
    if axes is None:
        _, axes = _pyplot().subplots(figsize=(7, 1 + 0.3 * len(parts)), layout="constrained")
    axes.barh([name.replace("_", " ") for name in parts], [*parts.values()])
    axes.set_xlabel("s of the predicted time")
    return axes.figure
