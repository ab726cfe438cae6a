"""Data-parallel training in small, as one rank: adds numbers up over TCP and saves checkpoints. Runs on the nodes, with Python's own library.

Rank 0 adds up what the others send, and sends the sum back. What goes wrong between them is told in gloo's words, since gloo does the same.
"""

import argparse
import os
import socket
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path

PORT = 29500
NUMBERS = struct.Struct("!512d")


@dataclass(frozen=True)
class Peer:
    """`address` is kept: of a connection that was reset nobody can ask it any more."""

    link: socket.socket
    address: str


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--save", type=Path, help="folder of the checkpoints; none without it")
    parser.add_argument("--savers", type=int, nargs="*", help="the ranks that save; all without it")
    parser.add_argument("--kb", type=int, default=64, help="size of a checkpoint")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--step-s", type=float, default=0.5)
    parser.add_argument("--timeout-s", type=float, default=15)
    return parser.parse_args()


def log(rank: int, text: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} [rank {rank}] {text}", flush=True)


def connect(rank: int, world: int, timeout_s: float) -> list[Peer]:
    """Rank 0: to all others, in the order of ranks. The others: to rank 0."""
    master = os.environ["SLURM_LAUNCH_NODE_IPADDR"]
    if rank:
        return [_connected(master, rank, time.monotonic() + 60, timeout_s)]
    with socket.create_server(("", PORT)) as server:
        server.settimeout(60)
        others = {}
        while len(others) < world - 1:
            link, (host, port) = server.accept()
            link.settimeout(timeout_s)
            others[link.recv(1)[0]] = Peer(link, f"[{host}]:{port}")
    return [others[number] for number in sorted(others)]


def _connected(master: str, rank: int, until: float, timeout_s: float) -> Peer:
    while True:
        try:
            link = socket.create_connection((master, PORT), timeout=timeout_s)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
            continue
        link.sendall(bytes([rank]))
        return Peer(link, f"[{master}]:{PORT}")


def all_reduce(rank: int, peers: list[Peer], value: float) -> float:
    if rank:
        _send(peers[0], value)
        return _receive(peers[0])
    total = value + sum([_receive(peer) for peer in peers])
    for peer in peers:
        _send(peer, total)
    return total


def _send(peer: Peer, value: float) -> None:
    try:
        peer.link.sendall(NUMBERS.pack(*[value] * 512))
    except (BrokenPipeError, ConnectionResetError):
        raise _closed(peer) from None


def _receive(peer: Peer) -> float:
    content = b""
    while len(content) < NUMBERS.size:
        try:
            piece = peer.link.recv(NUMBERS.size - len(content))
        except ConnectionResetError:
            piece = b""
        except TimeoutError:
            waited = round((peer.link.gettimeout() or 0) * 1000)
            raise RuntimeError(
                f"[gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting {waited}ms for recv operation to complete"
            ) from None
        if not piece:
            raise _closed(peer)
        content += piece
    return float(NUMBERS.unpack(content)[0])


def _closed(peer: Peer) -> RuntimeError:
    return RuntimeError(f"[gloo/transport/tcp/pair.cc:534] Connection closed by peer {peer.address}")


def save(path: Path, kilobytes: int) -> None:
    with path.open("wb", buffering=0) as file:
        for _ in range(kilobytes):
            file.write(os.urandom(1024))
        os.fsync(file.fileno())


def main() -> None:
    asked = options()
    rank, world = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    saves = asked.save and (asked.savers is None or rank in asked.savers)
    peers = connect(rank, world, asked.timeout_s)
    log(rank, f"process group of {world} ranks is ready on {socket.gethostname()}")
    for step in range(1, asked.steps + 1):
        time.sleep(asked.step_s)
        total = all_reduce(rank, peers, 1 / step)
        if step % 4 == 0:
            log(rank, f"step {step} loss {total / world:.4f}")
        if saves and step % 2 == 0:
            save(asked.save / f"shard-{rank}.pt", asked.kb)
    log(rank, "done")
    sys.exit(0)


if __name__ == "__main__":
    main()
