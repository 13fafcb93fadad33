#!/usr/bin/env bash
# Proves `contend sweep --executor slurm` under Slurm itself: two nodes on loopback make the array, a lost result is
# made again by submitting the script again, and nothing else is.
# usage: tests/cluster/slurm.sh [PROGRAM]    PROGRAM is `contend`; without it a debug build of this tree
# Needs root, Linux with unshare and ip, and Slurm, which it installs from Debian's packages when it is not there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

if [[ $EUID -ne 0 ]]; then
    echo "slurm.sh: Slurm's daemons place jobs of any user, and so want root: run it as root" >&2
    exit 2
fi
if ! command -v slurmctld slurmd sbatch >/dev/null; then
    apt-get install --yes --no-install-recommends slurm-wlm
fi
contend=${1:-}
if [[ -z $contend ]]; then
    (cd "$root" && cargo build -p contend-cli)
    contend=${CARGO_TARGET_DIR:-$root/target}/debug/contend
fi
contend=$(realpath "$contend")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder"/{state,spool-one,spool-two}

cat >"$folder/two.toml" <<'TOML'
title = "two nodes"
workload = "ycsb"
schemes = ["silo", "no_wait"]
repeat = 3
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
TOML

# Daemons and commands of one user on one host need neither credentials nor accounts. What looks up addresses does so
# only for families of which some interface has one that is not loopback's.
address=10.77.0.1
cat >"$folder/slurm.conf" <<CONF
ClusterName=loopback
SlurmctldHost=$(hostname)($address)
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
SlurmdParameters=config_overrides
NodeName=one,two NodeHostname=$(hostname) NodeAddr=$address Port=[17001-17002] CPUs=1
PartitionName=all Nodes=ALL Default=YES State=UP
CONF

cat >"$folder/try.sh" <<'TRY'
set -euo pipefail
contend=$1 folder=$2 address=$3
fail() {
    echo "FAILED: $*" >&2
    tail -n 20 "$folder"/slurmctld.log "$folder"/results/slurm/*.log >&2 || true
    exit 1
}
holds() { echo "holds: $*"; }
made() { find "$folder/results/runs" -name '*.json' | wc -l; }
sweep() { "$contend" sweep "$folder/two.toml" --out "$folder/results" "$@"; }

ip link set lo up
ip addr add "$address/32" dev lo
export SLURM_CONF=$folder/slurm.conf CONTEND_LOCK=$folder/lock
daemons=()
trap 'kill "${daemons[@]}"; wait' EXIT
slurmctld -D 2>/dev/null &
daemons+=($!)
for node in one two; do
    slurmd -N "$node" -D 2>/dev/null &
    daemons+=($!)
done
for _ in $(seq 300); do
    if [[ $(sinfo --noheader --format=%D --states=idle 2>/dev/null || true) == 2 ]]; then break; fi
    sleep 0.1
done
[[ $(sinfo --noheader --format=%D --states=idle) == 2 ]] || fail "two nodes are up"
holds "two nodes are up"

script=$(sweep --executor slurm | sed -n 's/^ *sbatch //p')
[[ -f $script ]] || fail "the sweep says which script to submit"
sbatch --wait "$script" || fail "all tasks of the array end well"
holds "all tasks of the array end well"
[[ $(made) == 12 ]] || fail "all 12 results are there, not $(made)"
holds "all 12 results are there"
for node in one two; do
    grep -q "Allocate JobId=.*NodeList=$node " "$folder/slurmctld.log" || fail "node $node made some"
done
holds "both nodes made some"

lost=$(find "$folder/results/runs" -name '*.json' | sort | head -n 1)
rm "$lost"
touch "$folder/then"
sbatch --wait "$script" || fail "the script can be submitted again"
[[ -f $lost ]] || fail "what was lost is made again"
holds "what was lost is made again"
[[ $(find "$folder/results/runs" -name '*.json' -newer "$folder/then") == "$lost" ]] || fail "and nothing else"
holds "and nothing else"
sweep --executor slurm | grep -q "nothing is left" || fail "nothing is left"
holds "nothing is left"
sweep --budget 0
TRY
unshare --net bash "$folder/try.sh" "$contend" "$folder" "$address"
