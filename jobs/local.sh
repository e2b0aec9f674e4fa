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

# The build speaks on the error stream; standard output is the study's. DODYN names a program that is there already.
dodyn=${DODYN:-$root/build/release/apps/dodyn}
if [[ -z ${DODYN:-} && ! -e $root/CMakeLists.txt ]]; then # installed: share/dodyn/jobs
  dodyn=$root/../../bin/dodyn
elif [[ -z ${DODYN:-} ]]; then
  "$root/jobs/dependencies.sh"
  [[ -e $dodyn ]] || echo "dodyn: building; the first build takes 10 to 15 minutes on two cores" >&2
  cmake -S "$root" --preset release >/dev/null
  cmake --build "$root/build/release" --parallel "$cores" --target apps/dodyn >&2
fi
command -v "$dodyn" >/dev/null || { echo "dodyn: $dodyn: no such program; set DODYN to its path" >&2; exit 2; }

# One rank per core, each evaluating on one thread. Ranks are not bound to cores: another study may run here too.
export OMP_NUM_THREADS=1
# mpirun can hang after a rank was killed, in the shared-memory store of its PMIx (openpmix issue 1233); so not that one.
export PMIX_MCA_gds=hash
if ((cores == 1)) || ! command -v mpirun >/dev/null; then exec "$dodyn" run "$@"; fi
if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# --enable-recovery: a rank that is killed (by the kernel, for memory, say) costs one evaluation, not the run; mpirun's own
# exit code is then always 0, and the study's comes in a file. --quiet: a failure is dodyn's to explain.
# --use-hwthread-cpus: a slot per processor that nproc counts. setsid: Ctrl-C comes here, and goes on as SIGUSR1, on which
# the study ends in order (mpirun would kill it at once); a second one ends it now.
# Without an exit code rank 0 or the launcher was killed: the study continues at once.
code_file=$(mktemp)
trap 'rm -f "$code_file" "$code_file.unstarted"' EXIT
# mpirun can stay when all its ranks are gone: with Open MPI 4.1.4 it does whenever a rank on another host was killed. It is
# ended 60 s after its last rank on this host, 10 s after it if the study's exit code is there, and 600 s after a start without ranks,
# after which this script tries again: a job of several hosts does not, since a host may be gone ($code_file.unstarted).
# A child that starts launch daemons on other hosts (srun, ssh) is no rank.
end_if_left_alone() {
  local alone=0 limit=${LAUNCH:-600} had_ranks=0 child children state
  while sleep 1 && kill -0 "$1" 2>/dev/null; do
    alone=$((alone + 1))
    children=$(cat /proc/"$1"/task/*/children 2>/dev/null)
    for child in $children; do
      tr '\0' ' ' 2>/dev/null <"/proc/$child/cmdline" | grep -qE '(^|[ /])(or|pr)ted ' && continue
      read -r _ _ state _ 2>/dev/null <"/proc/$child/stat" && [[ $state != Z ]] && alone=0 had_ranks=1 limit=${ALONE:-60}
    done
    ((alone >= limit)) || { ((alone >= 10)) && [[ -s $code_file ]]; } || continue
    ((had_ranks)) || : >"$code_file.unstarted"
    kill -TERM "$1" $children
    sleep 2
    kill -KILL "$1"
  done
}
signals=0
trap 'kill -"$([[ $signals == 0 ]] && echo USR1 || echo TERM)" "$mpirun" 2>/dev/null; signals=$((signals + 1))' INT TERM HUP
for ((start = 0; start <= ${RESTARTS:-10} && !signals; ++start)); do
  how="the run ended without an exit code (rank 0 or mpirun was killed)"
  [[ ! -e $code_file.unstarted ]] || how="mpirun started no rank, and was ended"
  ((start == 0)) || echo "dodyn: $how; the study continues" >&2
  rm -f "$code_file" "$code_file.unstarted"
  began=$SECONDS # a run that ends at once could not be started
  setsid mpirun --quiet --enable-recovery --use-hwthread-cpus --bind-to none -n "$cores" \
    "$dodyn" run "$@" --exit-code-file "$code_file" <&0 &
  mpirun=$!
  end_if_left_alone "$mpirun" </dev/null >/dev/null 2>&1 &
  while kill -0 "$mpirun" 2>/dev/null; do wait "$mpirun" || true; done
  code=$(cat "$code_file" 2>/dev/null || true)
  # Code 5 after a restart: what is left of the run before still holds the archive.
  if [[ $code == 5 ]] && ((start > 0 && !signals)); then sleep 1; elif [[ -n $code ]] || ((signals || SECONDS - began < 2)); then break; fi
done
exit "${code:-3}" # no code: a second signal ended the study at once, or its rank 0 was killed repeatedly
