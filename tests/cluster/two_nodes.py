"""Two nodes of a Ray cluster on loopback make a sweep, and one of them is killed in the middle.

Claims: all results are there; both nodes made some before the loss; no two blocks overlapped on a node; what was made
is not made again; an interrupted sweep leaves nothing behind and goes on; what is missing is refused with the way out.
Each node has a lock of its own, as if it were a host of its own: that no runs overlap on one is then Ray's doing alone.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

RECIPE = """
title = "two nodes"
workload = "ycsb"
schemes = ["silo", "no_wait"]
repeat = {repeat}
seconds = 0.5
warmup = 0.1
[settings]
workers = 1
"ycsb.records" = 10000
[vary]
"ycsb.theta" = [0.5, 0.9]
[why]
"ycsb.records" = "loads quickly"
"ycsb.theta" = "the question"
"""
BLOCKS, RUNS = 12, 24
REFUSED, INTERRUPTED = 2, 130
PORT = 6400
# By it all processes of this test are found, whoever started them.
MARK = f"CONTEND_CLUSTER_TEST={os.getpid()}"


def marked() -> list[int]:
    """All processes that this test has led to, but for itself."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if MARK.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except (OSError, ValueError):
            continue
    return found


def wait_until(what: str, holds: Callable[[], bool], limit_s: float = 300) -> None:
    """Wait until something holds; fail with what it is if it does not within a time that no working system needs."""
    end_s = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > end_s:
            sys.exit(f"FAILED: {what}")
        time.sleep(0.1)


class Cluster:
    """Nodes on loopback, each with a session folder, a lock and processes of its own."""

    def __init__(self, folder: Path) -> None:
        """Start nothing yet."""
        self.folder = folder
        key, value = MARK.split("=")
        self.env = os.environ | {
            key: value,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ADDRESS": f"127.0.0.1:{PORT}",
            "RAY_health_check_failure_threshold": "2",
            "RAY_health_check_period_ms": "1000",
        }

    def start(self, name: str, *, is_head: bool = False, resources: str = '{"contend_host": 1}') -> None:
        """Start a node."""
        role = ["--head", f"--port={PORT}", "--include-dashboard=false"] if is_head else [f"--address=127.0.0.1:{PORT}"]
        words = ["ray", "start", *role, "--node-ip-address=127.0.0.1", "--num-cpus=0", f"--resources={resources}"]
        words += ["--object-store-memory=300000000", "--disable-usage-stats"]
        env = self.env | {"CONTEND_LOCK": str(self.folder / f"{name}.lock"), "CONTEND_NODE": name}
        env.pop("RAY_ADDRESS")
        with (self.folder / f"{name}.log").open("w") as log:
            code = subprocess.run(words, env=env, stdout=log, stderr=log, check=False).returncode
        if code != 0:
            sys.exit(f"FAILED: node {name} does not start:\n{(self.folder / f'{name}.log').read_text()}")

    def kill(self, name: str) -> None:
        """Kill all processes of a node at once, as a power cut would."""
        wanted = f"CONTEND_NODE={name}".encode()
        for pid in marked():
            try:
                if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    os.kill(pid, signal.SIGKILL)
            except (OSError, ProcessLookupError):
                continue

    def end(self) -> None:
        """End everything that was started."""
        for _ in range(20):
            pids = marked()
            if not pids:
                return
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.2)


class Sweep:
    """A sweep with a folder for its results."""

    def __init__(self, contend: str, folder: Path, name: str, repeat: int) -> None:
        """Write the recipe."""
        self.recipe, self.out = folder / f"{name}.toml", folder / name
        self.recipe.write_text(RECIPE.format(repeat=repeat))
        self.words = [contend, "sweep", str(self.recipe), "--executor", "ray"]

    def start(self, env: dict[str, str]) -> "subprocess.Popen[str]":
        """Start the sweep."""
        pipe = subprocess.PIPE
        return subprocess.Popen(self.words, env=env, text=True, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL)

    def results(self) -> list[dict[str, Any]]:
        """All results that are there."""
        return [json.loads(file.read_text()) for file in sorted(self.out.glob("runs/*.json"))]

    def nodes(self) -> set[str]:
        """Name the nodes that made them."""
        return {result["placed"]["node"] for result in self.results()}


def claim(holds: bool, says: str, told: str = "") -> None:  # noqa: FBT001  a claim is just that
    """Print what holds, and fail with what does not and what was told of it."""
    if not holds:
        sys.exit(f"FAILED: {says} {told}")
    print(f"holds: {says}", flush=True)


def blocks_by_node(results: list[dict[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """When blocks were made, by node, in order."""
    times: defaultdict[str, set[tuple[float, float]]] = defaultdict(set)
    for result in results:
        placed = result["placed"]
        times[placed["node"]].add((placed["block_begun_unix_s"], placed["block_ended_unix_s"]))
    return {node: sorted(of_node) for node, of_node in times.items()}


def lose_a_node(sweep: Sweep, cluster: Cluster) -> None:
    """Kill a node once both have made something, and look what comes of the sweep."""
    running = sweep.start(cluster.env)
    wait_until("both nodes make runs", lambda: len(sweep.nodes()) > 1 or running.poll() is not None)
    before = len(sweep.results())
    claim(
        running.poll() is None and before < RUNS, f"both nodes had made runs ({before} of {RUNS}) before one was lost"
    )
    cluster.kill("second")
    out, err = running.communicate(timeout=500)
    print(out, end="")
    claim(running.returncode == 0, "the sweep ends well although a node was lost", err)
    results = sweep.results()
    claim(len(results) == RUNS, f"all {RUNS} results are there")
    claim(len({result["build"] for result in results}) == 1, "one build made them")
    times = blocks_by_node(results)
    count = sum(map(len, times.values()))
    overlaps = [1 for of_node in times.values() for a, b in pairwise(of_node) if b[0] < a[1]]
    claim(not overlaps and count <= BLOCKS, f"none of {count} blocks overlapped with another on its node")
    for node, of_node in times.items():
        print(f"       node {node}: {len(of_node)} blocks")


def go_on(sweep: Sweep, cluster: Cluster) -> None:
    """Start a sweep again that is whole, and one that was interrupted."""
    files = {file: file.stat().st_mtime_ns for file in sweep.out.glob("runs/*")}
    again = sweep.start(cluster.env)
    again.communicate(timeout=300)
    claim(again.returncode == 0, "the second invocation ends well")
    claim(files == {file: file.stat().st_mtime_ns for file in sweep.out.glob("runs/*")}, "and measures nothing")

    longer = Sweep(sweep.words[0], sweep.recipe.parent, "longer", 20)
    running = longer.start(cluster.env)
    wait_until("the longer sweep makes runs", lambda: len(longer.results()) > 1 or running.poll() is not None)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=300)
    claim(running.returncode == INTERRUPTED and "UNFINISHED" in out, "an interrupt ends a sweep early", err)
    contend = [pid for pid in marked() if b"--only" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    claim(not contend, "and no run is left behind")


def refuse(sweep: Sweep, cluster: Cluster) -> None:
    """Ask for what cannot be."""
    fresh = Sweep(sweep.words[0], sweep.recipe.parent, "refused", 1)

    def refusal(env: dict[str, str]) -> str:
        ended = fresh.start(env)
        _, err = ended.communicate(timeout=300)
        return err if ended.returncode == REFUSED else f"exit code {ended.returncode}: {err}"

    says = refusal(cluster.env | {"PATH": "/nowhere"})
    claim("install Python" in says, "without Python: what to install", says)
    says = refusal(cluster.env | {"PATH": "/usr/bin:/bin"})
    claim("python3 -m pip install" in says, "without the driver: what to install", says)
    cluster.end()
    says = refusal(cluster.env | {"RAY_ADDRESS": "127.0.0.1:1"})
    claim("ray start" in says, "without a cluster: how to start one", says)


def main() -> None:
    """Do all of it, and end what was started."""
    with tempfile.TemporaryDirectory(prefix="contend-cluster-") as name:
        folder = Path(name)
        cluster = Cluster(folder)
        sweep = Sweep(sys.argv[1], folder, "sweep", RUNS // 4)
        try:
            cluster.start("first", is_head=True)
            cluster.start("second")
            print("two nodes are up", flush=True)
            lose_a_node(sweep, cluster)
            go_on(sweep, cluster)
            refuse(sweep, cluster)
        finally:
            cluster.end()
        claim(not marked(), "nothing is left running")


if __name__ == "__main__":
    main()
