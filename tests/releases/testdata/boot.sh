#!/bin/sh
# Boots systemd in a copy of this machine, and runs a script there as root:
#
#   boot.sh DIRECTORY SCRIPT    the directory is /test there; SCRIPT lies in it
#
# The script writes into DIRECTORY/output, and DIRECTORY/passed is there if it succeeded. The copy is an overlay in memory,
# so the machine stays as it is. It has no network but its own loopback, and no unit runs in it but those that the
# script starts.
set -eu

if [ "${3-}" != inside ]; then
  group=/sys/fs/cgroup
  [ ! -d $group/systemd ] || group=$group/systemd
  group=$group/users-api-test-$$
  mkdir "$group"
  trap 'find "$group" -depth -type d -exec rmdir {} +' EXIT
  sh -c 'echo $$ >"$0/cgroup.procs"; exec unshare --mount --pid --fork --kill-child --cgroup --net --ipc --uts "$@"' "$group" \
    sh "$0" "$@" inside
  exit
fi

mount -t tmpfs tmpfs /mnt # for these processes alone
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
cd /mnt/root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
  touch "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
if [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ]; then
  mount -t cgroup2 cgroup2 sys/fs/cgroup
else
  mount -t tmpfs tmpfs sys/fs/cgroup
  mkdir sys/fs/cgroup/systemd
  mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
fi
mkdir -p test
mount --bind "$1" test

# Units of this machine would change it: the kernel's settings, modules and disks are not copies.
rm -rf etc/systemd/system
mkdir etc/systemd/system
for unit in lib/systemd/system/sysinit.target.wants/* lib/systemd/system/local-fs.target.wants/*; do
  case $unit in *journal*) ;; *) ln -sfn /dev/null "etc/systemd/system/${unit##*/}" ;; esac
done
cat >etc/systemd/system/test.target <<UNIT
[Unit]
DefaultDependencies=no
Wants=test.service
UNIT
cat >etc/systemd/system/test.service <<UNIT
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
StandardOutput=file:/test/output
StandardError=inherit
ExecStart=sh -eux /test/$2
ExecStart=touch /test/passed
ExecStopPost=systemctl --force exit
UNIT
: >etc/machine-id
pivot_root . mnt
umount -l /mnt
export container=test
exec /lib/systemd/systemd --system --unit=test.target </dev/null >/test/boot 2>&1
