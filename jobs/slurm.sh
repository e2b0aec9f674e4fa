#!/usr/bin/env bash
# One study as one Slurm job that is requeued until the study has finished:
#   sbatch --ntasks 64 --time 04:00:00 jobs/slurm.sh configs/knee.cfg [--key value ...]
# Submit from the directory that is to hold the archive. Build first: jobs/local.sh, or the README.
# Where each evaluation is a parallel program of its own (evaluator command, command.ranks = 16), one process schedules, and the
# programs are steps of the job:
#   STEPS=1 sbatch --ntasks 128 jobs/slurm.sh wing.cfg --study.workers all
#SBATCH --job-name=dodyn
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out
set -u
config=${1:?usage: sbatch jobs/slurm.sh CONFIG [--key value ...]}
dodyn=${DODYN:-$SLURM_SUBMIT_DIR/build/release/apps/dodyn}
[[ -n ${DODYN:-} || -x $dodyn ]] || dodyn=dodyn # as installed

# Edit for your cluster:
# module load gcc openmpi hdf5

command -v "$dodyn" >/dev/null || { echo "dodyn: $dodyn: no such program; set DODYN to its path" >&2; exit 2; }

# One rank per task, each evaluating on one thread, pinned to its core. MPIRUN_OPTIONS has the last word.
export OMP_NUM_THREADS=1
# mpirun can hang after a rank was killed, in the shared-memory store of its PMIx (openpmix issue 1233); so not that one.
export PMIX_MCA_gds=hash
launch=(mpirun --quiet --enable-recovery --bind-to core)
read -r -a options <<<"${MPIRUN_OPTIONS:-}"
[[ ${STEPS:-0} == 0 ]] || launch=() options=()

# USR1 comes 120 s before the time is up. mpirun hands it to the ranks; the study gives running evaluations study.grace-period
# seconds, closes its archive and ends with code 3. With --enable-recovery mpirun itself always ends with 0, so the code
# comes in a file, which is not there when rank 0 was killed.
# mpirun can stay when all its ranks are gone: with Open MPI 4.1.4 it does whenever a rank on another host was killed. It is
# ended 60 s after its last rank on this host, 10 s after it if the study's exit code is there, and 600 s after a start without ranks,
# which this job does not try again: a host of it may be gone.
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
code_file=$(mktemp)
cancelled=0 ending=0 requeued=0
requeue() { # requeue WHY
  ((requeued++)) && return
  echo "dodyn: $config $1; requeueing job $SLURM_JOB_ID"
  scontrol requeue "$SLURM_JOB_ID"
}
trap 'ending=1; kill -USR1 "$mpirun" 2>/dev/null' USR1
# SIGTERM is scancel, or the end of the job's time where the run did not end after USR1.
trap 'ending=1
  if [[ $(squeue -h -j "$SLURM_JOB_ID" -o %r 2>/dev/null) == TimeLimit ]]; then requeue "met the time limit"; else cancelled=1; fi
  kill -USR1 "$mpirun" 2>/dev/null' TERM INT
# Without an exit code rank 0 or the launcher was killed: the study continues at once, within this job.
for ((start = 0; start <= ${RESTARTS:-10}; ++start)); do
  ((start == 0)) || echo "dodyn: the run ended without an exit code (rank 0 or mpirun was killed); $config continues"
  rm -f "$code_file" "$code_file.unstarted"
  began=$SECONDS # a run that ends at once could not be started
  "${launch[@]}" "${options[@]}" "$dodyn" run "$@" --exit-code-file "$code_file" &
  mpirun=$!
  ((${#launch[@]} == 0)) || end_if_left_alone "$mpirun" >/dev/null 2>&1 &
  while kill -0 "$mpirun" 2>/dev/null; do wait "$mpirun"; done # a trap ends a wait early
  code=$(cat "$code_file" 2>/dev/null)
  [[ -n $code || -e $code_file.unstarted ]] || ((ending || SECONDS - began < 2)) && break
  sleep 1
done
rm -f "$code_file" "$code_file.unstarted"

# The same script again continues the study. One that cannot even be started gets three chances, one after the other; however often
# the job was requeued before, being told to end while it starts is no more than one of them.
unstarted=.dodyn-$SLURM_JOB_ID.unstarted
chances=$((3 - $(cat "$unstarted" 2>/dev/null || echo 0)))
if [[ -z $code ]] && ((!cancelled && chances > 0)); then echo $((4 - chances)) >"$unstarted"; else rm -f "$unstarted"; fi
if ((!cancelled)) && { [[ $code == 3 ]] || { [[ -z $code ]] && ((chances > 0)); }; }; then
  requeue "is not finished"
elif ((!cancelled)) && [[ $code == 5 ]]; then
  # Another process writes the archive: perhaps an earlier run of this job, on a node that Slurm has lost. The nodes are free meanwhile.
  requeue "waits for its archive, which is in use"
  scontrol update JobId="$SLURM_JOB_ID" StartTime=now+"${IN_USE_WAIT:-60}"
fi
exit "${code:-1}"
