"""One rank of a small training job: sums a number around a ring of TCP connections, step by step, until its fault strikes.

It runs on the nodes with nothing but Python's standard library. Nothing here pretends: peers that lose a connection say what their
kernel told them; who waits in vain for all to join says it in torch's words. The environment sets FAULT (below), FAULT_RANK,
FAULT_STEP, STEPS, PEER_TIMEOUT (seconds) and RESCUE (seconds that a rank which lost its peer spends on saving its state, before
that fails, too).
"""

from __future__ import annotations

import ctypes
import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path

RANK = int(os.environ["SLURM_PROCID"])
WORLD = int(os.environ["SLURM_NTASKS"])
MASTER = os.environ["MASTER_ADDR"], int(os.environ.get("MASTER_PORT", "29500"))
STEPS = int(os.environ.get("STEPS", "20"))
PEER_TIMEOUT_S = float(os.environ.get("PEER_TIMEOUT", "10"))
STEP_S = 0.5
RENDEZVOUS_S = 15.0

log = logging.getLogger()


class PeerTimeoutError(Exception):
    """A neighbour did not send its part of a sum in time."""


def rendezvous() -> dict[int, str]:
    """The host of each rank: told by all to rank 0, and by it to all."""
    return serve_table() if RANK == 0 else ask_table()


def serve_table() -> dict[int, str]:
    table, waiting = {0: socket.gethostname()}, []
    with Listener(("0.0.0.0", MASTER[1]), backlog=WORLD) as listener:
        listener._listener._socket.settimeout(RENDEZVOUS_S)  # type: ignore[attr-defined]
        while len(table) < WORLD:
            try:
                peer = listener.accept()
            except TimeoutError:
                waited = f"Timed out after {RENDEZVOUS_S + 1:.0f} seconds waiting for clients. {len(table)}/{WORLD} clients joined."
                raise TimeoutError(waited) from None
            rank, host = peer.recv()
            table[rank] = host
            waiting.append(peer)
    for peer in waiting:
        peer.send(table)
        peer.close()
    return table


def ask_table() -> dict[int, str]:
    deadline = time.monotonic() + RENDEZVOUS_S * 2 / 3
    while True:
        try:
            master = Client(MASTER)
            break
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                log.error("cannot connect to %s:%s", *MASTER)
                raise
            time.sleep(0.5)
    master.send((RANK, socket.gethostname()))
    table: dict[int, str] = master.recv()
    return table


def join(table: dict[int, str]) -> tuple[Connection, Connection]:
    """The connections to the next rank and from the one before."""
    with Listener(("0.0.0.0", MASTER[1] + 1 + RANK)) as listener:
        following = connect_to(table, (RANK + 1) % WORLD)
        return following, listener.accept()


def connect_to(table: dict[int, str], rank: int) -> Connection:
    deadline = time.monotonic() + RENDEZVOUS_S
    while True:
        try:
            return Client((table[rank], MASTER[1] + 1 + rank))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def all_reduce(value: float, following: Connection, before: Connection) -> float:
    """The sum of all ranks' values."""
    total = part = value
    for _ in range(WORLD - 1):
        following.send(part)
        if not before.poll(PEER_TIMEOUT_S):
            missing = (RANK - 1) % WORLD
            log.error("all_reduce: rank %d did not send its part within %.0f s", missing, PEER_TIMEOUT_S)
            raise PeerTimeoutError(f"all_reduce: rank {missing} did not send its part within {PEER_TIMEOUT_S:.0f} s")
        part = before.recv()
        total += part
    return total


def raise_exception() -> None:
    batch = {"tokens": [1, 2, 3]}
    print(len(batch["labels"]))


def segfault() -> None:
    ctypes.string_at(0)


def use_all_memory() -> None:
    hoard = []
    while True:
        hoard.append(bytearray(os.urandom(1 << 20)))


def hang() -> None:
    while True:
        time.sleep(60)


def wait_for_kill() -> None:
    Path("/tmp/rank.pid").write_text(str(os.getpid()))
    log.info("waiting to be killed")
    time.sleep(120)


FAULTS: dict[str, Callable[[], None]] = {
    "exception": raise_exception,
    "segfault": segfault,
    "out-of-memory": use_all_memory,
    "hang": hang,
    "wait-for-kill": wait_for_kill,
}


def rescue(seconds: float) -> None:
    """An error of this rank's own, of which nobody can see that it would not have come without the lost peer."""
    time.sleep(seconds + RANK)
    state = {"step": 3}
    print(len(state["optimizer"]))


def main() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=f"%(asctime)s [rank {RANK}] %(levelname)s %(message)s")
    seconds = os.environ.get("RESCUE")
    if not seconds:
        return train()
    try:
        try:
            train()
        except (EOFError, ConnectionError):
            lost = True
        else:
            lost = False
        if lost:
            rescue(float(seconds))
    except Exception:
        log.exception("this rank has failed")
        sys.exit(1)


def train() -> None:
    following, before = join(rendezvous())
    fault = FAULTS.get(os.environ.get("FAULT", ""))
    strikes = fault is not None and int(os.environ.get("FAULT_RANK", "-1")) == RANK
    for step in range(1, STEPS + 1):
        if strikes and fault and step == int(os.environ.get("FAULT_STEP", "4")):
            fault()
        total = all_reduce(RANK + step, following, before)
        log.info("step %d/%d loss %.4f", step, STEPS, 10 / (total + 1))
        time.sleep(STEP_S)
    log.info("training finished")


if __name__ == "__main__":
    main()
