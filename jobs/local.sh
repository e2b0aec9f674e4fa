#!/usr/bin/env bash
# Runs a study on all cores of this machine. Works from a fresh Debian 12 on: installs what is missing, builds, runs.
# The same command again continues the study.
#   jobs/local.sh configs/knee.cfg [--key value ...]
set -euo pipefail
if (($# == 0)); then
  echo "usage: ${BASH_SOURCE[0]} CONFIG [--key value ...]" >&2
  exit 2
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc) # which would make nproc answer with their own number

# The build speaks on the error stream; standard output is the study's.
"$root/jobs/dependencies.sh"
cmake -S "$root" --preset release >/dev/null
cmake --build "$root/build/release" --parallel "$cores" --target apps/dodyn >&2

# One rank per core, each evaluating on one thread. Ranks are not bound to cores: another study may run here too.
export OMP_NUM_THREADS=1
run=()
if ((cores > 1)) && command -v mpirun >/dev/null; then
  # --quiet: a failure is dodyn's to explain. --use-hwthread-cpus: a slot per processor that nproc counts.
  run=(mpirun --quiet --use-hwthread-cpus --bind-to none -n "$cores")
  if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
fi
# exec: signals and the exit code are those of the study
exec "${run[@]}" "$root/build/release/apps/dodyn" run "$@"
