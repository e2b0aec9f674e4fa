#!/usr/bin/env bash
# However one rank leaves, the run ends soon, with the exit code and the message of the rank that left.
#   leave.sh PROGRAM MPIRUN...
set -u
program=$1
mpirun=("${@:2}")

# expect WAY CODE MESSAGE: CODE may be "any" for any but 0 and the 124 of a run that hangs
expect() {
  local output code
  output=$(timeout 100 "${mpirun[@]}" "$program" "$1" 2>&1)
  code=$?
  if [[ $code = 124 || $code = 0 || ($2 != any && $code != "$2") || $output != *"$3"* ]]; then
    printf '%s: exit code %s (expected %s), output:\n%s\n' "$1" "$code" "$2" "$output"
    return 1
  fi
}

# all at once: Open MPI takes a second or two to clear up after a failed run
expect no-farm 2 "" &
expect exception-before 3 "caught: cannot create the archive" &
expect exception-within 3 "caught: disk full" &
expect worker-leaves any "caught: rank 1 has no model file" &
# Under MPICH a worker that finds rank 0 gone may abort first, and its code is the run's.
expect exit "$("${mpirun[@]:0:1}" --version 2>/dev/null | grep -q HYDRA && echo any || echo 4)" "" &
expect terminate any "" &
failures=0
for run in $(jobs -p); do wait "$run" || failures=$((failures + 1)); done
exit "$failures"
