"""Reports of requests: each request limited and checked, many written together, and on the disk once acknowledged."""

from __future__ import annotations

import asyncio
import io
import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from starlette.requests import ClientDisconnect, Request

from stratagem.collection.collection import Collection
from stratagem.collection.reports import Reason, Report, ReportFormat, blocks, read
from stratagem.collection.tally import Receipt
from stratagem.math.deadline import Deadline

ONE = "application/json"
MANY = ("application/x-ndjson", "application/jsonl", "application/jsonlines")
LARGEST = {ONE: 1 << 12, **dict.fromkeys(MANY, 1 << 20)}
"""Largest numbers of bytes of one report and of JSON lines, by the content type."""
SECONDS = 20.0
"""Seconds within which a body must arrive."""


class RefusedError(Exception):
    """A request that is not read: its status and the sentence that says why."""

    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status = status


def kind_of(request: Request) -> str:
    """Return the content type of a request."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind not in LARGEST:
        raise RefusedError(415, f"send {ONE} for one report, or {MANY[0]} for JSON lines")
    stated = request.headers.get("content-length", "0")
    if not stated.isdecimal() or len(stated) > 15 or int(stated) > LARGEST[kind]:
        raise _too_large(kind)
    return kind


async def body_of(request: Request, kind: str) -> bytes:
    """Return the body of a request.

    Raises:
        RefusedError: if it is larger than allowed, or does not arrive in time or at all.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LARGEST[kind]:
                    raise _too_large(kind)
    except TimeoutError:
        raise RefusedError(
            408, f"the body did not arrive within {SECONDS:g} seconds: send it again"
        ) from None
    except ClientDisconnect:
        raise RefusedError(400, "the body ended early: send it again") from None
    return bytes(body)


def reports_of(body: bytes, kind: str, form: ReportFormat) -> tuple[np.ndarray, np.ndarray, Counter[Reason]]:
    """Return the reports in a body, ids (k, 16) uint8 and outputs (k,), and the number of other lines by reason."""
    if kind == ONE:
        found = form.parse(body)
        if isinstance(found, Report):
            ids = np.frombuffer(bytes.fromhex(found.id), np.uint8).reshape(1, 16)
            return ids, np.array([found.output]), Counter()
        return np.empty((0, 16), np.uint8), np.empty(0, np.int64), Counter([found])
    parts = [read(block, form) for block in blocks(io.BytesIO(body))] or [read(b"", form)]
    ids, outputs, refused = zip(*parts, strict=True)
    return np.concatenate(ids), np.concatenate(outputs), sum(refused, Counter())


def _too_large(kind: str) -> RefusedError:
    return RefusedError(413, f"the body is larger than {LARGEST[kind]:,} bytes: send less at a time")


WAITING = 1 << 16
"""Most reports that wait to be written: 2 MB of them, and what comes beyond is asked to come again."""
Arrays = tuple[np.ndarray, np.ndarray]
"""Reports as the bytes of their ids (k, 16), uint8, and their outputs (k,)."""


class BusyError(Exception):
    """More reports wait than are kept in memory."""


class StoreError(Exception):
    """Reports could not be written; none of them is in the collection."""


class Allowance:
    """Reports that may come in a second, whoever sends them: a bucket of two seconds' reports that fills steadily.

    It counts all senders together. To count each by itself, their addresses would have to be kept, and they tell who
    took part.
    """

    def __init__(self, rate: float):
        """Start with a full bucket of `rate` reports a second."""
        self.rate = rate
        self._level, self._seen, self._clock = 2 * rate, 0.0, Deadline()

    @property
    def left(self) -> bool:
        """Whether a report may come now."""
        now = self._clock.elapsed
        self._level = min(2 * self.rate, self._level + self.rate * (now - self._seen))
        self._seen = now
        return self._level > 0

    def spend(self, reports: int) -> None:
        """Take reports out of the bucket; a debt is paid before the next ones may come."""
        self._level -= reports


class Intake:
    """Writes the reports of many requests into a collection: all that came while the last ones were written, at once.

    One thread writes, in one transaction for all reports that wait, so that the number of reports a second does not
    hang on the time that a disk takes to confirm.
    """

    def __init__(self, collection: Collection, rate: float):
        """Take reports into the collection, at most so many a second."""
        self.form = collection.form
        self.allowance = Allowance(rate)
        self.stored = 0
        """Reports stored since the start."""
        self.refused: Counter[str] = Counter()
        """Reports refused since the start, by reason."""
        self.fault = ""
        """Why the last reports could not be written; empty if they were."""
        self.collection = collection
        self._waiting: list[tuple[Arrays, asyncio.Future[np.ndarray]]] = []
        self._size = 0
        self._writer: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1)

    async def take(self, ids: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Store checked reports; return the `Receipt` of each (k,) once they are on the disk.

        Raises:
            BusyError: if too many wait already.
            StoreError: if they cannot be written.
        """
        if self._size > WAITING:
            raise BusyError
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(((ids, outputs), done))
        self._size += len(ids)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        return await done

    def refuse(self, refused: Counter[Reason]) -> None:
        """Count lines that are no reports of this mechanism."""
        self.refused.update({str(reason): number for reason, number in refused.items()})

    def close(self) -> None:
        """Let what is being written be written."""
        self._thread.shutdown()

    async def _write(self) -> None:
        """Write what waits until nothing does."""
        while self._waiting:
            batch, self._waiting, self._size = self._waiting, [], 0
            ids, outputs = map(np.concatenate, zip(*(arrays for arrays, _ in batch), strict=True))
            try:
                found = await asyncio.get_running_loop().run_in_executor(
                    self._thread, self.collection.receive, ids, outputs
                )
            except Exception as error:  # noqa: BLE001  nobody may be left without an answer
                self.fault = str(error) or type(error).__name__
                logging.getLogger(__name__).error("reports cannot be stored: %s", self.fault)
                for _, done in batch:
                    if not done.done():  # else it is no longer waited for
                        done.set_exception(StoreError(self.fault))
                continue
            self.fault = ""
            self.stored += int((found == Receipt.TAKEN).sum())
            self.refused["id taken before"] += int((found == Receipt.CONTESTED).sum())
            ends = np.cumsum([len(names) for (names, _), _ in batch])[:-1]
            for part, (_, done) in zip(np.split(found, ends), batch, strict=True):
                if not done.done():
                    done.set_result(part)
