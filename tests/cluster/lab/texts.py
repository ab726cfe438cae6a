"""The configuration files of the cluster's services."""

from __future__ import annotations

from lab.layout import CONTROLLER_ADDRESS, INSIDE, MEMORY_MB, NODES, STORAGE_ADDRESS, STORAGE_NAME, USERS

HOSTS = "".join(
    f"{address} {name}\n"
    for address, name in [
        ("127.0.0.1", "localhost"),
        (CONTROLLER_ADDRESS, "ctl"),
        (STORAGE_ADDRESS, STORAGE_NAME),
        *((node.address, node.name) for node in NODES),
    ]
)

SLURM = f"""\
ClusterName=lab
SlurmctldHost=ctl({CONTROLLER_ADDRESS})
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=socket={INSIDE}/munge/munge.socket
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=5
StateSaveLocation={INSIDE}/slurmctld
SlurmctldPidFile={INSIDE}/slurmctld/slurmctld.pid
SlurmctldLogFile={INSIDE}/log/slurmctld.log
SlurmctldDebug=info
SlurmdSpoolDir=/var/spool/slurmd
SlurmdPidFile=/run/slurmd.pid
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmdDebug=info
SlurmctldTimeout=60
SlurmdTimeout=20
MessageTimeout=10
KillWait=5
BatchStartTimeout=60
MinJobAge=600
ReturnToService=2
JobRequeue=1
LogTimeFormat=iso8601_ms
Epilog={INSIDE}/epilog
EpilogSlurmctld={INSIDE}/epilog-slurmctld
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=5
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=ctl
AccountingStoragePass={INSIDE}/munge/munge.socket
NodeName={",".join(node.name for node in NODES)} CPUs=1 RealMemory={MEMORY_MB * 3 // 4} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""

SLURMDBD = f"""\
AuthType=auth/munge
AuthInfo=socket={INSIDE}/munge/munge.socket
DbdHost=ctl
SlurmUser=slurm
DebugLevel=info
LogFile={INSIDE}/log/slurmdbd.log
PidFile={INSIDE}/slurmctld/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StorageUser=slurm
StorageLoc=slurm_acct
"""

GANESHA = f"""\
NFS_CORE_PARAM {{ Bind_addr = {STORAGE_ADDRESS}; NFS_Port = 2049; Protocols = 4; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; }}
NFSv4 {{ Graceless = true; Lease_Lifetime = 10; RecoveryBackend = fs; RecoveryRoot = {INSIDE}/ganesha; Only_Numeric_Owners = true; }}
EXPORT {{
    Export_Id = 1; Path = {INSIDE}/export; Pseudo = /ckpt; Access_Type = RW; Squash = No_root_squash; SecType = sys;
    Protocols = 4; Transports = TCP; FSAL {{ Name = VFS; }}
}}
LOG {{ Default_Log_Level = EVENT; }}
"""

SSHD = f"""\
Port 22
HostKey {INSIDE}/ssh/%s.key
AuthorizedKeysFile {INSIDE}/ssh/client.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
PermitRootLogin prohibit-password
StrictModes no
UseDNS no
PidFile /run/sshd.pid
Subsystem sftp internal-sftp
"""

SSH_CLIENT = f"""\
# For use inside the cluster's namespace.
Host {" ".join(node.name for node in NODES)}
    User root
    IdentityFile {INSIDE}/ssh/client
    IdentitiesOnly yes
    UserKnownHostsFile {INSIDE}/ssh/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    BatchMode yes
    ConnectTimeout 5
    ServerAliveInterval 5
    ServerAliveCountMax 2
    LogLevel ERROR
"""

# What a test puts there runs; the text of slurm.conf stays the same for all.
EPILOG = """\
#!/bin/sh
[ -x /var/lib/denpex-epilog ] && exec /var/lib/denpex-epilog
exit 0
"""

EPILOG_SLURMCTLD = f"""\
#!/bin/sh
[ -x {INSIDE}/site-epilog-slurmctld ] && exec {INSIDE}/site-epilog-slurmctld
exit 0
"""


def passwd(of_this_machine: str) -> str:
    """`*` in place of `x`: no shadow entry is looked for."""
    ours = "".join(f"{name}:*:{uid}:{uid}::/home/{name}:/bin/bash\n" for name, uid in USERS.items())
    return of_this_machine.rstrip("\n") + "\n" + ours


def group(of_this_machine: str) -> str:
    return of_this_machine.rstrip("\n") + "\n" + "".join(f"{name}:x:{uid}:\n" for name, uid in USERS.items())
