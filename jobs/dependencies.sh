#!/usr/bin/env bash
# Installs the Debian packages that dodyn is built, tested and plotted with, where any is missing; with the argument `all`
# also those without which a few tests are skipped (a browser, pandas, xarray, mkdocs, doxygen, notebooks, mypy, clang-format), and, by npm where
# it is installed, axe-core, which examines the pages of `dodyn report`. MPI=mpich: with MPICH in place of Open MPI. CXX=clang++: with clang, too.
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config
  libeigen3-dev libnlopt-dev libnlopt-cxx-dev coinor-libipopt-dev
  libboost-program-options-dev libboost-dev libhdf5-dev zlib1g-dev nlohmann-json3-dev
  libgtest-dev libgmock-dev hdf5-tools python3-h5py python3-matplotlib
  node-d3 libjs-three)
[[ ${MPI:-openmpi} == mpich ]] && packages+=(mpich libmpich-dev) || packages+=(openmpi-bin libopenmpi-dev)
[[ ${1:-} != all ]] || packages+=(chromium python3-pandas python3-xarray python3-h5netcdf
  mkdocs doxygen jupyter-nbconvert python3-ipykernel mypy clang-format)
[[ ${CXX:-} != *clang* ]] || packages+=(clang)

# axe-core is not in Debian. It is needed by one test alone, so that a failure is no more than a note.
axe() {
  [[ ${1:-} == all ]] && command -v npm >/dev/null || return 0
  [[ ! -e $(npm root --global)/axe-core/axe.min.js && ! -e /usr/local/lib/node_modules/axe-core/axe.min.js ]] || return 0
  echo "dodyn: installing axe-core with npm" >&2
  npm install --global --silent --no-audit --no-fund axe-core@4 >&2 || echo "dodyn: axe-core could not be installed; a test is skipped" >&2
}

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status} ' "$package" 2>/dev/null || true)
  [[ $status == installed* ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  axe "$@"
  exit 0
fi

give_up() {
  echo "dodyn: $1; please install: ${missing[*]}" >&2
  exit 1
}
command -v apt-get >/dev/null || give_up "no apt-get on this system (the names are those of Debian 12)"
as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || give_up "packages are missing, and there is neither root nor sudo to install them"
  as_root=(sudo)
fi

echo "dodyn: installing these Debian packages, which can take some minutes: ${missing[*]}" >&2
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >&2; }
apt update || give_up "apt-get update failed"
apt install --yes --no-install-recommends "${missing[@]}" || give_up "apt-get install failed"
axe "$@"
