#!/usr/bin/env bash
# One study as one PBS job (PBS Pro, OpenPBS, Torque); at the end of its time it stops in order, and the next one continues:
#   jobs/pbs.sh configs/knee.cfg [--key value ...]                          submits itself; QSUB_OPTIONS="-l walltime=04:00:00" are qsub's
#   QSUB_OPTIONS="-J 1-3" jobs/pbs.sh a.cfg b.cfg c.cfg [--key value ...]   an array: task k runs study k
#   SEEDS=1 QSUB_OPTIONS="-J 1-8" jobs/pbs.sh configs/knee.cfg              an array of seeds; `dodyn merge` joins the archives
#   qsub -v CONFIG=configs/knee.cfg,KEYS="--study.seed 2" jobs/pbs.sh       by qsub; KEYS by blanks, without commas
# Torque's arrays are QSUB_OPTIONS="-t 1-3".
#PBS -N dodyn
#PBS -l select=1:ncpus=4:mpiprocs=4
#PBS -l walltime=01:00:00
#PBS -r y
#PBS -j oe
set -u
# Words as one text of hexadecimal digits, which no batch system changes, and back.
to_digits() { printf '%s\0' "$@" | od -An -v -tx1 | tr -d ' \n'; }
from_digits() { printf '%b' "$(sed 's/../\\x&/g' <<<"$1")"; }
# Variables that the job, and each one that continues it, gets from this shell.
handed_on=(DODYN WALL_TIME MPIRUN_OPTIONS RESTARTS IN_USE_WAIT RESUBMIT LAUNCH ALONE)
submit() { # submit INDEX WORD...: the array task of this number, or all
  local index=$1 name variables=()
  shift
  for name in "${handed_on[@]}"; do
    [[ -z ${!name:-} ]] || variables+=("$name=${!name}")
  done
  read -r -a options <<<"${QSUB_OPTIONS:-}"
  [[ -z $index ]] || for ((i = ${#options[@]} - 1; i >= 0; --i)); do # one task is no array
    if [[ ${options[i]} == -[Jt] ]]; then options=("${options[@]:0:i}" "${options[@]:i+2}"); fi
  done
  qsub ${options[@]+"${options[@]}"} -v "DODYN_WORDS=$(to_digits "$@"),DODYN_INDEX=$index,SEEDS=${SEEDS:-0},DODYN_OPTIONS=$(to_digits "${QSUB_OPTIONS:-}"),DODYN_VARIABLES=$(to_digits ${variables[@]+"${variables[@]}"})" \
    "$0"
}
if [[ -z ${PBS_O_WORKDIR:-} ]]; then
  (($#)) || { echo "usage: jobs/pbs.sh CONFIG [--key value ...], or qsub -v CONFIG=FILE jobs/pbs.sh" >&2; exit 2; }
  submit "" "$@"
  exit
fi
cd "$PBS_O_WORKDIR" || exit 1
[[ -z ${DODYN_OPTIONS:-} ]] || QSUB_OPTIONS=$(from_digits "$DODYN_OPTIONS" | tr -d '\0')
if [[ -n ${DODYN_VARIABLES:-} ]]; then
  mapfile -d '' -t variables < <(from_digits "$DODYN_VARIABLES")
  for variable in "${variables[@]}"; do [[ -z $variable ]] || export "${variable?}"; done
fi
if [[ -n ${DODYN_WORDS:-} ]]; then
  mapfile -d '' -t words < <(from_digits "$DODYN_WORDS")
  set -- "${words[@]}"
elif ((!$#)); then
  read -r -a keys <<<"${KEYS:-}"
  set -- "${CONFIG:?usage: jobs/pbs.sh CONFIG [--key value ...], or qsub -v CONFIG=FILE jobs/pbs.sh}" ${keys[@]+"${keys[@]}"}
fi
all=("$@")
# An array: task k runs study k, or the seed k of one.
index=${DODYN_INDEX:-${PBS_ARRAY_INDEX:-${PBS_ARRAYID:-}}}
if [[ -n $index && ${SEEDS:-0} == 1 ]]; then
  set -- "$@" --study.seed "$index" --study.archive "$(basename "$1" .cfg)-$index.h5"
elif [[ -n $index ]]; then
  configs=() # and behind them --key value ..., which all of them get
  while (($#)) && [[ $1 != --* ]]; do
    configs+=("$1")
    shift
  done
  ((index >= 1 && index <= ${#configs[@]})) || { echo "dodyn: array task $index, but ${#configs[@]} configurations; tasks count from 1" >&2; exit 2; }
  set -- "${configs[index - 1]}" "$@"
fi
dodyn=${DODYN:-$PWD/build/release/apps/dodyn}
[[ -n ${DODYN:-} || -x $dodyn ]] || dodyn=dodyn # as installed

# Edit for your cluster:
# module load gcc openmpi hdf5

command -v "$dodyn" >/dev/null || { echo "dodyn: $dodyn: no such program; set DODYN to its path" >&2; exit 2; }

# PBS sends no signal ahead of time, and does not report the job's end: set WALL_TIME two minutes below walltime.
wall_time=${WALL_TIME:-00:58:00}

# One rank per mpiprocs, each evaluating on one thread, pinned to its core. MPIRUN_OPTIONS has the last word.
export OMP_NUM_THREADS=1
# mpirun can hang after a rank was killed, in the shared-memory store of its PMIx (openpmix issue 1233); so not that one.
export PMIX_MCA_gds=hash
read -r -a options <<<"${MPIRUN_OPTIONS:-}"
if [[ -n ${MPIRUN_HOSTS:-} ]]; then hosts=(--host "$MPIRUN_HOSTS"); else hosts=(--hostfile "$PBS_NODEFILE"); fi
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
ending=0
trap 'ending=1; kill -USR1 "$mpirun" 2>/dev/null' TERM INT USR1 USR2 # qdel, and warnings of Grid Engine and LSF
end=$((SECONDS + $(awk -F: '{ for (i = 1; i <= NF; ++i) s = 60 * s + $i; print s }' <<<"$wall_time")))
# Without an exit code rank 0 or the launcher was killed: the study continues at once, in the time that is left. Code 5: another
# process writes the archive, perhaps an earlier run of this job on a node that PBS has lost; it is asked again until the time is up.
for ((start = 0; start <= ${RESTARTS:-10}; start += ${#code} == 0)); do
  code=
  rm -f "$code_file" "$code_file.unstarted"
  began=$SECONDS # a run that ends at once could not be started
  mpirun --quiet --enable-recovery --bind-to core "${hosts[@]}" "${options[@]}" \
    "$dodyn" run "$@" --wall-time "$((end - SECONDS))" --exit-code-file "$code_file" &
  mpirun=$!
  end_if_left_alone "$mpirun" >/dev/null 2>&1 &
  while kill -0 "$mpirun" 2>/dev/null; do wait "$mpirun"; done
  code=$(cat "$code_file" 2>/dev/null)
  if [[ $code == 5 ]] && ((!ending && end - SECONDS > 2 * ${IN_USE_WAIT:-60})); then
    sleep "${IN_USE_WAIT:-60}" &
    wait $!
    ((ending)) || continue
  fi
  [[ -n $code || -e $code_file.unstarted ]] || ((ending || SECONDS - began < 2 || end - SECONDS < 10)) && break
  sleep 1
done
rm -f "$code_file" "$code_file.unstarted"

# A run that could not be started, perhaps because a host is gone, gets three further jobs, one after the other.
chances_file=.dodyn-$(printf '%s\0' "$index" "${all[@]}" | cksum | tr ' ' -).unstarted
chances=$((3 - $(cat "$chances_file" 2>/dev/null || echo 0)))
if [[ -z $code ]] && ((!ending && chances > 0)); then
  echo $((4 - chances)) >"$chances_file"
  echo "dodyn: $1 could not be started; the next job tries again"
  code=3
else
  rm -f "$chances_file"
fi

# Not finished: the batch system starts this job again where it does so for an exit code (REQUEUE_CODE), or another job continues.
if [[ $code == [35] ]]; then
  [[ -z ${REQUEUE_CODE:-} ]] || exit "$REQUEUE_CODE"
  [[ ${RESUBMIT:-1} != 1 ]] || submit "$index" "${all[@]}"
fi
exit "${code:-1}"
