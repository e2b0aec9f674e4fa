#!/usr/bin/env bash
# Several hosts on one machine: network namespaces with host names of their own, joined by a switch.
#   hosts.sh run N COMMAND...      brings up host1 .. hostN (10.78.0.1 .. N), runs COMMAND on none of them, and takes all down again
# COMMAND and what it starts use
#   hosts.sh on HOST COMMAND...    runs COMMAND there, as ssh does: words are joined and a shell reads them; HOST is a name or an address
#   hosts.sh cable HOST up|down    plugs or pulls the host's network cable
#   hosts.sh pids HOST             lists the processes of a host
# All of it lives in a process namespace of its own, whose first process is COMMAND's parent: when that ends, or is killed, the
# kernel ends every process in it, and the networks and mounts go with them. The hosts share file
# systems, processors and an empty TMPDIR of their own. Exit code of `run`: COMMAND's; 77 where namespaces are not permitted.
set -u
self=$(realpath "${BASH_SOURCE[0]}")
PATH=$PATH:/usr/sbin:/sbin
name_of() { # 10.78.0.3 or host3
  [[ $1 == *.* ]] && echo "host${1##*.}" || echo "$1"
}
case ${1:-} in
run)
  [[ ${2:-} =~ ^[2-8]$ && $# -ge 3 ]] || { echo "usage: hosts.sh run 2..8 COMMAND..." >&2; exit 2; }
  command -v ip >/dev/null || { echo "skipped: no ip; apt-get install iproute2"; exit 77; }
  why=$(unshare --fork --pid --kill-child --mount --net --uts --ipc true 2>&1) || { echo "skipped: ${why:-no namespaces}"; exit 77; }
  exec unshare --fork --pid --kill-child --mount-proc --mount --net --uts --ipc bash "$self" inside "${@:2}"
  ;;
inside)
  hosts=$2
  shift 2
  trap : INT TERM HUP # COMMAND gets them, too, and decides
  set -e
  mount -t tmpfs none /run
  mkdir /run/netns /run/tmp
  mount -t tmpfs none /dev/shm # where ranks of equal names in other networks would meet
  export TMPDIR=/run/tmp
  ip link set lo up
  ip link add switch type bridge
  ip addr add 10.78.0.254/24 dev switch
  ip link set switch up
  for ((i = 1; i <= hosts; ++i)); do
    ip netns add "host$i"
    ip -n "host$i" link set lo up
    ip link add "host$i" type veth peer name eth0 netns "host$i"
    ip link set "host$i" master switch up
    ip -n "host$i" addr add "10.78.0.$i/24" dev eth0
    ip -n "host$i" link set eth0 up
  done
  set +e
  "$@" <&0 &
  command=$!
  while kill -0 "$command" 2>/dev/null; do wait "$command"; code=$?; done
  exit "$code"
  ;;
on)
  host=$(name_of "$2")
  shift 2
  exec nsenter --net="/run/netns/$host" unshare --uts bash -c 'hostname "$0"; eval "$*"' "$host" "$@"
  ;;
cable)
  ip link set "$(name_of "$2")" "$3"
  ;;
pids)
  ip netns pids "$(name_of "$2")"
  ;;
*)
  sed -n '2,/^set/s/^# \{0,1\}//p' "$self" >&2
  exit 2
  ;;
esac
