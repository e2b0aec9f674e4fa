#!/usr/bin/env bash
# Builds with warnings as errors and runs the tests, all but those labelled `long`. Arguments go to ctest:
#   tests/run.sh            tests/run.sh -R farm            tests/run.sh -L long
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cores=$(nproc)

jobs/dependencies.sh
cmake --preset ci >/dev/null
cmake --build --preset ci --parallel "$cores"

# The preset leaves out `long`, whatever else is asked for; a caller's -L decides alone.
case " $* " in
  *" -L "*) selection=(--test-dir build/ci --output-on-failure) ;;
  *) selection=(--preset ci) ;;
esac
exec ctest "${selection[@]}" --parallel "$cores" --no-tests=error "$@"
