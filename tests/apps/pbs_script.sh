#!/usr/bin/env bash
# jobs/pbs.sh alone, with an mpirun and a qsub that only play: which keys the study gets, in this job and in the next one.
#   pbs_script.sh ROOT
set -u
root=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
cat >mpirun <<'FAKE'
#!/bin/sh
echo "$@" >started
while [ $# -gt 1 ]; do
  [ "$1" = --exit-code-file ] && echo 3 >"$2"
  shift
done
FAKE
printf '#!/bin/sh\nfor word; do echo "$word"; done >resubmitted\n' >qsub
chmod +x mpirun qsub
PBS_O_WORKDIR=$PWD PBS_NODEFILE=nodes CONFIG=x.cfg KEYS="--gait.initial-guesses 4 --study.seed 2" PATH=$PWD:$PATH \
  bash "$root/jobs/pbs.sh" >/dev/null 2>&1
failures=0
expect() { grep -q -e "$2" "$1" || { echo "$1 has no '$2': $(cat "$1")"; failures=$((failures + 1)); }; }
expect started 'run x.cfg --gait.initial-guesses 4 --study.seed 2 --wall-time'
expect resubmitted 'CONFIG=x.cfg,KEYS=--gait.initial-guesses 4 --study.seed 2,DODYN='
exit $((failures > 0))
