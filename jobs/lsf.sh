#!/usr/bin/env bash
# One study as one job of LSF, which starts it again until the study has finished:
#   CONFIG=configs/knee.cfg bsub -n 64 -W 4:00 <jobs/lsf.sh
#   CONFIG=configs/knee.cfg KEYS="--study.batch 64 --study.seed 2" bsub <jobs/lsf.sh
#   CONFIG="a.cfg b.cfg c.cfg" bsub -J "dodyn[1-3]" <jobs/lsf.sh            an array: task k runs study k
#   SEEDS=1 CONFIG=configs/knee.cfg bsub -J "dodyn[1-8]" <jobs/lsf.sh       an array of seeds; `dodyn merge` joins the archives
# Submit from the directory that is to hold the archive. CONFIG and KEYS hold words by blanks.
# SIGUSR1 comes two minutes before the end; the run ends in order. The exit codes 3 (not finished) and 5 (archive in use) have LSF put
# the job into the queue again, and so does the loss of its first host.
#BSUB -J dodyn
#BSUB -n 4
#BSUB -W 1:00
#BSUB -wa USR1 -wt 2
#BSUB -Q "3 5"
#BSUB -r
#BSUB -o dodyn-%J.out
set -u
export PBS_O_WORKDIR=${LS_SUBCWD:-$PWD} PBS_NODEFILE=$LSB_DJOB_HOSTFILE RESUBMIT=0 WALL_TIME=${WALL_TIME:-8760:00:00}
if ((${LSB_JOBINDEX:-0} > 0)); then export DODYN_INDEX=$LSB_JOBINDEX; fi
jobs=${DODYN_JOBS:-$PBS_O_WORKDIR/jobs}
[[ -r $jobs/pbs.sh ]] || { echo "dodyn: $jobs/pbs.sh is not there, which runs the study; set DODYN_JOBS to its folder" >&2; exit 2; }
read -r -a words <<<"${CONFIG:?usage: CONFIG=FILE bsub <jobs/lsf.sh} ${KEYS:-}"
exec bash "$jobs/pbs.sh" "${words[@]}" # pbs.sh handles the signals
