#!/usr/bin/env bash
# jobs/slurm.sh alone, with an mpirun and a scontrol that only play: when it asks for the job to be requeued.
#   slurm_script.sh ROOT
set -u
root=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
cat >mpirun <<'FAKE'
#!/bin/sh
# Ends as the file `code` says: with that exit code of the study, or with none, as where rank 0 was killed or never began.
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
run() { # run CODE RESTARTS EXPECTED: requeues asked for in all, after this one
  echo "$1" >code
  SLURM_RESTART_COUNT=$2 SLURM_SUBMIT_DIR=. SLURM_JOB_ID=9 PATH=$PWD:$PATH bash "$root/jobs/slurm.sh" x.cfg >/dev/null 2>&1
  local requeues
  requeues=$(cat calls 2>/dev/null | wc -l)
  [[ $requeues == "$3" ]] || { echo "code $1, restart $2: $requeues requeues, not $3"; failures=$((failures + 1)); }
}
run 3 0 1 # not finished
run none 5 2 # requeued often, and then told to end while it starts: that is one failed start
run none 6 3
run 3 7 4 # it did start: three chances again
run none 8 5
run none 9 6
run none 10 7
run none 11 7 # given up
run 0 12 7
run 1 13 7
run 2 14 7
run 5 15 9 # the archive is in use: requeued, and begun later
grep -q 'update JobId=9 StartTime=now+' calls || { echo "no later start where the archive is in use"; failures=$((failures + 1)); }
[[ ! -e .dodyn-9.unstarted ]] || { echo "a note is left behind"; failures=$((failures + 1)); }
# DODYN that names no program: no other one is taken, and the job is not requeued.
echo 3 >code
said=$(DODYN=/none/dodyn SLURM_SUBMIT_DIR=. SLURM_JOB_ID=9 PATH=$PWD:$PATH bash "$root/jobs/slurm.sh" x.cfg 2>&1)
[[ "$?: $said" == "2: dodyn: /none/dodyn: no such program; set DODYN to its path" ]] || { echo "no program: $said"; failures=$((failures + 1)); }
(($(wc -l <calls) == 9)) || { echo "requeued without a program"; failures=$((failures + 1)); }

# An mpirun that stays with nothing but what starts a launch daemon (srun ... orted) is ended when the exit code is there; and none that
# has a rank is.
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
# One that never has a rank (a host is gone) is ended, and the job is requeued: perhaps other hosts are better.
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
exit $((failures > 0))
