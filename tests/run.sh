#!/usr/bin/env bash
# Builds with warnings as errors and runs the tests, all but those labelled `long`. Arguments go to ctest:
#   tests/run.sh            tests/run.sh -R farm            tests/run.sh -L long
#   MPI=mpich tests/run.sh          on MPICH: what starts ranks, without what MPICH does not survive (docs/measured/mpi.md)
#   CXX=clang++ tests/run.sh        by clang, in a build folder of its own
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cores=$(nproc)

jobs/dependencies.sh
build=build/ci options=() targets=() selection=()
if [[ ${CXX:-} == *clang* ]]; then
  build=build/ci-clang
  options=(-B "$build" -D DODYN_BENCH=ON)  # once in a while the benchmarks are compiled, too
fi
if [[ ${MPI:-openmpi} == mpich ]]; then
  build=build/ci-mpich
  options=(-B "$build" -D MPI_CXX_COMPILER=mpicxx.mpich -D MPIEXEC_EXECUTABLE="$(command -v mpiexec.mpich)")
  targets=(--target dodyn test_apps example_farm test_farm test_farm_{mpi,leave,link_nlp_first,link_farm_first})
  selection=(-R '^(farm|apps\.(Command|faults|replay)|examples\.farm)')
fi
cmake --preset ci "${options[@]}" >/dev/null
cmake --build "$build" --parallel "$cores" "${targets[@]}"

# Python compiles the package once, not at each start of `dodyn report`, and leaves nothing in the sources.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX="$PWD/$build/pycache"

# `long` is excluded unless the caller gives -L.
case " $* " in
  *" -L "*) ;;
  *) selection+=(-LE long) ;;
esac
# Many tests wait for signals and time limits, so more tests than cores run at a time.
exec ctest --test-dir "$build" --output-on-failure "${selection[@]}" --parallel "$((cores + (cores + 1) / 2))" --no-tests=error "$@"
