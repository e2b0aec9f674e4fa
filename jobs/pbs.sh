#!/usr/bin/env bash
# One study as one PBS job (PBS Pro, OpenPBS); at the end of its time it stops in order, and the next one continues:
#   qsub -v CONFIG=configs/knee.cfg jobs/pbs.sh
#   qsub -v CONFIG=configs/knee.cfg,KEYS="--gait.initial-guesses 4 --study.seed 2" jobs/pbs.sh
# KEYS holds `--key value ...` by blanks, without commas, which end a variable for qsub.
#PBS -N dodyn
#PBS -l select=1:ncpus=4:mpiprocs=4
#PBS -l walltime=01:00:00
#PBS -r y
#PBS -j oe
set -u
cd "$PBS_O_WORKDIR" || exit 1
config=${CONFIG:?usage: qsub -v CONFIG=FILE jobs/pbs.sh}
read -r -a keys <<<"${KEYS:-}"
dodyn=${DODYN:-$PWD/build/release/apps/dodyn}
[[ -x $dodyn ]] || dodyn=dodyn # as installed

# Edit for your cluster:
# module load gcc openmpi hdf5

# PBS sends no signal ahead of time, and does not tell the job its end: say here how long the study may run, two minutes
# below walltime above.
wall_time=${WALL_TIME:-00:58:00}

# One rank per mpiprocs, each evaluating on one thread, pinned to its core. MPIRUN_OPTIONS has the last word.
export OMP_NUM_THREADS=1
# mpirun can hang after a rank was killed, in the shared-memory store of its PMIx (openpmix issue 1233); so not that one.
export PMIX_MCA_gds=hash
read -r -a options <<<"${MPIRUN_OPTIONS:-}"
# mpirun can stay when all its ranks are gone: with Open MPI 4.1.4 it does whenever a rank on another host was killed. It is
# ended 60 s after its last rank on this host, 10 s after it if the study's exit code is there, and 600 s after a start without ranks.
# A child that starts launch daemons on other hosts (srun, ssh) is no rank.
end_if_left_alone() {
  local alone=0 limit=${LAUNCH:-600} child children state
  while sleep 1 && kill -0 "$1" 2>/dev/null; do
    alone=$((alone + 1))
    children=$(cat /proc/"$1"/task/*/children 2>/dev/null)
    for child in $children; do
      tr '\0' ' ' 2>/dev/null <"/proc/$child/cmdline" | grep -qE '(^|[ /])(or|pr)ted ' && continue
      read -r _ _ state _ 2>/dev/null <"/proc/$child/stat" && [[ $state != Z ]] && alone=0 limit=${ALONE:-60}
    done
    ((alone >= limit)) || { ((alone >= 10)) && [[ -s $code_file ]]; } || continue
    kill -TERM "$1" $children
    sleep 2
    kill -KILL "$1"
  done
}
code_file=$(mktemp)
ending=0
trap 'ending=1; kill -USR1 "$mpirun" 2>/dev/null' TERM INT # qdel
end=$((SECONDS + $(awk -F: '{ for (i = 1; i <= NF; ++i) s = 60 * s + $i; print s }' <<<"$wall_time")))
# Without an exit code rank 0 or the launcher was killed: the study continues at once, in the time that is left. Code 5: another
# process writes the archive, perhaps an earlier run of this job on a node that PBS has lost; it is asked again until the time is up.
for ((start = 0; start <= ${RESTARTS:-10}; start += ${#code} == 0)); do
  code=
  rm -f "$code_file"
  began=$SECONDS # a run that ends at once could not be started
  mpirun --quiet --enable-recovery --bind-to core --hostfile "$PBS_NODEFILE" "${options[@]}" \
    "$dodyn" run "$config" "${keys[@]}" --wall-time "$((end - SECONDS))" --exit-code-file "$code_file" &
  mpirun=$!
  end_if_left_alone "$mpirun" >/dev/null 2>&1 &
  while kill -0 "$mpirun" 2>/dev/null; do wait "$mpirun"; done
  code=$(cat "$code_file" 2>/dev/null)
  if [[ $code == 5 ]] && ((!ending && end - SECONDS > 2 * ${IN_USE_WAIT:-60})); then
    sleep "${IN_USE_WAIT:-60}" &
    wait $!
    ((ending)) || continue
  fi
  [[ -n $code ]] || ((ending || SECONDS - began < 2 || end - SECONDS < 10)) && break
  sleep 1
done
rm -f "$code_file"

# Not finished: another job continues.
if [[ $code == [35] && ${RESUBMIT:-1} == 1 ]]; then qsub -v CONFIG="$config",KEYS="${KEYS:-}",DODYN="$dodyn",WALL_TIME="$wall_time" "$0"; fi
exit "${code:-1}"
