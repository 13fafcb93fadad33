"""What happens on a host of the cluster: a block of runs, made by `contend` itself."""

import contextlib
import json
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, TypedDict

import ray

# Exit codes of `contend` with which all runs of a block were made: all is well, or a check failed.
MADE = (0, 1)
LOOK_EVERY_S = 0.2


class Made(TypedDict):
    """What came of a block: its results, where and when they were made, and what went wrong if something did."""

    results: list[dict[str, Any]]
    placed: dict[str, Any]
    says: str | None


def make(program: list["ray.ObjectRef[bytes]"], recipe: str, ids: list[str]) -> Made:
    """Make runs by their ids, with the program that the sweep was started with, in a folder of their own.

    The program travels with the work: another build would have other ids, and no host needs more than Ray.
    It takes the lock of the host for each run, so that nobody else's sweep measures at the same time.
    """
    begun_s = time.time()
    with tempfile.TemporaryDirectory(prefix="contend-") as name:
        folder = Path(name)
        contend = folder / "contend"
        contend.write_bytes(ray.get(program[0]))
        contend.chmod(0o700)
        (folder / "recipe.toml").write_text(recipe, encoding="utf-8")
        words = ["sweep", "recipe.toml", "--only", ",".join(ids), "--out", "results", "--format", "json"]
        code, out, err = ended([str(contend), *words], folder)
    results = [json.loads(line) for line in out.splitlines()]
    placed = {
        "executor": "ray",
        "node": ray.get_runtime_context().get_node_id()[:8],
        "block_begun_unix_s": begun_s,
        "block_ended_unix_s": time.time(),
    }
    says = None if code in MADE else f"`contend` ended with {code}: {err.strip() or 'it says nothing'}"
    return {"results": results, "placed": placed, "says": says}


def ended(words: list[str], folder: Path) -> tuple[int, str, str]:
    """Run a command to its end; when this task is cancelled, the command is asked to end, too."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, cwd=folder, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            while True:
                # Short waits, since a cancellation is seen between them only.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    out, err = process.communicate(timeout=LOOK_EVERY_S)
                    return process.returncode, out, err
        finally:
            # Does nothing when it has ended.
            process.send_signal(signal.SIGINT)
