"""Bundles of surveys that break what they promise: why, what the Python client says of it, and the bytes."""

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import stratagem as st
from handmade import sealed_text
from mechanisms import mechanism
from stratagem.mechanism.client import certificate, exp_below
from stratagem.mechanism.mechanism import Mechanism

Change = Callable[[dict[str, Any]], Any]
EPSILON, SHARE = "breaks its epsilon", "a share is .*, but must be a whole number"


def changed(change: Change, case: str = "survey") -> bytes:
    """Return a survey after a change of it, with the hash and, where there is one, the certificate for it."""
    bundle = copy.deepcopy(mechanism(case).bundle)
    change(bundle)
    with suppress(ValueError, TypeError, KeyError):
        bundle["certificate"] = certificate(bundle["table"], bundle["epsilon"])
    return sealed_text(bundle)


def of_parts(change: Callable[[list[dict[str, Any]]], Any]) -> bytes:
    return changed(lambda bundle: change(bundle["table"]["parts"]))


def shared(*shares: Any) -> bytes:
    """Return the survey with other shares."""
    return of_parts(lambda parts: [one.update(share=share) for one, share in zip(parts, shares, strict=True)])


def asking(*attributes: Any, part: int = 0) -> bytes:
    """Return the survey one of whose parts asks other attributes."""
    return of_parts(lambda parts: parts[part].update(attributes=list(attributes)))


def promising(numerator: int, denominator: int) -> bytes:
    """Return the survey with a smaller epsilon, and the certificate that says so."""

    def change(bundle: dict[str, Any]) -> None:
        bundle["epsilon"] = [str(numerator), str(denominator)]
        bundle["certificate"]["exp_epsilon"] = str(exp_below(numerator, denominator))

    return changed(change)


def replaced(part: int, strategy: Any, size: int, epsilon: float) -> bytes:
    """Return the survey one of whose parts has a strategy of another epsilon, and the certificate of that."""
    table = Mechanism.of(strategy, st.histogram(size), epsilon).bundle

    def change(bundle: dict[str, Any]) -> None:
        parts = bundle["table"]["parts"]
        bundle["table"]["outputs"] += table["table"]["outputs"] - parts[part]["table"]["outputs"]
        parts[part]["table"] = table["table"]
        bundle["certificate"] |= {key: table["certificate"][key] for key in ("worst_high", "worst_low")}

    return changed(change)


def inside(part: int, key: str, to: Any) -> bytes:
    """Return the survey with another value in the table of a part."""
    return of_parts(lambda parts: parts[part]["table"].update({key: to(parts[part]["table"][key])}))


def broken() -> Iterator[tuple[str, str, bytes]]:
    """Yield what is wrong, what the Python client says of it, and the bundle."""
    a, b, c = (one["share"] for one in mechanism("survey").bundle["table"]["parts"])
    fits, falls = "another number of values than the table", "the attributes of a part do not rise"
    whole = "a place of an attribute is .*, but must be a whole number"
    yield "a smaller epsilon", EPSILON, promising(999_999, 1_000_000)
    yield (
        "a part of columns with more epsilon",
        EPSILON,
        replaced(1, st.published.randomised_response(5, 1.1), 5, 1.1),
    )
    yield "a part of sets with more epsilon", EPSILON, inside(0, "low", lambda low: low - (low >> 10))
    yield "a part of translates with more epsilon", EPSILON, inside(2, "low", lambda low: low - (low >> 10))
    yield "a negative share", SHARE, shared(-a, b + 2 * a, c)
    yield "a share of zero", SHARE, shared(0, b + a, c)
    yield "a share that is a text", SHARE, shared(str(a), b, c)
    yield "a share that is true", SHARE, shared(True, b + a - 1, c)
    yield (
        "a share with a fraction",
        "no whole number|not a whole number",
        shared(a, b, c).replace(f'"share": {a}'.encode(), f'"share": {a}.0'.encode()),
    )
    yield "shares of less", "do not sum to 2", shared(a, b, c - 1)
    yield "shares of more", "do not sum to 2", shared(a, b, c + 1)
    yield "shares twice as large", "do not sum to 2", shared(2 * a, 2 * b, 2 * c)
    yield "an attribute out of range", fits, asking(5, part=1)
    yield "an attribute far out of range", whole, asking(1 << 60, part=1)
    yield "an attribute below zero", whole, asking(-1, part=1)
    yield "an attribute that is a text", whole, asking("3", part=1)
    yield "an attribute twice", falls, asking(0, 0)
    yield "attributes that fall", falls, asking(1, 0)
    yield "an attribute of another size", fits, asking(2, part=1)
    yield "an attribute more", fits, asking(0, 1, 2)
    yield "no attributes", "stands in no list", asking()
    yield "attributes as a number", "stands in no list", of_parts(lambda parts: parts[1].update(attributes=3))
    yield "no parts", "the table has no parts", changed(lambda one: one["table"].update(parts=[]))
    yield "parts as an object", "the table has no parts", changed(lambda one: one["table"].update(parts={}))
    yield (
        "a part inside a part",
        "a part has parts itself",
        of_parts(
            lambda parts: parts[1].update(
                table={"kind": "parts", "outputs": 5, "parts": [parts[1] | {"share": 1 << 32}]}
            )
        ),
    )
    yield "a part of an unknown kind", "none of the kinds", inside(1, "kind", lambda _: "orbits")
    yield "a part without a table", "none of the kinds", of_parts(lambda parts: parts[1].update(table=None))
    yield (
        "an output more",
        "the parts have other outputs",
        changed(lambda one: one["table"].update(outputs=one["table"]["outputs"] + 1)),
    )
    yield (
        "an output less",
        "the parts have other outputs",
        changed(lambda one: one["table"].update(outputs=one["table"]["outputs"] - 1)),
    )
    yield "outputs as a text", "outputs is", changed(lambda one: one["table"].update(outputs="62"))
    yield "a part less", "do not sum to 2", of_parts(lambda parts: parts.pop())
    yield "a key more in a part", "exactly the keys", of_parts(lambda parts: parts[0].update(low=1))
    yield "a key less in a part", "exactly the keys", of_parts(lambda parts: parts[0].pop("share"))
    yield (
        "a key more in the table",
        "exactly the keys",
        changed(lambda one: one["table"].update(user_types=840)),
    )
    yield (
        "weights of a part that sum to less",
        "do not sum to 2",
        inside(0, "weights", lambda text: "AAAA" + text[4:]),
    )
    yield "a bit of a part turned", "covered|beyond", inside(0, "patterns", lambda text: "/" + text[1:])
    yield (
        "a certificate of another ratio",
        "not that of the table",
        sealed_text(
            mechanism("survey").bundle
            | {"certificate": mechanism("survey").bundle["certificate"] | {"worst_low": "1"}}
        ),
    )
    yield (
        "a memo",
        "a memo needs a table of two levels",
        changed(
            lambda one: one.update(
                memo={"low": 1, "epsilon": {"10": "3", "100": "3", "1000": "3", "any": "3"}}
            )
        ),
    )
    yield "steps", "steps need a domain of one attribute", changed(lambda one: one.update(steps=["1"]))
