"""Runs: the prediction of one program on one machine."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import sys
import tempfile
import typing

from . import _command, _native, _values
from ._errors import InputError
from ._progress import Bar

#: Details of a run that arguments of `run` request.
_DETAILS = (
    "per_rank",
    "functions",
    "sites",
    "critical_path",
    "latency_tolerance",
    "timeline",
    "load_over_time",
    "host_profile",
)


def asked(
    app: str | os.PathLike,
    set: typing.Any,
    settings: typing.Mapping[str, typing.Any],
    details: typing.Iterable[str] = (),
    text: str | None = None,
    jobs: typing.Iterable[str] = (),
) -> dict[str, typing.Any]:
    """Return the arguments that the compiled part of the package reads."""
    known = {key: value for key, _, value, _ in _native.settings()}
    given = []
    for key, value in settings.items():
        if key not in known:
            raise TypeError(f"unexpected keyword argument {key!r}: expected one of {', '.join(known)}")
        if value is None or (known[key] == "" and value is False):
            continue
        given.append((key, _values.of_setting(key, value)))
    return {
        "app": os.fspath(app),
        "text": text,
        "jobs": [*jobs],
        "set": _values.overrides(set),
        "settings": given,
        "details": list(details),
    }


class Run:
    """The result of a run.

    Tables are pandas DataFrames, or lists of dictionaries if pandas is not installed. The names of columns end with the
    unit: ``_s`` is seconds. The attribute `json` has the whole outcome, with times in integer picoseconds.
    """

    def __init__(self, outcome: dict[str, typing.Any], request: "_Request"):
        #: The whole outcome, as ``mcpsim --json`` writes it. Times are integer picoseconds.
        self.json = outcome
        self._request = request
        self._simulated: typing.Any = None
        self._intervals: typing.Any = None
        self._trace: bytes | None = None
        #: Notes on the run, which the command line prints to stderr.
        self.notes: list[str] = []
        #: What a real program has written to stdout.
        self.stdout = ""

    @property
    def predicted_ps(self) -> int:
        """The predicted time in picoseconds, exact."""
        return self.json["predicted_ps"]

    @property
    def predicted_time(self) -> float:
        """The predicted time in seconds."""
        return self.json["predicted_s"]

    @property
    def ranks(self):
        """A table of the ranks: place, final clock, and parts of the time. It is empty above 65,536 ranks, unless the
        argument `per_rank` asks for it."""
        return self._rows(self.json.get("per_rank", []))

    @property
    def messages(self):
        """A table of the messages by level: count, bytes, and sum of the transfer times."""
        return self._rows({"level": level, **cells} for level, cells in self.json["levels"].items())

    @property
    def profile(self):
        """A table of the messages by size interval and level."""
        return self._rows(self.json["profile"])

    @property
    def collectives(self):
        """A table of the collectives by MPI function and algorithm."""
        return self._rows(self.json.get("collectives", []))

    @property
    def what_if(self):
        """A table of changes of the machine, with the predicted time that each would save; the greatest first."""
        return self._rows(self.json["what_if"])

    @property
    def path(self) -> dict[str, float]:
        """The predicted time divided into the parts of the critical path, in seconds."""
        return _values.seconds(self.json["path"])

    @property
    def functions(self):
        """A table of the MPI calls by function."""
        return self._rows(self._detailed("functions")["functions"])

    @property
    def critical_path(self):
        """A table of the ranks on the critical path: own time, and time of the messages to the rank."""
        return self._rows(self._detailed("critical_path")["critical_path"]["ranks"])

    @property
    def results(self) -> dict[str, typing.Any]:
        """Results that the application computes from its timers."""
        return {result["name"]: result for result in self.json.get("results", [])}

    @property
    def timeline(self):
        """A table of the activities of all ranks over time."""
        names = ("rank", "start_s", "end_s", "activity", "call")
        rows = ((rank, start / 1e12, end / 1e12, what, call) for rank, start, end, what, call in self.intervals())
        return _values.table([dict(zip(names, row)) for row in rows])

    def intervals(self) -> list[tuple[int, int, int, str, typing.Optional[str]]]:
        """Return the activities of all ranks: rank, start and end in picoseconds, activity, call."""
        if self._intervals is None:
            if self._simulated is None or "timeline" not in self._request.details:
                self._simulated = self._again("timeline")._simulated
            self._intervals = self._simulated.intervals()
        return self._intervals

    def report(self) -> str:
        """Return the report that ``mcpsim`` prints."""
        if self._simulated is not None:
            return self._simulated.report()
        with tempfile.TemporaryDirectory() as directory:
            return _command.command("report", self.save(pathlib.Path(directory, "outcome.json")), quiet=True)

    def save(self, path: str | os.PathLike) -> str:
        """Write the outcome as JSON, which ``mcpsim report`` reads. Return the path."""
        pathlib.Path(path).write_text(json.dumps(self.json, indent=2) + "\n")
        return os.fspath(path)

    def save_trace(self, path: str | os.PathLike) -> str:
        """Write the trace of a run with ``record=True``, which `run` replays. Return the path."""
        if self._trace is None:
            raise InputError("expected a run with record=True; this run has no trace")
        pathlib.Path(path).write_bytes(self._trace)
        return os.fspath(path)

    def __repr__(self) -> str:
        of = self.json
        return f"<Run of {of['app']} on {of['platform']}, {of['ranks']} ranks: {self.predicted_time:.6g} s>"

    def __str__(self) -> str:
        return self.report()

    def _rows(self, rows: typing.Iterable[typing.Mapping[str, typing.Any]]):
        return _values.table([_values.seconds(row) for row in rows])

    def _detailed(self, name: str) -> dict[str, typing.Any]:
        if self.json.get(name) is None:
            self.json[name] = self._again(name).json.get(name)
        return self.json

    def _again(self, detail: str) -> "Run":
        """Repeat the run with a detail that it has not. A run of a description or a trace gives equal results."""
        if self._request.is_real:
            raise InputError(f"pass {detail}=True to mcpsim.run: a real program runs once")
        again = self._request.with_detail(detail).simulate(None)
        if again is None or again.predicted_ps != self.predicted_ps:
            raise InputError(f"an input file has changed since the run: pass {detail}=True to mcpsim.run")
        return again


class _Request:
    """A call of `run`."""

    def __init__(self, app, text, jobs, set, settings, details, record, further, repeats, arguments):
        self.app, self.text, self.jobs = app, text, [*jobs]
        self.set, self.settings = set, dict(settings)
        self.details, self.record, self.further, self.repeats = details, record, further, repeats
        self.arguments = [str(argument) for argument in arguments]
        self.is_real = bool(arguments)

    def with_detail(self, detail: str) -> "_Request":
        details = [*self.details, detail]
        app = (self.app, self.text, self.jobs)
        return _Request(*app, self.set, self.settings, details, False, None, 1, self.arguments)

    def simulate(self, progress: bool | None) -> Run | None:
        """Run in this process. Return None for a real program."""
        given = asked(self.app, self.set, self.settings, self.details, self.text, self.jobs)
        with Bar(progress, "messages") as bar:
            simulated = _native.simulate(
                given, record=self.record, further=self.further, repeats=self.repeats, tick=bar.messages
            )
        if simulated is None:
            return None
        run = Run(json.loads(simulated.json()), self)
        run._simulated, run.notes, run._trace = simulated, simulated.notes(), simulated.trace()
        return run

    def start(self) -> Run:
        """Run a real program by the command."""
        self.is_real = True
        options = {name: True for name in self.details if name != "timeline"}
        options.update(self.settings)
        with tempfile.TemporaryDirectory() as directory:
            written = functools.partial(pathlib.Path, directory)
            words = _command.options(options, _values.of_setting)
            for override in _values.overrides(self.set):
                words += ["--set", override]
            if self.record:
                words += ["--record", str(written("run.trace"))]
            if self.further == "repeats":
                words += ["--repeats", str(self.repeats)]
            elif self.further is not None:
                words.append("--" + self.further.replace("_", "-"))
            if "timeline" in self.details:
                words += ["--timeline", str(written("timeline.json"))]
            app = os.fspath(self.app)
            if self.text is not None:
                app = str(written("app.toml"))
                pathlib.Path(app).write_text(self.text)
            words = ["run", "--quiet", "--json", str(written("outcome.json")), *words]
            words += [word for job in self.jobs for word in ("--job", job)] or [app]
            stdout = _command.command(*words, *(["--", *self.arguments] if self.arguments else []))
            run = Run(json.loads(written("outcome.json").read_text()), self)
            if self.record:
                run._trace = written("run.trace").read_bytes()
            if "timeline" in self.details:
                run._intervals = _of_perfetto(json.loads(written("timeline.json").read_text()))
        run.stdout = stdout
        sys.stdout.write(stdout)
        return run


def _of_perfetto(file: dict[str, typing.Any]) -> list[tuple[int, int, int, str, typing.Optional[str]]]:
    states = (event for event in file["traceEvents"] if event["ph"] == "X" and event.get("cat") == "state")
    ps = lambda us: round(us * 1e6)  # noqa: E731
    return [(of["tid"], ps(of["ts"]), ps(of["ts"] + of["dur"]), of["name"], None) for of in states]


def run(
    app: str | os.PathLike | None = None,
    *,
    text: str | None = None,
    arguments: typing.Sequence[str | os.PathLike] = (),
    job: typing.Sequence[str] = (),
    set: typing.Mapping[str, typing.Any] | typing.Iterable[str] | None = None,
    nct: str | typing.Sequence[int] | None = None,
    platform: str | os.PathLike | None = None,
    model: str | None = None,
    ranks: int | None = None,
    oversubscribe: bool = False,
    placement: str | os.PathLike | None = None,
    map_by: str | None = None,
    ranks_per_node: int | None = None,
    cores_per_rank: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    max_time: str | None = None,
    max_events: int | None = None,
    max_requests: int | None = None,
    max_turns: int | None = None,
    intervals: str | typing.Sequence[int | str] | None = None,
    pairs: bool = False,
    compute: str | None = None,
    clock: str | None = None,
    memory_bound: float | None = None,
    stack_size: str | int | None = None,
    buffering: str | None = None,
    data: str | int | None = None,
    share_memory: str | int | None = None,
    kernels: str | os.PathLike | None = None,
    share_libraries: str | typing.Sequence[str] | None = None,
    ranks_as: str | None = None,
    start: str | None = None,
    debug_rank: int | None = None,
    per_rank: bool = False,
    functions: bool = False,
    sites: bool = False,
    critical_path: bool = False,
    latency_tolerance: bool = False,
    timeline: bool = False,
    load_over_time: bool = False,
    host_profile: bool = False,
    efficiencies: bool = False,
    other_algorithms: bool = False,
    repeats: int = 1,
    record: bool = False,
    progress: bool | None = None,
) -> Run:
    """Predict how long a program takes on a machine.

    `app` is a description in TOML, a trace, a program that ``mcpsim cc``, Open MPI or MPICH has built, or a name from
    `list`. With `text` the description is this text, and `app` is its name in error messages.

    `job` lists jobs that run side by side in place of `app`, such as ``"a.toml:ranks=64:nodes=4"``.

    `set` overrides keys of the application, the platform and the run: ``{"app.n": 256, "platform.inter_node.latency":
    "1 us"}``. The other arguments are the options of ``mcpsim`` with ``_`` for ``-``. `arguments` are those of a real
    program, which runs in a process of its own.

    With `record` the method `Run.save_trace` writes a trace. `progress` shows a progress bar, if tqdm is installed; by
    default in terminals and notebooks.

    >>> mcpsim.run("jacobi3d", platform="dahu", nct=(4, 2, 2), set={"app.n": 256}).predicted_time

    Raises an `Error` with the text of the command line.
    """
    values = dict(locals())
    settings = {key: values[key] for key, *_ in _native.settings() if key in values}
    details = [name for name in _DETAILS if values[name]]
    chosen = [name for name in ("efficiencies", "other_algorithms") if values[name]] + ["repeats"] * (repeats > 1)
    if len(chosen) > 1:
        raise InputError(f"expected at most one of {' and '.join(chosen)}")
    job = [job] if isinstance(job, str) else [*job]
    if app is None and text is None and not job:
        raise InputError("no application is given: expected app or text")
    further = chosen[0] if chosen else None
    app = "app.toml" if app is None else app
    request = _Request(app, text, job, set, settings, details, record, further, repeats, arguments)
    if not arguments:
        ran = request.simulate(progress)
        if ran is not None:
            return ran
    return request.start()
