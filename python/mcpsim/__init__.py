"""mcpsim predicts how long an MPI program takes on a cluster, and why.

>>> import mcpsim
>>> out = mcpsim.run("jacobi3d", platform="dahu", nct=(4, 2, 2), set={"app.n": 256})
>>> out.predicted_time, out.ranks

Descriptions, traces and their studies run in this process; real programs run in a process of their own. Tables are
pandas DataFrames if pandas is installed, otherwise lists of dictionaries. The names of columns end with the unit.
"""

from . import plot
from ._command import command, executable
from ._errors import Bug, CrashError, DeadlockError, Error, InputError, LimitError, ProgramError
from ._native import __version__
from ._run import Run, run
from ._sweep import sweep
from ._tools import Validation, collectives, import_benchmarks, list, models, validate

__all__ = [
    "Bug",
    "CrashError",
    "DeadlockError",
    "Error",
    "InputError",
    "LimitError",
    "ProgramError",
    "Run",
    "Validation",
    "__version__",
    "collectives",
    "command",
    "executable",
    "import_benchmarks",
    "list",
    "models",
    "plot",
    "run",
    "sweep",
    "validate",
]
