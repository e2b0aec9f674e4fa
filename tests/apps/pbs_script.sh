#!/usr/bin/env bash
# Tests jobs/pbs.sh, sge.sh and lsf.sh with substitutes for mpirun and qsub. Checks the words that the study gets in
# this job, in the next one and in an array, and the exit codes after which a job starts again.
#   pbs_script.sh ROOT
set -u
root=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
cat >mpirun <<'FAKE'
#!/bin/sh
for word; do echo "$word"; done >started
case ${LOST:-} in
at_once) exit 1 ;;
forever) exec sleep 100 ;;  # no rank starts
esac
while [ $# -gt 1 ]; do
  [ "$1" = --exit-code-file ] && echo "${CODE:-3}" >"$2"
  shift
done
FAKE
printf '#!/bin/sh\nfor word; do echo "$word"; done >submitted\n' >qsub
printf '#!/bin/sh\n' >dodyn
chmod +x mpirun qsub dodyn
export PATH=$PWD:$PATH DODYN_JOBS=$root/jobs
unset DODYN
failures=0
fail() { echo "FAILED: $1"; failures=$((failures + 1)); }
words() { sed -n '/^run$/,/^--wall-time$/p' started | sed '1d;$d' | tr '\n' '|'; }  # words of the study that mpirun got
expect() { [[ $2 == "$3" ]] || fail "$1: '$2', not '$3'"; }
variables() { sed -n '/^-v$/{n;p}' submitted | tr ',' '\n'; }
in_pbs() { env "$@" PBS_O_WORKDIR="$PWD" PBS_NODEFILE=nodes bash "$root/jobs/pbs.sh" >out 2>&1; }
resubmitted() {  # runs in the environment that the last qsub set, with additions
  mapfile -t given < <(variables)
  in_pbs "${given[@]}" "$@"
}

# Words from qsub -v, also in the job that continues.
in_pbs CONFIG=x.cfg KEYS="--gait.initial-guesses 4 --study.seed 2"
expect "keys" "$(words)" "x.cfg|--gait.initial-guesses|4|--study.seed|2|"
rm -f started
resubmitted
expect "keys of the next job" "$(words)" "x.cfg|--gait.initial-guesses|4|--study.seed|2|"

# The script submits itself: words with blanks, commas and quotes; qsub's own options reach the next job.
QSUB_OPTIONS="-l walltime=04:00:00 -q long" bash "$root/jobs/pbs.sh" "a b.cfg" --surrogate.constraints "speed >= 1, work <= 2" --x "it's"
expect "options" "$(head -n 4 submitted | tr '\n' '|')" "-l|walltime=04:00:00|-q|long|"
resubmitted
expect "words" "$(words)" "a b.cfg|--surrogate.constraints|speed >= 1, work <= 2|--x|it's|"
expect "options of the next job" "$(head -n 4 submitted | tr '\n' '|')" "-l|walltime=04:00:00|-q|long|"
resubmitted
expect "words of the third job" "$(words)" "a b.cfg|--surrogate.constraints|speed >= 1, work <= 2|--x|it's|"

# Variables of the shell reach the job and all jobs that continue it.
WALL_TIME=00:10:00 MPIRUN_OPTIONS="--map-by ppr:1:node,pe=2 --report-bindings" bash "$root/jobs/pbs.sh" x.cfg
for job in first second; do
  rm -f started
  resubmitted
  expect "MPIRUN_OPTIONS of the $job job" "$(sed -n '/^--map-by$/{p;n;p;n;p}' started | tr '\n' '|')" "--map-by|ppr:1:node,pe=2|--report-bindings|"
  seconds=$(sed -n '/^--wall-time$/{n;p}' started)
  ((seconds > 300 && seconds <= 600)) || fail "WALL_TIME of the $job job: $seconds s, not 600 s"
done
RESUBMIT=0 bash "$root/jobs/pbs.sh" x.cfg
mapfile -t given < <(variables)
rm -f submitted
in_pbs "${given[@]}"
expect "RESUBMIT=0, not finished" "$?" 3
[[ ! -e submitted ]] || fail "RESUBMIT=0 does not reach the job"

# Arrays: the study of the task, which the next job continues alone; a task without a study; the seed of the task.
QSUB_OPTIONS="-J 1-2 -q long" bash "$root/jobs/pbs.sh" a.cfg b.cfg --study.batch 4
resubmitted PBS_ARRAY_INDEX=2
expect "task 2" "$(words)" "b.cfg|--study.batch|4|"
expect "options of its next job" "$(head -n 3 submitted | tr '\n' '|')" "-q|long|-v|"
resubmitted
expect "task 2, the next job" "$(words)" "b.cfg|--study.batch|4|"
in_pbs DODYN_WORDS="$(printf 'a.cfg\0' | od -An -v -tx1 | tr -d ' \n')" PBS_ARRAY_INDEX=2
expect "a task without a study" "$?" 2
SEEDS=1 QSUB_OPTIONS="-J 1-8" bash "$root/jobs/pbs.sh" configs/a.cfg
resubmitted PBS_ARRAY_INDEX=7
expect "seed 7" "$(words)" "configs/a.cfg|--study.seed|7|--study.archive|a-7.h5|"
resubmitted
expect "seed 7, the next job" "$(words)" "configs/a.cfg|--study.seed|7|--study.archive|a-7.h5|"
rm submitted
resubmitted_none() { CODE=0 in_pbs CONFIG=x.cfg; }
resubmitted_none || fail "exit code $? of a study that has finished"
[[ ! -e submitted ]] || fail "a finished study is submitted again"

# A run without ranks or without an exit code gets three further jobs. The next command gets three again.
for how in at_once forever at_once; do
  rm -f submitted
  LOST=$how LAUNCH=2 in_pbs CONFIG=x.cfg
  for job in 2 3 4; do
    [[ -e submitted ]] || fail "job $job of a run that is lost $how is not submitted: $(cat out)"
    mv submitted before 2>/dev/null
    mapfile -t given < <(sed -n '/^-v$/{n;p}' before | tr ',' '\n')
    LOST=$how LAUNCH=2 in_pbs "${given[@]}"
  done
  expect "the fourth job of a run that is lost $how" "$?" 1
  [[ ! -e submitted ]] || fail "a fifth job of a run that is lost $how"
done
rm -f submitted
LOST=at_once in_pbs CONFIG=x.cfg
CODE=0 resubmitted || fail "exit code $? of a study that has finished in its second job"
[[ -z $(compgen -G '.dodyn-*') ]] || fail "left behind: $(compgen -G '.dodyn-*')"
rm -f submitted

# Grid Engine: words as arguments, hosts of PE_HOSTFILE, code 99 to start again.
printf 'node1 4 all.q@node1 UNDEFINED\nnode2 2 all.q@node2 UNDEFINED\n' >pe
sge() { env "$@" PE_HOSTFILE=pe bash "$root/jobs/sge.sh" a.cfg b.cfg --x "1, 2" >out 2>&1; }
sge SGE_TASK_ID=2
expect "Grid Engine, not finished" "$?" 99
expect "Grid Engine, task 2" "$(words)" "b.cfg|--x|1, 2|"
expect "its hosts" "$(sed -n '/^--host/,+1p' started | tr '\n' '|')" "--host|node1:4,node2:2|"
CODE=0 sge SGE_TASK_ID=1
expect "Grid Engine, finished" "$?" 0
CODE=2 sge SGE_TASK_ID=1
expect "Grid Engine, refused" "$?" 2
LOST=at_once sge SGE_TASK_ID=1
expect "Grid Engine, not started" "$?" 99
CODE=0 sge SGE_TASK_ID=1
DODYN_JOBS=/none sge SGE_TASK_ID=undefined
expect "Grid Engine, no jobs/pbs.sh" "$?: $(cat out)" "2: dodyn: /none/pbs.sh is not there, which runs the study; set DODYN_JOBS to its folder"
# Grid Engine passes only the variables that the script names. A variable that the shell does not have is empty.
for name in DODYN DODYN_JOBS SEEDS WALL_TIME MPIRUN_OPTIONS RESTARTS IN_USE_WAIT LAUNCH ALONE; do
  grep -qE "^#\\$ -v ([A-Z_]+,)*$name(,|\$)" "$root/jobs/sge.sh" || fail "Grid Engine does not hand on $name"
done
sge SGE_TASK_ID=2 DODYN= SEEDS= WALL_TIME= MPIRUN_OPTIONS= RESTARTS= IN_USE_WAIT= LAUNCH= ALONE=
expect "Grid Engine, empty variables" "$?: $(words)" "99: b.cfg|--x|1, 2|"

# If DODYN is not a program, no other one is used, and nothing is started or submitted.
rm -f started submitted
missing="2: dodyn: /none/dodyn: no such program; set DODYN to its path"
in_pbs CONFIG=x.cfg DODYN=/none/dodyn
expect "PBS, no program" "$?: $(cat out)" "$missing"
sge SGE_TASK_ID=1 DODYN=/none/dodyn
expect "Grid Engine, no program" "$?: $(cat out)" "$missing"
DODYN=/none/dodyn bash "$root/jobs/local.sh" x.cfg >out 2>&1
expect "local.sh, no program" "$?: $(cat out)" "$missing"
[[ ! -e started && ! -e submitted ]] || fail "started or submitted without a program"

# LSF: CONFIG and KEYS come from the environment; LSF's own codes start the job again.
lsf() { env "$@" LSB_DJOB_HOSTFILE=nodes LS_SUBCWD="$PWD" bash "$root/jobs/lsf.sh" >out 2>&1; }
lsf CONFIG=x.cfg KEYS="--study.batch 8" LSB_JOBINDEX=0
expect "LSF, not finished" "$?" 3
expect "LSF" "$(words)" "x.cfg|--study.batch|8|"
lsf CONFIG="x.cfg y.cfg" LSB_JOBINDEX=2
expect "LSF, task 2" "$(words)" "y.cfg|"
[[ ! -e submitted ]] || fail "Grid Engine and LSF start a job again by themselves"
exit $((failures > 0))
