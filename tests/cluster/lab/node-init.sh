#!/bin/sh
# First process of a node: puts a writable layer over the machine's own file tree, then starts the node's services in it.
# The kernel hands `node=` and `address=` of its command line over as variables.
set -u
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
lab=/run/denpex-cluster
: "${node:?}" "${address:?}"

make_root() {
    mount -t proc proc /proc
    mount -t tmpfs upper /mnt
    mkdir /mnt/upper /mnt/work /mnt/root
    insmod "/usr/lib/uml/modules/$(uname -r)/kernel/fs/overlayfs/overlay.ko"
    mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
    exec chroot /mnt/root "$lab/node-init.sh" inside
}

mount_all() {
    mount -t proc proc /proc
    mount -t sysfs sysfs /sys
    mount -t devtmpfs devtmpfs /dev
    mkdir -p /dev/pts /dev/shm
    mount -t devpts -o mode=600,ptmxmode=000 devpts /dev/pts
    mount -t tmpfs tmpfs /dev/shm
    mount -t tmpfs tmpfs /tmp
    chmod 1777 /tmp /dev/shm
    # Start-up files of the machine's own root would slow down every ssh command.
    mount -t tmpfs -o mode=700 root-home /root
    mount -t tmpfs cgroup /sys/fs/cgroup
    for controller in memory freezer devices pids; do
        mkdir "/sys/fs/cgroup/$controller"
        mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller" 2>/dev/null || rmdir "/sys/fs/cgroup/$controller"
    done
    mkdir /sys/fs/cgroup/systemd && mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
    mkdir -p /scratch /ckpt /home/alice /home/bob /lib/modules
    chown 2001:2001 /home/alice
    chown 2002:2002 /home/bob
    mount -t ext4 -o errors=remount-ro /dev/ubda /scratch
    chmod 1777 /scratch
    ln -sfn "/usr/lib/uml/modules/$(uname -r)" "/lib/modules/$(uname -r)"
}

start_network() {
    hostname "$node"
    ip link set lo up
    ip addr add "$address/24" dev vec0
    ip link set vec0 up
    # Kernel messages go to the console, too, whose log outlives the node.
    echo 7 >/proc/sys/kernel/printk
}

mount_checkpoints() {
    modprobe nfsv4
    # 3 s until "not responding", as on a cluster with timeo=600 it would be 3 minutes.
    mount -t nfs4 -o hard,timeo=30,retrans=1 nfs01:/ckpt /ckpt
}

start_services() {
    rm -rf /run/munge /run/sshd
    mkdir -p /run/sshd /var/spool/slurmd /var/log/slurm
    mount -t tmpfs -o mode=755,uid=munge,gid=munge munge "$lab/munge"
    install -o munge -g munge -m 400 "$lab/munge.key" "$lab/munge/key"
    setpriv --reuid=munge --regid=munge --clear-groups munged --force --key-file="$lab/munge/key" --socket="$lab/munge/munge.socket" \
        --pid-file="$lab/munge/munged.pid" --log-file="$lab/munge/munged.log" --seed-file="$lab/munge/seed"
    mkdir -p /etc/ssh && rm -f /etc/ssh/sshd_config.d/*
    sed "s/%s/$node/" "$lab/sshd_config" >/etc/ssh/sshd_config
    /usr/sbin/sshd
    slurmd
}

if [ "${1:-}" != inside ]; then
    make_root
fi
mount_all
start_network
mount_checkpoints
start_services
echo "$node: node is ready"
# Reaps orphans, as a first process must.
while :; do
    sleep 3600 &
    wait "$!"
done
