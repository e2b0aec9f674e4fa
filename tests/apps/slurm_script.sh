#!/usr/bin/env bash
# Tests jobs/slurm.sh with substitutes for mpirun and scontrol: the cases in which the script requeues the job.
#   slurm_script.sh ROOT
set -u
root=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
cat >mpirun <<'FAKE'
#!/bin/sh
# Ends as the file `code` specifies: with this exit code of the study, or with none (rank 0 was killed or did not
# start).
code=$(cat code)
while [ $# -gt 1 ]; do
  [ "$1" = --exit-code-file ] && file=$2
  shift
done
[ "$code" = none ] || echo "$code" >"$file"
FAKE
printf '#!/bin/sh\necho "$@" >>calls\n' >scontrol
printf '#!/bin/sh\n' >dodyn
chmod +x mpirun scontrol dodyn
unset DODYN
failures=0
run() {  # run CODE RESTARTS EXPECTED: EXPECTED is the total of requests to requeue after this run
  echo "$1" >code
  SLURM_RESTART_COUNT=$2 SLURM_SUBMIT_DIR=. SLURM_JOB_ID=9 PATH=$PWD:$PATH bash "$root/jobs/slurm.sh" x.cfg >/dev/null 2>&1
  local requeues
  requeues=$(cat calls 2>/dev/null | wc -l)
  [[ $requeues == "$3" ]] || { echo "code $1, restart $2: $requeues requeues, not $3"; failures=$((failures + 1)); }
}
run 3 0 1 # not finished
run none 5 2  # requeued often, then ended during its start: counts as one failed start
run none 6 3
run 3 7 4  # it started, so three failed starts are allowed again
run none 8 5
run none 9 6
run none 10 7
run none 11 7 # given up
run 0 12 7
run 1 13 7
run 2 14 7
run 5 15 9  # the archive is in use: requeued, to start later
grep -q 'update JobId=9 StartTime=now+' calls || { echo "no later start where the archive is in use"; failures=$((failures + 1)); }
[[ ! -e .dodyn-9.unstarted ]] || { echo "a note is left behind"; failures=$((failures + 1)); }
# If DODYN is not a program, no other one is used, and the job is not requeued.
echo 3 >code
said=$(DODYN=/none/dodyn SLURM_SUBMIT_DIR=. SLURM_JOB_ID=9 PATH=$PWD:$PATH bash "$root/jobs/slurm.sh" x.cfg 2>&1)
[[ "$?: $said" == "2: dodyn: /none/dodyn: no such program; set DODYN to its path" ]] || { echo "no program: $said"; failures=$((failures + 1)); }
(($(wc -l <calls) == 9)) || { echo "requeued without a program"; failures=$((failures + 1)); }

# An mpirun whose only process starts a launch daemon (srun ... orted) is ended once the exit code exists. An mpirun
# with a rank is not ended.
cp "$(command -v sleep)" orted
cp "$(command -v sleep)" rank
cat >mpirun <<'FAKE'
#!/bin/sh
while [ $# -gt 1 ]; do
  [ "$1" = --exit-code-file ] && file=$2
  shift
done
echo 0 >"$file"
./rank 14 &
./orted 300
FAKE
began=$SECONDS
SLURM_SUBMIT_DIR=. SLURM_JOB_ID=9 PATH=$PWD:$PATH timeout 100 bash "$root/jobs/slurm.sh" x.cfg >/dev/null 2>&1
code=$? took=$((SECONDS - began))
((code == 0 && took >= 14 + 9 && took < 50)) || { echo "code $code after $took s"; failures=$((failures + 1)); }
# An mpirun that never has a rank (a host is lost) is ended, and the job is requeued, since other hosts may work.
cat >mpirun <<'FAKE'
#!/bin/sh
echo once >>starts
./orted 300
FAKE
rm -f calls
LAUNCH=3 SLURM_SUBMIT_DIR=. SLURM_JOB_ID=9 PATH=$PWD:$PATH timeout 60 bash "$root/jobs/slurm.sh" x.cfg >/dev/null 2>&1
[[ $(wc -l <starts) == 1 && $(cat calls) == "requeue 9" ]] || { echo "without ranks: $(wc -l <starts) starts, $(cat calls 2>&1)"; failures=$((failures + 1)); }
for script in local pbs slurm; do sed -n '/^end_if_left_alone/,/^}/p' "$root/jobs/$script.sh" | cksum; done | sort -u >watches
[[ $(wc -l <watches) == 1 ]] || { echo "end_if_left_alone differs between the job scripts"; failures=$((failures + 1)); }
# An array that is submitted from another folder names what it needs.
said=$(SLURM_ARRAY_TASK_ID=0 SLURM_SUBMIT_DIR=/tmp/elsewhere bash "$root/jobs/slurm-array.sh" x.cfg 2>&1)
[[ $? == 2 && $said == "dodyn: /tmp/elsewhere/jobs/slurm.sh is not there, which runs the study; set DODYN_JOBS to its folder" ]] ||
  { echo "array: $said"; failures=$((failures + 1)); }
exit $((failures > 0))
