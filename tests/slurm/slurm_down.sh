#!/usr/bin/env bash
# Stops what slurm_up.sh DIR started, and its jobs.
set -u
directory=$1
export SLURM_CONF=$directory/slurm.conf
scancel --state=RUNNING,PENDING 2>/dev/null
sleep 2
for name in slurmd slurmctld munged; do
  pid=$(cat "$directory/$name.started" 2>/dev/null) || continue
  kill "$pid" 2>/dev/null
  for ((i = 0; i < 50; ++i)); do kill -0 "$pid" 2>/dev/null && sleep 0.2; done
  kill -9 "$pid" 2>/dev/null
done
exit 0
