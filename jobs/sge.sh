#!/usr/bin/env bash
# One study as one job of Grid Engine (Son of Grid Engine, Univa, Altair), which starts it again until the study has finished:
#   qsub -pe mpi 64 -l h_rt=04:00:00 -l s_rt=03:58:00 jobs/sge.sh configs/knee.cfg [--key value ...]
#   qsub -t 1-3 jobs/sge.sh a.cfg b.cfg c.cfg [--key value ...]             an array: task k runs study k
#   SEEDS=1 qsub -t 1-8 jobs/sge.sh configs/knee.cfg                        an array of seeds; `dodyn merge` joins the archives
# Submit from the directory that is to hold the archive. The parallel environment has another name on each cluster: qconf -spl lists them.
# SIGUSR1 comes at s_rt; the run ends in order, and the exit code 99 has Grid Engine put the job into the queue again.
#$ -N dodyn
#$ -S /bin/bash
#$ -cwd
#$ -pe mpi 4
#$ -l h_rt=01:00:00
#$ -l s_rt=00:58:00
#$ -r y
#$ -notify
#$ -j y
# Variables of your shell that the job gets:
#$ -v DODYN,DODYN_JOBS,SEEDS,WALL_TIME,MPIRUN_OPTIONS,RESTARTS,IN_USE_WAIT,LAUNCH,ALONE
set -u
MPIRUN_HOSTS=$(awk '{ printf "%s%s:%s", separator, $1, $2; separator = "," }' "$PE_HOSTFILE")
export MPIRUN_HOSTS PBS_O_WORKDIR=$PWD REQUEUE_CODE=99 WALL_TIME=${WALL_TIME:-8760:00:00}
if [[ ${SGE_TASK_ID:-undefined} != undefined ]]; then export DODYN_INDEX=$SGE_TASK_ID; fi
jobs=${DODYN_JOBS:-$PWD/jobs}
[[ -r $jobs/pbs.sh ]] || { echo "dodyn: $jobs/pbs.sh is not there, which runs the study; set DODYN_JOBS to its folder" >&2; exit 2; }
exec bash "$jobs/pbs.sh" "$@" # pbs.sh handles the signals
