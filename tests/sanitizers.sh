#!/usr/bin/env bash
# Builds the unit tests of the inexpensive folders, or of the farm, with sanitizers, and runs them:
#   tests/sanitizers.sh debug        addresses and undefined behaviour
#   tests/sanitizers.sh tsan         threads
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cmake --preset "$1" >/dev/null
cmake --build --preset "$1"
exec ctest --preset "$1"
