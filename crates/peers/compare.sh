#!/bin/sh
# Measures other stores beside Contend: installs what they need, builds, starts a server of PostgreSQL on a socket of its
# own, runs, prints, and stops the server. `crates/peers/README.md` says more.
#
#   compare.sh [--no-install] [--no-rocksdb] [--no-postgres] [ARGUMENTS of `peers run`]
#
# Without arguments it runs YCSB with two workers, and TPC-C with one and two, at durability `none`.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
install=yes rocksdb=yes postgres=yes
while [ $# -gt 0 ]; do
    case $1 in
        --no-install) install=no ;;
        --no-rocksdb) rocksdb=no ;;
        --no-postgres) postgres=no ;;
        -h | --help)
            sed -n '2,7s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        *) break ;;
    esac
    shift
done

say() { printf 'compare.sh: %s\n' "$*" >&2; }

# Installs packages of the distribution, if that is possible.
get() {
    [ "$install" = yes ] || { say "not installing $* (--no-install)"; return 1; }
    command -v apt-get > /dev/null || { say "cannot install $*: there is no apt-get; install them by hand"; return 1; }
    [ "$(id -u)" = 0 ] || { say "cannot install $*: run as root, or install them by hand"; return 1; }
    apt-get install -y --no-install-recommends "$@" > /dev/null 2>&1 || {
        say "apt-get could not install $*; try apt-get update first"
        return 1
    }
}

command -v cargo > /dev/null || { say "cargo is not there: install Rust from https://rustup.rs"; exit 1; }
command -v cc > /dev/null || get gcc libc6-dev || { say "LMDB and SQLite are C and need a compiler, as cc"; exit 1; }

# The crate `rocksdb` 0.19 is for RocksDB 7; Debian 12 has 7.8.
features=
if [ "$rocksdb" = yes ]; then
    library() { find /usr/lib /usr/local/lib -name 'librocksdb.so' 2> /dev/null | head -n 1; }
    clang() { find /usr/lib /usr/local/lib -name 'libclang*.so*' ! -name 'libclang-cpp*' 2> /dev/null | head -n 1; }
    [ -n "$(library)" ] || get librocksdb-dev || true
    [ -n "$(clang)" ] || get libclang-dev || true
    found=$(library)
    if [ -z "$found" ] || [ -z "$(clang)" ]; then
        say "RocksDB is left out: librocksdb-dev and libclang-dev are needed"
    elif ! readlink -f "$found" | grep -q '\.so\.7\.'; then
        say "RocksDB is left out: $(readlink -f "$found") is not version 7, which the crate rocksdb 0.19 is for"
    else
        features="--features rocksdb"
        ROCKSDB_LIB_DIR=$(dirname "$found") ROCKSDB_INCLUDE_DIR=/usr/include
        export ROCKSDB_LIB_DIR ROCKSDB_INCLUDE_DIR
    fi
fi

# shellcheck disable=SC2086
(cd "$here" && CARGO_TARGET_DIR="$here/target" cargo build --release --locked $features)
peers=$here/target/release/peers

server=
programs=
as_server() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
stop() {
    if [ -n "$server" ]; then
        [ ! -f "$server/data/postmaster.pid" ] || as_server "$programs/pg_ctl" -D "$server/data" -m fast stop > /dev/null
        rm -rf "$server"
    fi
}
trap stop EXIT
trap 'exit 130' INT TERM

if [ "$postgres" = yes ]; then
    find_programs() {
        initdb=$(find /usr/lib/postgresql /usr/local /usr/bin -name initdb 2> /dev/null | sort -V | tail -n 1)
        programs=$(dirname "$(readlink -f "${initdb:-/none}")")
    }
    find_programs
    [ -n "$initdb" ] || { get postgresql && find_programs; } || true
    if [ -z "$initdb" ]; then
        say "PostgreSQL is left out: its server is not there"
    elif [ "$(id -u)" = 0 ] && ! id postgres > /dev/null 2>&1; then
        say "PostgreSQL is left out: its server does not run as root, and there is no user postgres"
    else
        server=$(mktemp -d /tmp/contend-peers-postgres-XXXXXX)
        [ "$(id -u)" != 0 ] || chown postgres "$server"
        as_server "$programs/initdb" -D "$server/data" -U contend -A trust > /dev/null
        # A socket and no port: only processes of this machine that may open the folder reach it. Deadlocks are looked
        # for after a millisecond, and not after the standard second, in which nothing else would happen.
        as_server "$programs/pg_ctl" -D "$server/data" -w -l "$server/log" start -o \
            "-c listen_addresses='' -k $server -c shared_buffers=1GB -c max_wal_size=4GB \
            -c max_pred_locks_per_transaction=1024 -c deadlock_timeout=1ms -c log_min_messages=fatal \
            -c log_min_error_statement=fatal" \
            > /dev/null || { cat "$server/log" >&2; exit 1; }
        address="host=$server user=contend dbname=postgres"
        say "PostgreSQL $("$programs/postgres" --version | awk '{ print $3 }') is at $server"
        # The tests of this package run on it, too, when they are told where it is.
        CONTEND_PEERS_POSTGRES=$address
        export CONTEND_PEERS_POSTGRES
    fi
fi

run() { if [ -n "$server" ]; then "$peers" run --postgres "$address" "$@"; else "$peers" run "$@"; fi; }

if [ $# -gt 0 ]; then
    run "$@"
else
    run --workload ycsb --workers 2
    run --workload tpcc --workers 1
    run --workload tpcc --workers 2
fi
