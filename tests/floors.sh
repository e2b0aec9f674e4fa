#!/usr/bin/env bash
# Checks includes against the floors of folders: an include points to a lower floor or to its own folder. Only the
# folders named here include MPI, HDF5 and the solvers. A type that the README of a folder names must exist there.
# Prints each violation as file:line; exit code 1 if there is any.
#   floors.sh [ROOT]
set -euo pipefail

# check ROOT: prints the violations
check() (
  cd "$1"
  { grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' --include='*.[ch]pp' --include='*.[ch]' \
    src surrogate apps || true; } | awk '
    BEGIN {
      split("record 0 autodiff 1 geometry 1 settings 1 surrogate 2 nlp 2 rigid 2 variational 2 elastic 3 systems 3 " \
            "archive 4 dmoc 4 farm 4 evaluators 5 study 6 report 7 apps 8", words)
      for (i = 1; i in words; i += 2) floor_of[words[i]] = words[i + 1]
    }
    function violation(what) { print place ": " what }
    {
      split($0, part, ":")
      place = part[1] ":" part[2]
      folder = part[1]
      sub(/^src\//, "", folder)
      sub(/\/.*/, "", folder)
      header = $0
      sub(/^[^<"]*[<"]/, "", header)
      sub(/[>"].*/, "", header)
      target = header
      sub(/\/.*/, "", target)

      if (!(folder in floor_of)) violation("folder " folder " has no floor")
      else if (folder == "apps") {
        # on top of everything
      } else if (header ~ /\// && target in floor_of) {
        if (target != folder && floor_of[target] >= floor_of[folder])
          violation(folder " (floor " floor_of[folder] ") may not include " header " (floor " floor_of[target] ")")
      } else if ($0 ~ /include[[:space:]]*"/)
        violation("write \"" header "\" from the name of its folder on")

      if (header ~ /(^|\/)mpi\.h$/ && folder != "farm") violation("only farm may include " header)
      if (header ~ /(^|\/)(hdf5(_hl)?|H5.*)\.h$/ && folder != "archive") violation("only archive may include " header)
      if (header ~ /(^|\/)Ip[A-Z][A-Za-z]*\.(hpp|h)$/ && folder != "nlp") violation("only nlp may include " header)
      if (header ~ /(^|\/)nlopt\.(hpp|h)$/ && folder != "nlp" && folder != "surrogate")
        violation("only nlp and surrogate may include " header)
    }'
  find src surrogate apps -name README.md | while read -r page; do
    { grep -noE '`[A-Z][A-Za-z:]*(\(\))?`' "$page" || true; } | tr -d '`()' | while IFS=: read -r line name; do
      grep -rqw --include='*.[ch]pp' "${name##*:}" "$(dirname "$page")" || printf '%s:%s: no %s in this folder\n' "$page" "$line" "$name"
    done
  done
)

# A tree with known violations, so that this test can fail.
self_check() {
  local tree expected found
  tree=$(mktemp -d)
  # shellcheck disable=SC2064  # the name as it is now
  trap "rm -rf '$tree'" EXIT
  mkdir -p "$tree"/src/{farm,nlp,study,dmoc,archive,utils} "$tree"/{surrogate,apps}
  printf '#include <mpi.h>\n#include "record/task.hpp"\n#include "farm/farm.hpp"\n' >"$tree/src/farm/right.cpp"
  printf '#include <IpIpoptApplication.hpp>\n#include <nlopt.hpp>\n#include <vector>\n' >"$tree/src/nlp/right.cpp"
  printf '#include <hdf5.h>\n#include "surrogate/strategy.hpp"\n' >"$tree/src/archive/right.cpp"
  printf '#include <nlopt.hpp>\n#include <Eigen/Core>\n#include "record/evaluation.hpp"\n#include "settings/key.hpp"\n' >"$tree/surrogate/right.hpp"
  printf '#include "study/study.hpp"\n#include "farm/farm.hpp"\n#include "command.hpp"\n' >"$tree/apps/right.cpp"
  printf '#include <vector>\n#include "farm/farm.hpp"\n' >"$tree/src/nlp/up.hpp"
  printf ' #  include <farm/farm.hpp>\n' >"$tree/src/dmoc/level.cpp"
  printf '#include <mpi.h>\n#include <coin/IpTNLP.hpp>\n#include <H5Cpp.h>\n#include <nlopt.h>\n' >"$tree/src/study/foreign.cpp"
  printf '#include <hdf5.h>\n' >"$tree/apps/foreign.cpp"
  printf '#include "nlp/problem.hpp"\n#include "strategy.hpp"\n' >"$tree/surrogate/level.hpp"
  printf '#include <vector>\n' >"$tree/src/utils/homeless.hpp"
  printf 'struct Present {\n' >"$tree/src/nlp/present.hpp"
  printf '# nlp\n- `Present`: here\n- `Absent`: renamed\n' >"$tree/src/nlp/README.md"
  expected='apps/foreign.cpp:1
src/dmoc/level.cpp:1
src/nlp/README.md:3
src/nlp/up.hpp:2
src/study/foreign.cpp:1
src/study/foreign.cpp:2
src/study/foreign.cpp:3
src/study/foreign.cpp:4
src/utils/homeless.hpp:1
surrogate/level.hpp:1
surrogate/level.hpp:2'
  found=$(check "$tree" | sed 's/: .*//' | LC_ALL=C sort)
  if [[ $found != "$expected" ]]; then
    printf 'floors.sh does not find what it should; of\n%s\nit found\n%s\n' "$expected" "$found"
    exit 1
  fi
}

self_check
violations=$(check "${1:-$(dirname "${BASH_SOURCE[0]}")/..}")
if [[ -n $violations ]]; then
  printf '%s\n' "$violations"
  exit 1
fi
