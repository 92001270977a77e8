"""Clients, mechanisms, solutions and estimates go to other processes and come back as they were."""

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import stratagem as st
from mechanisms import CASES, mechanism
from memos import memoised
from stratagem.mechanism.client import Client

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)
WAYS = {
    **{f"protocol {k}": lambda one, k=k: pickle.loads(pickle.dumps(one, k)) for k in PROTOCOLS},
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
}


class Bytes:
    """Random bytes from a seed, the same in every process."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, size):
        return self.rng.bytes(size)


def reports(client, values):
    return [client.randomise(value) for value in values]


def first_value(found):
    values = {one.name: one.values.member(0) for one in found.attributes}
    return values if len(values) > 1 else next(iter(values.values()))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", CASES)
def test_mechanisms_clients_and_estimates_come_back_as_they_were(case):
    found = mechanism(case)
    value = first_value(found)
    gathered = found.aggregator()
    for one in reports(found.client, [value] * 40):
        gathered.add(one)
    estimate = found.estimate(gathered.tally().counts)
    for way, returned in WAYS.items():
        again = returned(found)
        assert (again.identifier, again.text, again.attributes) == (
            found.identifier,
            found.text,
            found.attributes,
        ), way
        clients = [returned(Client(found.bundle, Bytes(7))), Client(found.bundle, Bytes(7))]
        assert reports(clients[0], [value] * 3) == reports(clients[1], [value] * 3), way
        with pytest.raises(ValueError, match=r"domain|asked for|must be"):
            clients[0].randomise({"nobody": "here"})
        back = returned(estimate)
        for name in ("answers", "standard_errors", "low", "high"):
            assert getattr(back, name) == pytest.approx(getattr(estimate, name), abs=1e-9), (way, name)
        assert back.ask(found.workload).answers == pytest.approx(estimate.answers, abs=1e-9), way


@pytest.mark.parametrize("method", ["unbiased", "recommended", "wnnls"])
def test_estimates_of_every_method_can_be_asked_afterwards(method):
    found = mechanism("edges")
    one = found.estimate([40, 30, 20, 10], method=method)
    _ = one.answers
    again = pickle.loads(pickle.dumps(one))
    assert str(again) == str(one)
    assert again.quantile(0.5) == one.quantile(0.5)
    assert again.ask("histogram").answers == pytest.approx(one.ask("histogram").answers)


def test_solutions_and_plans_come_back_as_they_were():
    found = st.optimise(st.prefix({"age": st.bins([0, 18, 65], no_answer=True)}), 1.0, seconds=1)
    plan = st.plan([20, 30, None] * 50, users=1000)
    for way, returned in WAYS.items():
        again = returned(found)
        assert again.mechanism().identifier == found.mechanism().identifier, way
        assert (again.objective, again.gap) == (found.objective, found.gap), way
        assert str(returned(plan)) == str(plan), way


def test_other_processes_draw_other_reports():
    """Ids of 128 random bits that are alike would come once in 10^34 times."""
    client, values = mechanism("labels").client, ["ja"] * 4
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        sent = [pool.submit(reports, client, values) for _ in range(4)]
        drawn = [one["id"] for each in sent for one in each.result()]
    assert len(set(drawn)) == len(drawn) == 16


def test_permanent_reports_stay_in_their_folder(tmp_path):
    bundle = memoised("pairs").bundle
    client = Client(bundle, memo=tmp_path)
    value = 1
    client.randomise(value)
    assert len(client._memo.reports) > 0
    again = pickle.loads(pickle.dumps(client))
    assert len(again._memo.reports) == 0
    again.randomise(value)
    assert again._memo.reports == client._memo.reports
