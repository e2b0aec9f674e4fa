#!/usr/bin/env bash
# The job scripts in a real Slurm: a study that hits its walltime, is requeued and finishes; a job whose ranks are killed;
# a job that is cancelled and submitted again. Nothing is lost, nothing done twice.
#   tests/slurm/jobs.sh DODYN          exit code 77: skipped, with the reason
set -u
dodyn=$(realpath "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
skip() { echo "skipped: $1"; exit 77; }
for program in slurmctld slurmd munged sbatch scontrol; do
  command -v $program >/dev/null || PATH=$PATH:/usr/sbin:/sbin
  command -v $program >/dev/null || skip "no $program; apt-get install slurmctld slurmd slurm-client munge"
done
((EUID == 0)) || skip "slurmctld and slurmd are started by root"

directory=$(mktemp -d /tmp/dodyn-slurm.XXXXXX)
trap '"$here/slurm_down.sh" "$directory"; rm -rf "$directory"' EXIT
"$here/slurm_up.sh" "$directory" 4 || exit 1
export SLURM_CONF=$directory/slurm.conf
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 MPIRUN_OPTIONS="--bind-to none --oversubscribe"
export DODYN=$dodyn DODYN_JOBS=$here/../../jobs
mkdir "$directory/work"
cd "$directory/work" || exit 1
study() { # study NAME POINTS DELAY
  printf '[study]\nevaluator = testfunction\nmax-evaluations = 100000\ngrace-period = 2\nheartbeat-timeout = 5\nbatch = 16\n[surrogate]\nstrategy = sweep\npoints = %s\n[design]\nx.min = 0\nx.max = 1\n[testfunction]\nnoise = 0.1\ndelay = %s\n' "$2" "$3" >"$1.cfg"
}
failures=0
fail() { echo "FAILED: $1"; failures=$((failures + 1)); tail -n 20 ./*.out; }
state() { scontrol show job "$1" -o 2>/dev/null | grep -o 'JobState=[A-Z_]*' | cut -d= -f2; }
restarts() { scontrol show job "$1" -o | grep -o 'Restarts=[0-9]*' | cut -d= -f2; }
wait_for() { # wait_for SECONDS JOB STATES: until its state is one of them
  for ((i = 0; i < 5 * $1; ++i)); do
    [[ $(state "$2") =~ ^($3)$ ]] && return 0
    sleep 0.2
  done
  fail "job $2 is $(state "$2"), not $3"
}
rows() { # an append may refuse a look; a kill may leave the file marked as open, which only swmr=True reads
  local there
  for ((k = 0; k < 50; ++k)); do
    there=$(rows_now "$1")
    [[ -n $there || ! -e $1.h5 ]] && break
    sleep 0.1
  done
  echo "$there"
}
rows_now() { /usr/bin/python3 -c "import h5py; print(len(h5py.File('$1.h5', 'r', libver='latest', swmr=True)['evaluations/id']))" 2>/dev/null; }
wait_for_rows() { for ((i = 0; i < 300; ++i)); do (($(rows "$1" || echo 0) + 0 >= $2)) && return 0; sleep 0.2; done; fail "$1 has no $2 rows"; }
complete() { # complete NAME POINTS: finished, every evaluation once
  "$dodyn" show "$1.h5" >"$1.txt" || { fail "$1.h5 cannot be read"; return; }
  grep -q "finished: swept all $2 points" "$1.txt" || fail "$1 is not finished: $(tail -n 1 "$1.txt")"
  local answered
  answered=$(/usr/bin/python3 -c "
import h5py; f = h5py.File('$1.h5', 'r')['evaluations']
ids = [i for i, s in zip(f['id'][:].tolist(), f['status'][:].tolist()) if s != 5]
print(len(ids), len(set(ids)))")
  [[ $answered == "$2 $2" ]] || fail "$1 holds $answered evaluations (all, different), not $2"
}
lost() { # lost NAME RANK: attempts lost with that rank, of which a later row holds the answer
  /usr/bin/python3 -c "
import h5py; f = h5py.File('$1.h5', 'r', libver='latest', swmr=True)['evaluations']
n = len(f['id']); rows = list(zip(f['id'][:n].tolist(), f['status'][:n].tolist(), f['rank'][:n].tolist()))
print(sum(s == 5 and r == $2 and any(j == i and t == 0 for j, t, _ in rows[k:]) for k, (i, s, r) in enumerate(rows)))" 2>/dev/null || echo 0
}
rank_of() { tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null | sed -n 's/^OMPI_COMM_WORLD_RANK=//p'; }

# 1 minute is the least that Slurm allows; the signal may come up to 60 s earlier than asked for.
study walltime 300 0.5
job=$(sbatch --parsable --time=1 --signal=B:USR1@15 "$DODYN_JOBS/slurm.sh" walltime.cfg) || exit 1
study killed 60 2
wait_for 400 "$job" COMPLETED
complete walltime 300
(($(restarts "$job") >= 1)) || fail "the job was never requeued"
echo "walltime: finished after $(restarts "$job") requeues"

job=$(sbatch --parsable --time=5 "$DODYN_JOBS/slurm.sh" killed.cfg) || exit 1
wait_for 30 "$job" RUNNING
wait_for_rows killed 10
for worker in $(pgrep -f "^$dodyn run killed.cfg"); do
  rank=$(rank_of "$worker")
  [[ $rank == [123] ]] && break  # it evaluates, as far as can be known: evaluations take 2 s
done
kill -9 "$worker"
for ((i = 0; i < 150; ++i)); do (($(lost killed "$rank") > 0)) && break; sleep 0.2; done
(($(lost killed "$rank") > 0)) || fail "rank $rank was killed, but no attempt of its is there as lost and done again"
echo "killed: rank $rank hit in mid-evaluation, $(lost killed "$rank") attempt lost and done again by another rank"
scontrol requeue "$job" # as after a failure of the node: the step is killed
wait_for 200 "$job" COMPLETED
complete killed 60
(($(restarts "$job") >= 1)) || fail "the killed job was not requeued"
echo "killed: finished after its step was killed and the job requeued"

# Slurm's process for the step dies, so that Slurm loses the job. The same script again finishes the study.
study step 60 1
job=$(sbatch --parsable --time=5 "$DODYN_JOBS/slurm.sh" step.cfg) || exit 1
wait_for_rows step 10
before=$(rows step)
scancel --signal=KILL --full "$job"
wait_for 60 "$job" "FAILED|CANCELLED|COMPLETED|NODE_FAIL"
for ((i = 0; i < 150; ++i)); do pgrep -f "^$dodyn run step.cfg" >/dev/null || break; sleep 0.2; done
pgrep -f "^$dodyn run step.cfg" >/dev/null && fail "ranks outlive their step"
(($(rows step) >= before)) || fail "rows are missing after the step was killed"
job=$(sbatch --parsable --time=5 "$DODYN_JOBS/slurm.sh" step.cfg) || exit 1
wait_for 200 "$job" COMPLETED
complete step 60
echo "step: killed with all its ranks, finished by a second job"

study cancelled 60 1
job=$(sbatch --parsable --time=5 "$DODYN_JOBS/slurm.sh" cancelled.cfg) || exit 1
wait_for_rows cancelled 10
before=$(rows cancelled)
scancel "$job"
wait_for 60 "$job" CANCELLED
sleep 3
(($(rows cancelled) >= before)) || fail "rows are missing after scancel"
job=$(sbatch --parsable --time=5 "$DODYN_JOBS/slurm.sh" cancelled.cfg) || exit 1
wait_for 200 "$job" COMPLETED
complete cancelled 60
echo "cancelled: finished by a second job"

# scancel's SIGTERM reaches the programs of a command before their ranks: that is not a failure of their designs.
printf '[study]\nevaluator = command\ngrace-period = 2\nheartbeat-timeout = 5\nbatch = 8\nmax-evaluations = 1000\n[surrogate]\nstrategy = sweep\npoints = 40\n[command]\nrun = sleep 1; printf "{\\"cost\\": $DODYN_X}" > $DODYN_RESULT_FILE\n[design]\nx.min = 0\nx.max = 1\n' >programs.cfg
job=$(sbatch --parsable --time=5 "$DODYN_JOBS/slurm.sh" programs.cfg) || exit 1
wait_for_rows programs 6
scancel "$job"
wait_for 60 "$job" CANCELLED
sleep 3
"$dodyn" show programs.h5 | grep -E "failed|killed by signal" && fail "scancel left rows of its own"
pgrep -f "DODYN_RESULT_FILE" >/dev/null && fail "programs outlive their job"
job=$(sbatch --parsable --time=5 "$DODYN_JOBS/slurm.sh" programs.cfg) || exit 1
wait_for 200 "$job" COMPLETED
complete programs 40
echo "programs: cancelled in mid-evaluation, finished by a second job, no row says that one failed"

# Rank 0 is killed: the job continues by itself.
study master 60 0.5
job=$(sbatch --parsable --time=5 "$DODYN_JOBS/slurm.sh" master.cfg) || exit 1
wait_for_rows master 10
for rank in $(pgrep -f "^$dodyn run master.cfg"); do [[ $(rank_of "$rank") == 0 ]] && kill -9 "$rank"; done
before=$(rows master) struck=$SECONDS
for ((i = 0; i < 300; ++i)); do (($(rows master || echo 0) + 0 > before + 1)) && break; sleep 0.2; done
echo "master: rank 0 killed, new rows $((SECONDS - struck)) s later (study.heartbeat-timeout = 5)"
wait_for 200 "$job" COMPLETED
complete master 60
(($(restarts "$job") == 0)) || fail "the job was requeued though it could go on"

# Programs that are parallel themselves: steps of the job, on processors that no other has, and gone when the job is.
printf 'date +%%s.%%N >began.$SLURM_PROCID; sleep 1; echo "$(cat began.$SLURM_PROCID) $(date +%%s.%%N) $SLURM_STEP_ID $SLURM_NTASKS" >>../../steps.log\n' >process.sh
printf '[study]\nevaluator = command\ngrace-period = 4\nbatch = 8\n[surrogate]\nstrategy = sweep\npoints = 16\n[command]\nranks = 2\nrun = $DODYN_LAUNCH sh ../../process.sh; printf "{\\"cost\\": $DODYN_X}" > $DODYN_RESULT_FILE\n[design]\nx.min = 0\nx.max = 1\n' >steps.cfg
job=$(STEPS=1 sbatch --parsable --time=5 "$DODYN_JOBS/slurm.sh" steps.cfg --study.workers all) || exit 1
wait_for_rows steps 2
steps=$(squeue --steps --noheader --job "$job" | grep -vc batch)
((steps <= 2)) || fail "$steps steps at once on 4 processors, where each takes 2"
scancel "$job"
wait_for 60 "$job" CANCELLED
for ((i = 0; i < 50; ++i)); do pgrep -f "sh ../../process.sh" >/dev/null || break; sleep 0.2; done
pgrep -f "sh ../../process.sh" >/dev/null && fail "steps outlive their job"
"$dodyn" show steps.h5 | grep -E "failed|killed by signal" && fail "scancel left rows of its own"
job=$(STEPS=1 sbatch --parsable --time=5 "$DODYN_JOBS/slurm.sh" steps.cfg --study.workers all) || exit 1
wait_for_rows steps 8
# The scheduler is killed: its steps end, and the script starts it again.
killed=0
for pid in $(pgrep -f "^$dodyn run steps.cfg"); do # its guardians have its command line, but names of their own
  [[ $(readlink "/proc/$pid/cwd") == "$PWD" && $(cat "/proc/$pid/comm") != dodyn-guardian ]] && kill -9 "$pid" && killed=1
done
((killed)) || fail "there is no scheduler to kill"
wait_for 200 "$job" COMPLETED
complete steps 16
/usr/bin/python3 - <<'PYTHON' || fail "steps"
rows = [line.split() for line in open("steps.log")]
ends = sorted([(float(r[0]), 1) for r in rows] + [(float(r[1]), -1) for r in rows])
running = most = 0
for _, change in ends:
    running += change
    most = max(most, running)
print(f"steps: {len(rows)} processes of {len({r[2] for r in rows})} step ids, at most {most} at once on 4 processors")
assert 3 <= most <= 4 and all(r[3] == "2" for r in rows) and len(rows) >= 32, most
PYTHON
echo "steps: cancelled once, its scheduler killed once; finished, every evaluation once"

study first 20 0.05
study second 20 0.05
job=$(sbatch --parsable --array=0-1 --time=5 "$DODYN_JOBS/slurm-array.sh" first.cfg second.cfg) || exit 1
for ((i = 0; i < 600; ++i)); do [[ -n $(squeue -h -j "$job" 2>/dev/null) ]] || break; sleep 0.2; done
complete first 20
complete second 20
sed 's/points = 20/points = 10/' first.cfg >third.cfg
job=$(sbatch --parsable --array=0-0 --time=5 "$DODYN_JOBS/slurm-array.sh" third.cfg --surrogate.points 15 --testfunction.noise 0) || exit 1
for ((i = 0; i < 600; ++i)); do [[ -n $(squeue -h -j "$job" 2>/dev/null) ]] || break; sleep 0.2; done
complete third 15
echo "array: finished"
exit $((failures > 0))
