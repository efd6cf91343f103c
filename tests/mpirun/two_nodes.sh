#!/bin/sh
# Simulates two nodes on one machine: two network namespaces with separate host names, connected by a pair of virtual
# network devices.
#
#     unshare --net --uts --mount sh two_nodes.sh [--rate MBITS [--burst BYTES]] COMMAND...
#
# runs COMMAND on the first node, which has the address 10.77.0.1 and the name west. $REMOTE_SHELL is a remote shell to
# the second node, which has the address 10.77.0.2 and the name east. With --rate, each node sends at most MBITS Mbit/s
# (tc tbf, with a bucket of BYTES bytes or of one millisecond), and TCP uses the congestion control Reno, regardless of
# the setting of the machine. Both namespaces are removed when COMMAND ends. The script requires root.
set -e
rate=
if [ "$1" = --rate ]; then
    rate=$2 burst=$(($2 * 125))
    shift 2
fi
if [ "$1" = --burst ]; then
    burst=$2
    shift 2
fi
scratch=$(mktemp -d)
hostname west
ip link set lo up
# Libraries read network devices from /sys, which contains the devices of the namespace that mounted /sys.
mount -t sysfs sysfs /sys
unshare --net --uts --mount sleep 300 &
east=$!
trap 'kill $east; rm -rf "$scratch"' EXIT
# The second node exists as soon as its process has a separate network namespace.
while [ "$(readlink /proc/$east/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
in_east() { nsenter --target "$east" --net --uts --mount "$@"; }
in_east mount -t sysfs sysfs /sys
in_east hostname east
in_east ip link set lo up
ip link add west type veth peer name east netns "$east"
ip address add 10.77.0.1/24 dev west
in_east ip address add 10.77.0.2/24 dev east
ip link set west up
in_east ip link set east up
# The script waits until both devices run, because libraries ignore devices that do not run.
for device in west east; do
    until $([ $device = west ] || echo in_east) grep -q up /sys/class/net/$device/operstate; do sleep 0.02; done
done
# shape DEVICE [COMMAND...]: limits the rate of outgoing data of DEVICE. COMMAND executes a command on the other node.
shape() {
    device=$1
    shift
    "$@" tc qdisc add dev "$device" root tbf rate "${rate}mbit" burst "$burst" latency 50ms
    "$@" sh -c 'echo reno > /proc/sys/net/ipv4/tcp_congestion_control'
}
if [ -n "$rate" ]; then
    shape west
    shape east in_east
fi
# Launchers call the remote shell with options, a host, and the words of a command.
cat > "$scratch/shell" <<SHELL
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
[ "\$host" = 10.77.0.1 ] && exec sh -c "\$*"
exec nsenter --target $east --net --uts --mount sh -c "\$*"
SHELL
chmod +x "$scratch/shell"
export REMOTE_SHELL="$scratch/shell"
"$@"
