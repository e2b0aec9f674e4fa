#!/usr/bin/env bash
# jobs/slurm.sh in a real Slurm of three nodes, each a host of its own: a rank on another node is killed, a node is lost, the batch
# node is cut off with the file system in reach, a job meets its time limit. No row is lost, none differs, no job stays.
#   tests/slurm/nodes.sh DODYN         exit code 77: skipped, with the reason
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
hosts=$here/../hosts/hosts.sh
skip() { echo "skipped: $1"; exit 77; }
if [[ ${2:-} != inside ]]; then
  PATH=$PATH:/usr/sbin:/sbin
  for program in slurmctld slurmd munged sbatch scontrol; do
    command -v $program >/dev/null || skip "no $program; apt-get install slurmctld slurmd slurm-client munge"
  done
  ((EUID == 0)) || skip "slurmctld and slurmd are started by root"
  dodyn=$(realpath -e "$1") || exit 2
  directory=$(mktemp -d /tmp/dodyn-nodes.XXXXXX)
  chmod 755 "$directory" # munge wants its way to be open
  trap 'rm -rf "$directory"' EXIT
  cd "$directory" || exit 1
  "$hosts" run 4 "$here/nodes.sh" "$dodyn" inside "$directory"
  exit $?
fi
dodyn=$1 directory=$3
"$here/slurm_up.sh" "$directory/slurm" 2 4 || exit 1
export SLURM_CONF=$directory/slurm/slurm.conf
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 MPIRUN_OPTIONS="--bind-to none --oversubscribe"
export DODYN=$dodyn ALONE=20 IN_USE_WAIT=5
jobs=$here/../../jobs
mkdir "$directory/work"
cd "$directory/work" || exit 1
failures=0
fail() { echo "FAILED: $1"; failures=$((failures + 1)); grep -hv PMIX ./*.out | tail -n 20; }
login() { "$hosts" on host1 "$@"; }
submit() { login sbatch --parsable --nodes=2 --ntasks=4 "$@"; }
state() { login scontrol show job "$1" -o 2>/dev/null | grep -o 'JobState=[A-Z_]*' | cut -d= -f2; }
batch_host() { login scontrol show job "$1" -o | grep -o 'BatchHost=[a-z0-9]*' | cut -d= -f2; }
other_host() { # of the job, besides its batch host
  login scontrol show hostnames "$(login scontrol show job "$1" -o | grep -o ' NodeList=[^ ]*' | cut -d= -f2)" | grep -v "$(batch_host "$1")"
}
study() { # study NAME POINTS DELAY
  printf '[study]\nevaluator = testfunction\nmax-evaluations = 100000\nmax-attempts = 100\ngrace-period = 2\nheartbeat-timeout = 3\nbatch = 16\n[surrogate]\nstrategy = sweep\npoints = %s\n[design]\nx.min = 0\nx.max = 1\n[testfunction]\nnoise = 0.1\n' "$2" >"$1.cfg"
  "$dodyn" run "$1.cfg" --study.archive "$1-alone.h5" >/dev/null 2>&1 || { fail "the undisturbed run"; exit 1; }
  printf 'delay = %s\n' "$3" >>"$1.cfg"
}
rows() { /usr/bin/python3 -c "import h5py; print(len(h5py.File('$1.h5', 'r', libver='latest', swmr=True)['evaluations/id']))" 2>/dev/null || echo 0; }
wait_for_rows() { for ((i = 0; i < 300 && $(rows "$1") < $2; ++i)); do sleep 0.3; done; }
wait_for() { # wait_for SECONDS JOB STATES
  local until=$((SECONDS + $1))
  while ((SECONDS < until)); do
    [[ $(state "$2") =~ ^($3)$ ]] && return 0
    sleep 0.5
  done
  fail "job $2 is $(state "$2") after $1 s, not $3"
}
complete() { # complete NAME POINTS
  /usr/bin/python3 - "$1" "$2" "$here" <<'PYTHON' || fail "$1"
import sys
sys.path.insert(0, sys.argv[3] + "/..")
from disturb_study import LOST, final, rows
there, expected = rows(sys.argv[1] + ".h5"), final(rows(sys.argv[1] + "-alone.h5"))
ids = [row[0] for row in there if row[1] != str(LOST)]
assert len(ids) == len(set(ids)) == int(sys.argv[2]), f"{len(ids)} rows, {len(set(ids))} ids"
different = [i for i in expected if final(there).get(i) != expected[i]]
assert not different, f"different: {different}"
print(f"{sys.argv[1]}: {len(ids)} of {sys.argv[2]} rows, none differs, {len(there) - len(ids)} attempts lost and repeated")
PYTHON
}
none_left() {
  for ((i = 0; i < 100; ++i)); do pgrep -x dodyn >/dev/null || return; sleep 0.2; done
  fail "ranks outlive the job: $(pgrep -xa dodyn)"
}

kill_rank_elsewhere() { # of the job: one rank on a node besides its batch host
  local pid
  for pid in $("$hosts" pids "$(other_host "$1")"); do
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) == dodyn ]] && kill -9 "$pid" && return
  done
}

# A rank on another node is killed: mpirun stays when the study is complete, and the script ends it.
study rank 60 0.5
job=$(submit --time=5 "$jobs/slurm.sh" rank.cfg) || exit 1
wait_for_rows rank 10
kill_rank_elsewhere "$job"
wait_for 60 "$job" COMPLETED
complete rank 60
none_left

# The same, and the job meets its time limit before the end: it is requeued.
study limit 260 0.5
job=$(submit --time=1 --signal=B:USR1@15 "$jobs/slurm.sh" limit.cfg) || exit 1
wait_for_rows limit 10
kill_rank_elsewhere "$job"
wait_for 300 "$job" COMPLETED
complete limit 260
none_left

# A node is lost with a rank; Slurm requeues the job.
study node 80 0.5
job=$(submit --time=5 "$jobs/slurm.sh" node.cfg) || exit 1
wait_for_rows node 10
other=$(other_host "$job")
"$hosts" cable "$other" down
for i in 1 2 3; do kill -9 $("$hosts" pids "$other") 2>/dev/null; done
wait_for 150 "$job" COMPLETED
complete node 80
none_left
"$hosts" cable "$other" up
"$hosts" on "$other" exec slurmd -D -f "$SLURM_CONF" -N "$other" >"$directory/again.out" 2>&1 &
for ((i = 0; i < 100; ++i)); do [[ $(login sinfo -h -o "'%D %T'") == "3 idle" ]] && break; sleep 0.3; done

# The batch node is cut off, with the file system in reach: rank 0 continues there and holds the archive. The requeued job waits for it.
study cut 240 0.5
job=$(submit --time=5 "$jobs/slurm.sh" cut.cfg) || exit 1
wait_for_rows cut 10
batch=$(batch_host "$job")
"$hosts" cable "$batch" down
wait_for 200 "$job" COMPLETED
complete cut 240
grep -q "waits for its archive" ./*.out || fail "the requeued job never met the archive in use"
"$hosts" cable "$batch" up
none_left
exit $((failures > 0))
