"""Run as a program: every public method of the results of one problem, with what each took, as JSON lines.

python any_size.py PROBLEM [CALL ...]
"""

import json
import math
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import stratagem as st
from stratagem.estimators import estimator
from stratagem.math.vector import counted
from stratagem.report.content import rated
from stratagem.solvers.problem import problem_of
from stratagem.study.ranking import rank_affordable

USERS = 2000
SPACE = 6 << 30  # bytes of addresses: threads reserve some without using them


def arc(n, share):
    """Return n bits of which the first are set, in odd number: no frequency of a power of two vanishes."""
    return st.strategies.Pattern.of((0,), np.arange(n) < 2 * int(n * share / 2) + 1)


def cycle(n):
    patterns = tuple(arc(n, share) for share in (0.27, 0.05, 1 / n))
    return st.strategies.OrbitStrategy((n,), (n,), patterns, np.array([0.5, 0.3, 0.2]), math.e)


def tables(sizes, axes):
    inside = np.random.default_rng(0).random((sizes[0],) * axes) < 0.3
    inside.flat[0], inside.flat[1] = True, False
    every = (tuple(range(len(sizes))),)
    return st.strategies.JuntaStrategy(
        sizes, every, (st.strategies.Pattern.of((0,) * axes, inside),), np.ones(1), math.e
    )


def survey():
    """Return four questions, of which a sum has published mechanisms whose reports are not counted."""
    domain = st.Domain(delay=33, distance=20, origin=3, carrier=16)
    asked = st.Survey(domain).prefix("delay").mean("distance").table("origin", "carrier").table("origin")
    made = (((0,), 33, 0.6), ((1,), 20, 0.1), ((2, 3), 48, 0.3))
    parts = [st.strategies.SurveyPart(a, st.published.hadamard_mechanism(n, 1.0), s) for a, n, s in made]
    return asked.workload, st.strategies.SurveyStrategy(domain.sizes, tuple(parts))


PROBLEMS = {
    "a survey": survey,
    "all-range 2^18": lambda: (st.all_range(1 << 18), cycle(1 << 18)),
    "all-range 2^20": lambda: (st.all_range(1 << 20), cycle(1 << 20)),
    "prefix 2^20": lambda: (st.prefix(1 << 20), cycle(1 << 20)),
    "marginals 3 of 2^100": lambda: (st.marginals("2^100", 3), tables((2,) * 100, 3)),
    "marginals 3 of 2^20": lambda: (st.marginals("2^20", 3), tables((2,) * 20, 3)),
    "marginals 2 of 1000^3": lambda: (st.marginals("1000^3", 2), tables((1000,) * 3, 2)),
}


class Results:
    """The results of a problem, each made when it is first asked for."""

    def __init__(self, name, folder):
        self.workload, self.strategy = PROBLEMS[name]()
        self.folder, self._made, self.rng = folder, {}, np.random.default_rng(0)
        self.users = np.stack([self.rng.integers(a, size=USERS) for a in self.workload.domain.sizes], axis=1)
        p = self.workload.queries
        self.some = [0, p // 3, p - 1]

    def path(self, suffix):
        return self.folder / f"file{len(list(self.folder.iterdir()))}{suffix}"

    def _once(self, name, make):
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    @property
    def mechanism(self):
        return self._once("mechanism", lambda: st.Mechanism.of(self.strategy, self.workload, 1.0))

    @property
    def solution(self):
        return self._once("solution", lambda: rated(self.mechanism))

    @property
    def comparison(self):
        return self._once("comparison", lambda: st.Comparison.of(self.solution))

    @property
    def estimate(self):
        counts = counted(self.mechanism.randomise(self.users, self.rng), self.mechanism.outputs)
        return self._once("estimate", lambda: self.mechanism.estimate(counts))


CALLS = {  # what must be answered
    "users_for": lambda at: at.solution.users_for(),
    "largest_variance": lambda at: at.solution.largest_variance,
    "largest_comparable": lambda at: at.solution.largest_comparable,
    "solution": lambda at: [
        str(at.solution),
        repr(at.solution),
        at.solution._repr_html_(),
        at.solution.verdict,
    ],
    "gaps": lambda at: [at.solution.gap, at.solution.variance_gap, at.solution.least_variance],
    "shuffled": lambda at: at.solution.shuffled(10_000),
    "save": lambda at: at.solution.save(at.path(".ldp.json")),
    "load": lambda at: st.load_mechanism(at.mechanism.save(at.path(".ldp.json"))),
    "plot": lambda at: at.solution.plot(at.path(".svg")),
    "report": lambda at: at.solution.report(at.path(".html"), users=10_000),
    "comparison": lambda at: [str(at.comparison), at.comparison._repr_html_(), at.comparison.footer()],
    "table": lambda at: [at.comparison.table(), at.comparison.objectives(), at.comparison.records()],
    "comparison plot": lambda at: at.comparison.plot(at.path(".svg")),
    "published": lambda at: [one.users_for() for one in rank_affordable(at.solution.problem, invariant=True)],
    "lower bounds": lambda at: [str(st.lower_bounds(at.workload, 1.0)), at.solution.bounds.record()],
    "bound sweep": lambda at: st.bound_sweep(at.workload, [1.0, 2.0]),
    "attack": lambda at: st.study.attack(at.strategy),
    "bundle": lambda at: [len(at.mechanism.text), at.mechanism.identifier, at.mechanism.outputs],
    "memo": lambda at: at.mechanism.memoised(2.0),
    "mechanism plot": lambda at: at.mechanism.plot(at.path(".svg")),
    "mechanism report": lambda at: at.mechanism.report(at.path(".html")),
    "audit": lambda at: st.audit(at.mechanism, samples=100, types=4),
    "answer users": lambda at: [float(at.workload.answer_users(at.users)[i]) for i in at.some],
    "describe": lambda at: [at.workload.describe(i) for i in at.some],
    "variances": lambda at: [float(estimator(at.strategy).variances(at.workload)[i]) for i in at.some],
    "largest variances": lambda at: [float(estimator(at.strategy).largest(at.workload)[i]) for i in at.some],
    "estimate": lambda at: [str(at.estimate), at.estimate._repr_html_(), at.estimate.details],
    "answers": lambda at: [
        column[i]
        for column in (at.estimate.answers, at.estimate.standard_errors, at.estimate.low, at.estimate.high)
        for i in at.some
    ],
    "slice": lambda at: [at.estimate[:5], at.estimate[-1], at.estimate.answers[3:6].tolist()],
    "one by one": lambda at: at.estimate.table(at.some),
    "together": lambda at: at.estimate.together().table(at.some),
    "population": lambda at: at.mechanism.estimate(
        counted(at.mechanism.randomise(at.users, at.rng), at.mechanism.outputs), about="population"
    ).table(at.some),
    "marginal": lambda at: at.estimate.marginal(at.workload.domain.names[0]).table([0]),
    "quantile": lambda at: at.estimate.quantile(0.5, at.workload.domain.names[0]),
    "save answers": lambda at: at.estimate.save(at.path(".json"), at.some),
    "estimate plot": lambda at: at.estimate.plot(at.path(".svg")),
}
OPTIONAL = {  # an answer, or one sentence
    "data": lambda at: at.estimate.data.sum(),
    "all answers": lambda at: np.asarray(at.estimate.answers).sum(),
    "top": lambda at: at.estimate.top(2),
    "covariance": lambda at: at.estimate.covariance(),
    "post-processed": lambda at: at.mechanism.estimate(
        counted(at.mechanism.randomise(at.users, at.rng), at.mechanism.outputs), method="wnnls"
    ),
    "save all": lambda at: at.estimate.save(at.path(".csv")),
    "histogram": lambda at: at.estimate.ask(st.histogram(at.workload.domain)),
    "matrix": lambda at: at.solution.matrix,
    "certificate": lambda at: at.solution.certificate,
    "gram": lambda at: at.workload.gram(),
    "on data": lambda at: at.comparison.on(np.ones(min(at.workload.domain_size, 1 << 20), dtype=int)),
    "roc": lambda at: st.study.roc(at.strategy, 0, 1),
    "simulate": lambda at: st.simulate(
        at.workload, at.strategy, np.ones(min(at.workload.domain_size, 1 << 20), dtype=int), repetitions=2
    ),
}


def peak():
    """Return the most gigabytes that this program held; `ru_maxrss` would count what its parent held as well."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return int(status.read_text().split("VmHWM:")[1].split()[0]) / 2**20


def run(name, calls):
    with tempfile.TemporaryDirectory() as folder:
        at = Results(name, Path(folder))
        problem_of(at.workload, 1.0)
        for call in calls or [*CALLS, *OPTIONAL]:
            begin, refused = time.process_time(), ""
            try:
                (CALLS | OPTIONAL)[call](at)
            except Exception as error:  # noqa: BLE001
                refused = f"{type(error).__name__}: {error}"
            took = time.process_time() - begin
            found = {"call": call, "seconds": took, "gigabytes": peak(), "refused": refused}
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
    run(sys.argv[1], sys.argv[2:])
