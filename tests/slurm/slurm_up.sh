#!/usr/bin/env bash
# A one-node Slurm on the loopback interface, everything below DIR, for tests; as root.
#   slurm_up.sh DIR CPUS      then: export SLURM_CONF=DIR/slurm.conf; slurm_down.sh DIR
set -eu
directory=$1 cpus=$2 host=$(hostname -s)
mkdir -p "$directory"/{munge,state,spool,log}
chmod 755 "$directory"
chmod 700 "$directory/munge"
dd if=/dev/urandom of="$directory/munge/key" bs=1 count=128 status=none
chmod 600 "$directory/munge/key"
socket=$directory/munge.socket

cat >"$directory/slurm.conf" <<CONF
ClusterName=dodyn
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${SLURMCTLD_PORT:-26817}
SlurmdPort=${SLURMD_PORT:-26818}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket=$socket,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$directory/state
SlurmdSpoolDir=$directory/spool
SlurmctldPidFile=$directory/slurmctld.pid
SlurmdPidFile=$directory/slurmd.pid
SlurmctldLogFile=$directory/log/slurmctld.log
SlurmdLogFile=$directory/log/slurmd.log
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
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus State=UNKNOWN
PartitionName=test Nodes=$host Default=YES MaxTime=INFINITE State=UP
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
start slurmctld slurmctld -D -f "$SLURM_CONF"
start slurmd slurmd -D -f "$SLURM_CONF" -N "$host"
for ((i = 0; i < 300; ++i)); do
  [[ $(sinfo -h -o %T 2>/dev/null) == idle ]] && exit 0
  sleep 0.2
done
echo "slurm_up: the node does not become idle; see $directory/log" >&2
exit 1
