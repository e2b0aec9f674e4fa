#!/usr/bin/env bash
# A Slurm of its own, everything below DIR, for tests; as root. Afterwards: export SLURM_CONF=DIR/slurm.conf
#   slurm_up.sh DIR CPUS              one node, this host, on the loopback interface; slurm_down.sh DIR ends it
#   slurm_up.sh DIR CPUS LAST         inside of `../hosts/hosts.sh run LAST`: slurmctld on host1, nodes host2 .. hostLAST
set -eu
directory=$1 cpus=$2 last=${3:-1} host=$(hostname -s)
hosts=$(cd "$(dirname "${BASH_SOURCE[0]}")/../hosts" && pwd)/hosts.sh
if ((last > 1)); then
  nodes="host[2-$last]"
  controller="host1(10.78.0.1)"
  addresses="NodeName=$nodes NodeAddr=10.78.0.[2-$last]"
  # Losses are seen soon: a node is down 10 to 15 s after its last word; a requeued job waits for cred_expire.
  own="SlurmdTimeout=10
MessageTimeout=5
SlurmdSpoolDir=$directory/spool/%n
SlurmdPidFile=$directory/slurmd-%n.pid
SlurmdLogFile=$directory/log/slurmd-%n.log"
else
  nodes=$host
  controller="$host(127.0.0.1)"
  addresses="NodeName=$host NodeAddr=127.0.0.1"
  own="CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmdSpoolDir=$directory/spool
SlurmdPidFile=$directory/slurmd.pid
SlurmdLogFile=$directory/log/slurmd.log"
fi
mkdir -p "$directory"/{munge,state,spool,log}
chmod 755 "$directory"
chmod 700 "$directory/munge"
dd if=/dev/urandom of="$directory/munge/key" bs=1 count=128 status=none
chmod 600 "$directory/munge/key"
socket=$directory/munge.socket

cat >"$directory/slurm.conf" <<CONF
ClusterName=dodyn
SlurmctldHost=$controller
SlurmctldPort=${SLURMCTLD_PORT:-26817}
SlurmdPort=${SLURMD_PORT:-26818}
AuthType=auth/munge
AuthInfo=socket=$socket,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$directory/state
SlurmctldPidFile=$directory/slurmctld.pid
SlurmctldLogFile=$directory/log/slurmctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
KillWait=10
ReturnToService=2
MailProg=/bin/true
SlurmdParameters=config_overrides
$own
$addresses CPUs=$cpus State=UNKNOWN
PartitionName=test Nodes=$nodes Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$directory/slurm.conf

start() { # start NAME COMMAND...
  local name=$1
  shift
  "$@" >"$directory/log/$name.out" 2>&1 &
  echo $! >"$directory/$name.started"
}
start munged munged --foreground --key-file="$directory/munge/key" --socket="$socket" --num-threads=2 \
  --pid-file="$directory/munge/pid" --log-file="$directory/munge/log" --seed-file="$directory/munge/seed"
for ((i = 0; i < 100; ++i)); do [[ -S $socket ]] || sleep 0.1; done
if ((last > 1)); then
  start slurmctld "$hosts" on host1 exec slurmctld -D -f "$SLURM_CONF"
  for ((i = 2; i <= last; ++i)); do start "slurmd-host$i" "$hosts" on "host$i" exec slurmd -D -f "$SLURM_CONF" -N "host$i"; done
  ask() { "$hosts" on host1 sinfo -h -o "'%D %T'"; }
else
  start slurmctld slurmctld -D -f "$SLURM_CONF"
  start slurmd slurmd -D -f "$SLURM_CONF" -N "$host"
  ask() { sinfo -h -o "%D %T"; }
fi
for ((i = 0; i < 300; ++i)); do
  [[ $(ask 2>/dev/null) == "$((last > 1 ? last - 1 : 1)) idle" ]] && exit 0
  sleep 0.2
done
echo "slurm_up: the nodes do not become idle; see $directory/log" >&2
exit 1
