"""The one clock: how long a call may take, and whether it was asked to stop.

Whoever is called first states the seconds (`within`); everything that may take longer than a tenth of a second asks
`deadline()` from time to time, and returns what it has once that is over. No other module looks at the time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")
RATE = 1 << 34
"""Multiplications of matrix products that take about one second on two cores."""


@dataclass(eq=False)
class Deadline:
    """The seconds that a call may take, within those of its caller."""

    seconds: float = math.inf
    caller: Deadline | None = None
    began: float = field(default_factory=lambda: time.monotonic())
    stopped: bool = False
    """Whether Ctrl-C ended it before its time."""
    cut: bool = False
    """Whether its time or that of a part of it ended work that could go on."""

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0; 0 after Ctrl-C."""
        if self.stopped:
            return 0.0
        own = max(0.0, self.seconds - self.elapsed)
        return own if self.caller is None else min(own, self.caller.left)

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return self.left <= 0

    def until(self, share: float) -> float:
        """Return the seconds that are left until a share of all seconds has passed, at least 0."""
        own = share * self.seconds - self.elapsed
        return max(0.0, min(own, self.left))

    def part(self, share: float) -> Deadline:
        """Return a deadline for a share of the seconds that are left."""
        return Deadline(share * self.left, self)

    def cut_short(self) -> None:
        """Note, here and in the calls around it, that time ended work that could go on."""
        one: Deadline | None = self
        while one is not None and one.caller is not None:  # the last one is everybody's
            one.cut, one = True, one.caller

    def ends_descent(self, _: object) -> None:
        """Be the callback of a descent of SciPy, which ends once no time is left."""
        if self.over:
            raise StopIteration

    def shares(self, places: Sequence[T]) -> Iterator[tuple[T, float]]:
        """Yield places with an equal share of the seconds that are left: the first one, others while there are any.

        >>> [(name, round(seconds)) for name, seconds in Deadline(60.0).shares("ab")]
        [('a', 30), ('b', 60)]
        """
        for done, place in enumerate(places):
            if not done or not self.over:
                yield place, self.left / (len(places) - done)
            else:
                self.cut_short()

    @contextmanager
    def ended_by_hand(self) -> Iterator[None]:
        """Let Ctrl-C end the block: whatever asks afterwards, also in the calls around it, has no time left."""
        try:
            yield
        except KeyboardInterrupt:
            one: Deadline | None = self
            while one is not None and one.caller is not None:  # the last one is everybody's
                one.stopped, one = True, one.caller

    def done(self, work: Callable[[], T]) -> T:
        """Return what work returns; Ctrl-C ends it, and with no time left it is done once more, at its quickest."""
        with self.ended_by_hand():
            return work()
        return work()


_current: ContextVar[Deadline] = ContextVar("deadline", default=Deadline())  # noqa: B039  never stopped


def deadline() -> Deadline:
    """Return the deadline of the call; one without end where nobody has set one."""
    return _current.get()


def fits(multiplications: float, beyond: float = 0.0) -> bool:
    """Return whether work of so many multiplications, which cannot be ended early, fits into what is left.

    It may take so many seconds `beyond` that.
    """
    return multiplications <= RATE * (deadline().left + beyond)


def granted(seconds: Any, otherwise: float = math.inf, name: str = "seconds") -> float:
    """Return the seconds that a caller grants; those `otherwise` where it states none."""
    from stratagem.math.number import real  # with NumPy, which commands start without

    if seconds is None:
        return otherwise
    if not 0 < (found := real(seconds)) < math.inf:
        advice = (
            "a finite number, or none for no limit" if found == math.inf else "a number of seconds above 0"
        )
        raise ValueError(f"{name} is {seconds!r}: give {advice}")
    return found


@contextmanager
def within(seconds: float = math.inf) -> Iterator[Deadline]:
    """Give a block so many seconds, or what its caller has left if that is less."""
    caller = _current.get()
    one = Deadline(min(seconds, caller.left), caller)
    token = _current.set(one)
    try:
        yield one
    finally:
        _current.reset(token)
