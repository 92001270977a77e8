"""What the reports say so far: how many came, and the answers with their intervals."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stratagem.estimation.answer import answers_data
from stratagem.estimation.question import QuestionAnswers
from stratagem.io.table import Table, render
from stratagem.math.deadline import Deadline
from stratagem.math.number import spread, upper
from stratagem.math.privacy import told
from stratagem.mechanism.usable import estimate_usability, reported
from stratagem.workloads.explicit import counts_users
from stratagem.workloads.question import called, is_survey

if TYPE_CHECKING:
    from stratagem.cli.serve.intake import Intake
    from stratagem.collection.tally import Tally
    from stratagem.estimation.answer import Answer
    from stratagem.estimation.estimate import Estimate
    from stratagem.mechanism.mechanism import Mechanism
    from stratagem.mechanism.usable import Usability
    from stratagem.workloads import Workload

SHOWN = 128
"""Most answers on the page; of more, some that are evenly spread."""
OF_A_QUESTION = 48
"""Most answers of a question of a survey on the page."""
EVERY = 2.0
"""Least number of seconds between two counts, so that looking at results does not slow down what collects."""


@dataclass(frozen=True, eq=False)
class Section:
    """The answers to a question of a survey, or to all queries of what is none."""

    title: str
    """The attributes in words; empty for all queries."""
    answers: list[Answer]
    """All of them; of many, some that are evenly spread."""
    found: Estimate
    verdict: Usability
    """That of the reports that came."""
    later: Usability | None
    """That of the reports of everybody who was asked; None where no more are to come."""

    @property
    def told(self) -> bool:
        """Whether the page shows the answers: some report is about them, and reports are not too few."""
        return self.found.reports > 0 and not self.verdict.too_few

    def shown(self) -> dict[str, Any]:
        """Return what the page shows of them; of answers that are not told nothing but that."""
        found, verdict, later = self.found, self.verdict, self.later
        head = {
            "title": self.title,
            "usable": verdict.usable,
            "verdict": verdict.too_few or (str(verdict) if self.title or not verdict.usable else ""),
            "reported": f"{reported(found)}." if 0 < found.reports < found.users else "",
            "later": "" if later is None or verdict.usable or not found.reports else _expected(later),
            "table": None,
            "bars": [],
        }
        if not self.told:
            return head
        return head | {"table": _table(found, self.answers), "bars": _bars(found, self.answers)}


class Results:
    """The counts of a collection that grows and the estimates from them, at most `EVERY` seconds old or up to date.

    They are computed in a thread with a connection of its own, which sees what was committed before.
    """

    def __init__(self, mechanism: Mechanism, intake: Intake, *, question: str = "", users: int | None = None):
        """Show the collection that the intake writes; `users` people were asked, if known."""
        self.mechanism, self.intake, self.question, self.users = mechanism, intake, question, users
        self._collection = intake.collection.another()
        self._thread = ThreadPoolExecutor(1)
        self._alone = asyncio.Lock()
        self._clock: Deadline | None = None
        self._stored = -1
        self._found: tuple[Tally, Estimate | None, list[Section]]

    async def page(self) -> str:
        """Return the page of results."""
        tally, found, sections = await self._latest()
        return render(
            "cli/serve/results.html",
            question=self.question or called(self.mechanism.name, self.mechanism.domain.names),
            reports=tally.reports,
            users=self.users,
            refused=[(reason, number) for reason, number in self.intake.refused.most_common() if number],
            fault=self.intake.fault,
            sections=[one.shown() for one in sections],
            confidence="" if found is None else f"{100 * found.confidence:g} %",
            shown=sum(len(one.answers) for one in sections if one.told),
            queries=self.mechanism.workload.queries,
            intervals="" if found is None else found.intervals,
            impossible="" if found is None or not found.impossible.fact else str(found.impossible),
            epsilon=f"{float(self.mechanism.epsilon):g}",
            told=told(float(self.mechanism.epsilon), "that answer", "one report"),
            permanent="" if self.mechanism.memo is None else upper(float(self.mechanism.memo.permanent)),
        )

    async def data(self) -> dict[str, Any]:
        """Return the results as JSON values: the reports, what was refused, and the answers as a file holds them."""
        tally, found, sections = await self._latest()
        head = {"mechanism": self.mechanism.identifier, "epsilon": float(self.mechanism.epsilon)}
        head |= {"reports": tally.reports, "refused": dict(+self.intake.refused)}
        if found is None:
            return head | {"answers": []}
        if is_survey(found.workload):
            head["usable"] = all(one.verdict.usable for one in sections)
            head["questions"] = [{"question": one.title} | one.verdict.data() for one in sections]
        else:
            head |= sections[0].verdict.data()
        some = found.table(spread(found.workload.queries, SHOWN))
        return head | answers_data(some, found.details, found.naming)

    def close(self) -> None:
        """End the thread, and the connection to the file."""
        self._thread.shutdown()
        self._collection.close()

    async def _latest(self) -> tuple[Tally, Estimate | None, list[Section]]:
        """Return the counts and the estimates, new ones where reports came since the last and these are old."""
        async with self._alone:
            old = self._clock is None or self._clock.elapsed >= EVERY
            if self._stored != self.intake.stored and old:
                stored = self.intake.stored
                loop = asyncio.get_running_loop()
                self._found = await loop.run_in_executor(self._thread, self._computed)
                self._stored, self._clock = stored, Deadline()
            return self._found

    def _computed(self) -> tuple[Tally, Estimate | None, list[Section]]:
        tally = self._collection.tally()
        if not tally.reports:
            return tally, None, []
        found = self.mechanism.estimate(tally.counts)
        return tally, found, list(self._sections(found))

    def _sections(self, found: Estimate) -> Iterator[Section]:
        """Yield the answers with their verdict: of a survey those to each question, else all."""
        if not is_survey(found.workload):
            some = found.table(spread(found.workload.queries, SHOWN))
            yield Section("", some, found, *self._judged(found, found.workload))
            return
        for one, own in found.by_question():
            some = spread(one.workload.queries, OF_A_QUESTION) if own.reports else ()
            shown = QuestionAnswers.of(one, own, some)
            yield Section(shown.title, list(shown.answers), own, *self._judged(own, one.workload))

    def _judged(self, found: Estimate, asked: Workload) -> tuple[Usability, Usability | None]:
        """Return whether answers are usable, and whether they will be when all have reported who were asked."""
        epsilon, users = float(self.mechanism.epsilon), self.users or 0
        more = users > found.users and self.mechanism.memo is None
        now = estimate_usability(found, epsilon, asked)
        return now, estimate_usability(found, epsilon, asked, users) if more else None


def _expected(later: Usability) -> str:
    """Return in a sentence what to expect of the answers once everybody has reported."""
    will = "can probably be used" if later.usable else "will probably not be usable either"
    return f"Once all {later.people:,} people have reported, the answers {will}."


def _table(found: Estimate, answers: list[Answer]) -> Table:
    """Return answers as a table of people, or of what the queries add up."""
    headings = ("answer", "estimate", f"{100 * found.confidence:g} % from", "to")
    rows = [(one.label, *(f"{number:,.1f}" for number in (one.answer, one.low, one.high))) for one in answers]
    return Table(headings, rows, caption="Estimates of the people who reported")


def _bars(found: Estimate, answers: list[Answer]) -> list[dict[str, str]]:
    """Return the bars of shares, their intervals and what stands beside them; none where queries count no people."""
    if not counts_users(found.workload):
        return []
    first, last = min(0.0, *(one.low for one in answers)), max(one.high for one in answers)
    bars = []
    for one in answers:
        numbers = one.low, one.answer, one.high
        zero, low, answer, high = (100 * (number - first) / (last - first) for number in (0.0, *numbers))
        shares = (100 * min(number / found.users, 1) for number in numbers)
        least, share, most = (f"{number:.1f}\N{NO-BREAK SPACE}%" for number in shares)
        places = {"zero": zero, "begin": min(zero, answer), "length": abs(answer - zero)}
        places |= {"start": low, "width": high - low}
        bars.append(
            {key: f"{place:.2f}" for key, place in places.items()}
            | {"label": one.label, "text": f"{share} ({least} to {most})"}
        )
    return bars
