#!/usr/bin/env bash
# install.sh BUILD CMAKE: installs the build into a prefix of its own, runs a study from an empty directory, builds a
# project that uses the libraries, and checks man page and completion.
set -euo pipefail
build=$1
cmake=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
prefix=$place/prefix
/usr/bin/python3 -m venv --system-site-packages --without-pip "$prefix" # so that its Python looks for packages below the prefix
"$cmake" --install "$build" --prefix "$prefix" >"$place/log"
mkdir "$place/empty"
cd "$place/empty"
dodyn=$prefix/bin/dodyn

# Studies: keys, relative files, pictures, the script for all cores.
"$dodyn" run "$prefix/share/dodyn/configs/command-shell.cfg" --surrogate.points 3 >out 2>&1
"$dodyn" show command-shell.h5 | grep -q '^best: '
if /usr/bin/python3 -c 'import h5py, numpy' 2>/dev/null; then # with the installed package, not that of the sources
  "$prefix/bin/python" -c 'import dodyn, sys; sys.exit(not dodyn.__file__.startswith(sys.prefix))'
  echo "/* as installed */" >>"$prefix/share/dodyn/python/dodyn/page.css"
  "$dodyn" report command-shell.h5 >out
  grep -q 'Best design' command-shell.html
  grep -q 'as installed' command-shell.html
fi
DODYN='' "$prefix/share/dodyn/jobs/local.sh" "$prefix/share/dodyn/configs/command-python.cfg" --study.max-evaluations 3 >out 2>&1 ||
  { cat out; exit 1; }
"$dodyn" show command-python.h5 | grep -q '3 evaluations'

# A project outside.
mkdir "$place/project"
cp "$here/CMakeLists.outside.txt" "$place/project/CMakeLists.txt"
cp "$here/outside.cpp" "$place/project/"
"$cmake" -G Ninja -S "$place/project" -B "$place/project/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug >"$place/log" 2>&1 ||
  { cat "$place/log"; exit 1; }
"$cmake" --build "$place/project/build" >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
"$place/project/build/outside" "$place/empty/command-shell.h5"

# The manual is there, with its pictures.
grep -o '](docs/[^)#]*' "$prefix/share/doc/dodyn/README.md" | cut -c3- | sort -u >pages
(($(wc -l <pages) > 20))
while read -r page; do [[ -f $prefix/share/doc/dodyn/$page ]] || { echo "README.md links to $page, which is not installed"; exit 1; }; done <pages
grep -q '^| `study.seed` |' "$prefix/share/doc/dodyn/reference.md"

# The man page names every command of the program; completion offers them.
"$dodyn" --help | sed -n 's/^  dodyn \([a-z][a-z]*\) .*/\1/p' | sort -u >commands
[[ -s commands ]]
while read -r command; do
  grep -qE "^\.BI \"$command " "$prefix/share/man/man1/dodyn.1" || { echo "the man page lacks $command"; exit 1; }
done <commands
PATH=$prefix/bin:$PATH
# shellcheck disable=SC1091
source "$prefix/share/bash-completion/completions/dodyn"
COMP_WORDS=(dodyn "") COMP_CWORD=1 && _dodyn
diff <(printf '%s\n' "${COMPREPLY[@]}" | sort) commands
COMP_WORDS=(dodyn run --study.se) COMP_CWORD=2 && _dodyn
[[ ${COMPREPLY[*]} == --study.seed ]]
COMP_WORDS=(dodyn run --gait.cleara) COMP_CWORD=2 && _dodyn
[[ " ${COMPREPLY[*]} " == *" --gait.clearance "* ]]
echo "installed: $(find "$prefix" -type f | wc -l) files, $(du -sh "$prefix" | cut -f1)"
