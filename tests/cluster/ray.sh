#!/usr/bin/env bash
# Proves `contend sweep --executor ray` on a cluster of two nodes on loopback, one of which is killed in the middle.
# usage: tests/cluster/ray.sh [PROGRAM]    PROGRAM is `contend`; without it a debug build of this tree
# Needs Linux with unshare and ip, Python 3.10 or later with venv, and PyPI when the environment is not there yet.
# CONTEND_RAY_VENV names that environment, which is kept.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
venv=${CONTEND_RAY_VENV:-${TMPDIR:-/tmp}/contend-ray-venv}

contend=${1:-}
if [[ -z $contend ]]; then
    (cd "$root" && cargo build -p contend-cli)
    contend=${CARGO_TARGET_DIR:-$root/target}/debug/contend
fi
if [[ ! -x $venv/bin/python ]]; then
    python3 -m venv "$venv"
fi
# From a copy: building a package writes beside its sources.
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
cp -r "$root/python/contend_ray" "$sources"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$sources/contend_ray"
# In a network of its own that has only loopback: Ray listens wherever it finds an address.
alone=(unshare --net)
if [[ $EUID -ne 0 ]]; then
    alone=(unshare --map-root-user --net)
fi
PATH=$venv/bin:$PATH:/usr/sbin "${alone[@]}" bash -c 'ip link set lo up && exec "$@"' -- \
    "$venv/bin/python" "$root/tests/cluster/two_nodes.py" "$(realpath "$contend")"
