#!/usr/bin/env bash
# Several studies at once, one array task and one archive each, each requeued until it has finished:
#   sbatch --array=0-2 jobs/slurm-array.sh configs/knee.cfg configs/published/knee-fixed-masses.cfg configs/published/knee-published.cfg [--key value ...]
# or one study with many seeds (SEEDS=1: the task's number is the seed; `dodyn merge` joins the archives):
#   SEEDS=1 sbatch --array=1-8 jobs/slurm-array.sh configs/knee.cfg
#SBATCH --job-name=dodyn
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%A_%a.out
set -eu
n=$SLURM_ARRAY_TASK_ID
if [[ ${SEEDS:-0} == 1 ]]; then
  config=${1:?usage: SEEDS=1 sbatch --array=1-N jobs/slurm-array.sh CONFIG [--key value ...]}
  set -- "$@" --study.seed "$n" --study.archive "$(basename "$config" .cfg)-$n.h5"
else
  configs=() # and behind them --key value ..., which all of them get
  while (($#)) && [[ $1 != --* ]]; do
    configs+=("$1")
    shift
  done
  ((${#configs[@]} > n)) || { echo "dodyn: array task $n, but only ${#configs[@]} configurations" >&2; exit 2; }
  set -- "${configs[n]}" "$@"
fi
jobs=${DODYN_JOBS:-$SLURM_SUBMIT_DIR/jobs} # Slurm runs a copy of this script, from a folder of its own
[[ -r $jobs/slurm.sh ]] || { echo "dodyn: $jobs/slurm.sh is not there, which runs the study; set DODYN_JOBS to its folder" >&2; exit 2; }
exec bash "$jobs/slurm.sh" "$@" # slurm.sh handles the signals
