#!/bin/busybox sh
# The first program of a guest of `cargo xtask kernels`. It prints that all passed, or what did not.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /dev/shm
# Both, as distributions do: tracefs is there twice.
mount -t tracefs tracefs /sys/kernel/tracing
mount -t debugfs debugfs /sys/kernel/debug
ifconfig lo 127.0.0.1 up
cd /tmp || poweroff -f
uname -r

ring=/sys/kernel/tracing/instances/boot_map
markers=500
if [ -d $ring ]; then
    if ! grep -q frozen $ring/trace; then
        echo 1 >$ring/tracing_on
        marker=0
        while [ $marker -lt $markers ]; do
            echo "frozen $marker" >$ring/trace_marker
            marker=$((marker + 1))
        done
        echo 0 >$ring/tracing_on
        reboot -f
    fi
    export FTRACE_FROZEN=$markers
fi

passed=yes
# The tests `decoded` (slow) and `hostile` do not depend on the kernel.
FTRACE_SETUPS=5 it --test-threads 1 --nocapture --skip decoded --skip hostile 2>&1 || passed=no

# As a user would. No line may say that something of the kernel was not recorded.
record() {
    told=$(tracebox "$@" 2>&1) || passed=no
    echo "$told"
    case $told in *"Not recorded"*) passed=no ;; esac
}
record sched -t 1s -o /tmp/trace
tracebox lint /tmp/trace || passed=no
record record -o /tmp/trace -- sleep 0.1
# In a line of its own, also if the kernel has printed something.
[ $passed = yes ] && echo && echo "kernels: passed"
poweroff -f
