"""The driver: reads a plan from its standard input, has Ray place its blocks, and prints a line for each made.

It goes on for as long as its standard input is open: whoever started it stops it by closing that, or by ending.
"""

import json
import logging
import os
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Before Ray is imported, which reads it then.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# What Ray will do by itself, and warns of until then.
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import ray
from ray.exceptions import RayError

from contend_ray import host

PROTOCOL = 1
# A node of the cluster that may be measured on has one of it, and each block takes it whole.
RESOURCE = "contend_host"
# Blocks given to Ray for each host: one that is made, and one that waits for it to end.
AHEAD = 2
# How often a block is made again elsewhere when its node is lost.
RETRIES = 3
# How often is looked whether hosts came or went, and whether to stop.
LOOK_EVERY_S = 0.2
# How long the cluster's address may take to answer.
CONNECT_S = 10
# How long blocks that are cancelled may take to end.
CANCEL_S = 15
REFUSED = 2
INTERRUPTED = 130


class RefusedError(Exception):
    """What cannot be done, with the way out."""


@dataclass
class Block:
    """Runs that are made one after the other on one host."""

    label: str
    ids: list[str]


@dataclass
class Plan:
    """What is to be made."""

    program: Path
    recipe: str
    budget_s: float | None
    blocks: list[Block]

    @classmethod
    def read(cls, line: str) -> "Plan":
        """Read what `contend` says."""
        said = json.loads(line)
        if said["protocol"] != PROTOCOL:
            says = (
                f"contend_ray speaks version {PROTOCOL} of the protocol and `contend` version {said['protocol']}: "
                "install the one that came with it, `python3 -m pip install ./python/contend_ray`"
            )
            raise RefusedError(says)
        blocks = [Block(block["label"], block["ids"]) for block in said["blocks"]]
        return cls(Path(said["program"]), said["recipe"], said["budget_s"], blocks)


class Listener:
    """`contend`, which reads our standard output, where Ray prints what its nodes log when one is lost."""

    def __init__(self) -> None:
        """Keep standard output for ourselves; what others print there is in Ray's own logs, too."""
        self.out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)

    def say(self, kind: str, **what: Any) -> None:  # noqa: ANN401  whatever JSON has
        """Say something, in a line."""
        self.out.write(json.dumps({"kind": kind, **what}) + "\n")
        self.out.flush()


def is_stopped() -> bool:
    """Whether `contend` has closed our standard input, or is gone."""
    readable, _, _ = select.select([sys.stdin], [], [], 0)
    return bool(readable) and not os.read(sys.stdin.fileno(), 1)


def hosts() -> int:
    """How many nodes there are to measure on."""
    return int(ray.cluster_resources().get(RESOURCE, 0))


def connect() -> None:
    """Find the cluster.

    Raises:
        RefusedError: when there is none, or it has no node that may be measured on.

    """
    start = f"ray start --num-cpus=0 --resources='{{\"{RESOURCE}\": 1}}'"
    name, _, port = os.environ.get("RAY_ADDRESS", "").removeprefix("ray://").rpartition(":")
    try:
        if name and port.isdigit():
            # Ray itself would try for minutes.
            socket.create_connection((name, int(port)), timeout=CONNECT_S).close()
        ray.init(address="auto", log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RayError) as error:
        says = f"no Ray cluster is found ({error}): start its first node with `{start} --head`, or set RAY_ADDRESS"
        raise RefusedError(says) from error
    if hosts() == 0:
        says = f"no node of the Ray cluster has `{RESOURCE}`: start each that may be measured on with `{start}`"
        raise RefusedError(says)


def measure(plan: Plan, listener: Listener) -> bool:
    """Have all blocks made; return whether it was stopped.

    Raises:
        RefusedError: when a block cannot be made; those under way are cancelled.

    """
    # Sent by value: nodes need not have this package.
    ray.cloudpickle.register_pickle_by_value(host)
    task = ray.remote(num_cpus=0, resources={RESOURCE: 1}, max_calls=1, max_retries=RETRIES)(host.make)
    program = ray.put(plan.program.read_bytes())
    begun_s, known_hosts = time.monotonic(), -1
    waiting = list(reversed(plan.blocks))
    running: dict[ray.ObjectRef[host.Made], Block] = {}
    try:
        while waiting or running:
            if is_stopped():
                return True
            if hosts() != known_hosts:
                known_hosts = hosts()
                listener.say("hosts", hosts=known_hosts)
            if plan.budget_s is not None and time.monotonic() - begun_s >= plan.budget_s:
                waiting.clear()
            while waiting and len(running) < AHEAD * max(known_hosts, 1):
                block = waiting.pop()
                running[task.remote([program], plan.recipe, block.ids)] = block
            for ended in ray.wait(list(running), timeout=LOOK_EVERY_S)[0] if running else []:
                tell(listener, ended, running.pop(ended))
    finally:
        cancel(list(running))
    return False


def tell(listener: Listener, ended: "ray.ObjectRef[host.Made]", block: Block) -> None:
    """Pass on what came of a block.

    Raises:
        RefusedError: when it was not made.

    """
    try:
        made = ray.get(ended)
    except RayError as error:
        last = str(error).strip().splitlines()[-1]
        says = f"{block.label}: could not be made on {1 + RETRIES} attempts ({last})"
        raise RefusedError(says) from error
    listener.say("block", results=made["results"], placed=made["placed"])
    if made["says"]:
        says = f"{block.label}: on node {made['placed']['node']} {made['says']}"
        raise RefusedError(says)


def cancel(running: "list[ray.ObjectRef[host.Made]]") -> None:
    """Cancel what is under way, and wait until it has ended, so that no run is left behind on a host."""
    for ref in running:
        ray.cancel(ref)
    if running:
        ray.wait(running, num_returns=len(running), timeout=CANCEL_S)


def main() -> int:
    """Do what standard input says; return the exit code."""
    # At a terminal an interrupt is for `contend`, which then closes our standard input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listener = Listener()
    try:
        plan = Plan.read(sys.stdin.readline())
        connect()
        return INTERRUPTED if measure(plan, listener) else 0
    except RefusedError as refused:
        listener.say("refused", says=str(refused))
        return REFUSED
    except BrokenPipeError:
        # Nobody listens any more.
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
