"""Progress bars of runs and sweeps, if tqdm is installed."""

from __future__ import annotations

import sys
import typing

#: Seconds before a progress bar appears.
_DELAY = 1.0


class Bar:
    """A progress bar, which does nothing if it is not wanted or tqdm is not installed."""

    def __init__(self, wanted: bool | None, unit: str):
        self._bar: typing.Any = None
        if wanted is False or (wanted is None and not _is_watched()):
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self._bar = tqdm(unit=f" {unit}", unit_scale=True, delay=_DELAY, leave=False)

    def messages(self, time: float, count: int) -> None:
        """Show the virtual time and the number of messages of a run."""
        if self._bar is not None:
            self._bar.set_postfix_str(f"virtual time {time:.6g} s", refresh=False)
            self._advance(count)

    def points(self, ended: int, points: int) -> None:
        """Show the number of finished points of a study."""
        if self._bar is not None and points:
            self._bar.total = points
            self._advance(ended)

    def _advance(self, count: int) -> None:
        self._bar.update(max(count - self._bar.n, 0))

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
