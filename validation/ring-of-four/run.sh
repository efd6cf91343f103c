#!/bin/sh
# Measures the case again, on this machine: the matrix of all pairs, and then the calls of shifts.c, between four nodes.
#
#     validation/ring-of-four/run.sh DIRECTORY && mcpsim validate DIRECTORY
#
# makes DIRECTORY a case with this one's application and limits. The nodes are network namespaces at a bridge, one rank
# each; traffic is shaped by its destination: 200 Mbit/s to neighbours in the ring 0 1 2 3, 40 Mbit/s across. It needs
# root, tc, Open MPI (MPICC, MPIRUN) and an mcpsim that was built for it (MCPSIM). Where they cannot be had it says so
# and measures nothing. A machine with other work gives other times.
set -e
MPICC=${MPICC:-mpicc} MPIRUN=${MPIRUN:-mpirun} MCPSIM=${MCPSIM:-mcpsim}
export MPIRUN MCPSIM OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
skipped() { echo "skipped: a ring of four nodes on this machine: $1" >&2; exit 0; }
if [ -z "$RING_SCRATCH" ]; then
    [ $# = 1 ] || { echo "usage: run.sh DIRECTORY" >&2; exit 2; }
    here=$(cd "$(dirname "$0")" && pwd)
    for tool in unshare nsenter ip tc hostname "$MPICC" "$MPIRUN" "$MCPSIM"; do
        command -v "$tool" > /dev/null || skipped "there is no $tool"
    done
    unshare --net --uts --mount ip link add bridge type bridge 2> /dev/null ||
        skipped "no rights to make network namespaces"
    mkdir -p "$1"
    cd "$1"
    cp "$here/app.toml" "$here/case.toml" "$here/levels.pairs.toml" .
    RING_SCRATCH=$(mktemp -d)
    export RING_SCRATCH
    trap 'rm -r "$RING_SCRATCH"' EXIT
    "$MPICC" -O2 -o "$RING_SCRATCH/shifts" "$here/shifts.c"
    unshare --net --uts --mount sh "$here/$(basename "$0")" inside
    exit
fi

# Inside: this namespace has the bridge, and each node is one of its own.
ip link add bridge type bridge
ip link set bridge up
nodes=
trap 'kill $nodes' EXIT
for node in 0 1 2 3; do
    unshare --net --uts --mount sleep 3600 &
    nodes="$nodes $!"
    eval "node_$node=$!"
    while [ "$(readlink "/proc/$!/ns/net")" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
    in_node() { eval "nsenter --target \$node_$node --net --uts --mount \"\$@\""; }
    in_node mount -t sysfs sysfs /sys
    in_node hostname "node$node"
    in_node ip link set lo up
    ip link add "port$node" type veth peer name ring netns "$!"
    ip link set "port$node" master bridge up
    in_node ip address add "10.78.0.$((node + 1))/24" dev ring
    in_node ip link set ring up
    in_node sh -c 'echo reno > /proc/sys/net/ipv4/tcp_congestion_control'
    in_node tc qdisc add dev ring root handle 1: htb default 9
    in_node tc class add dev ring parent 1: classid 1:9 htb rate 1gbit quantum 1514
    for other in 0 1 2 3; do
        [ $other = $node ] && continue
        [ $(((node + 2) % 4)) = $other ] && rate=40mbit || rate=200mbit
        in_node tc class add dev ring parent 1: classid "1:1$other" htb rate $rate quantum 1514
        in_node tc filter add dev ring parent 1: protocol ip u32 \
            match ip dst "10.78.0.$((other + 1))/32" flowid "1:1$other"
    done
done
cat > "$RING_SCRATCH/shell" <<SHELL
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
case \$host in
10.78.0.1) node=$node_0 ;; 10.78.0.2) node=$node_1 ;; 10.78.0.3) node=$node_2 ;; 10.78.0.4) node=$node_3 ;;
esac
exec nsenter --target \$node --net --uts --mount sh -c "\$*"
SHELL
chmod +x "$RING_SCRATCH/shell"
network=10.78.0.0/24
ranks() {
    nsenter --target "$node_0" --net --uts --mount "$MPIRUN" --bind-to none --mca plm_rsh_agent "$RING_SCRATCH/shell" \
        --mca oob_tcp_if_include $network --mca btl_tcp_if_include $network --mca pml ob1 --mca btl tcp,self \
        --host 10.78.0.1,10.78.0.2,10.78.0.3,10.78.0.4 -n 4 "$@" < /dev/null
}
ranks "$MCPSIM" measure --quiet --pairs --test send_recv_and_recv_send --begin 262144 --end 1048577 --step 262144 \
    --repeats 5 -o "$PWD/ring"
"$MCPSIM" cluster --quiet ring_median.nc --platform platform.toml --pairs --precision 30%
mv platform.pairs.toml ring.pairs.toml
sed -i 's/platform\.pairs\.toml/ring.pairs.toml/' platform.toml
cat > measured.csv <<CSV
# source: validation/ring-of-four/run.sh: the slowest rank's time after a barrier; least, median, greatest of 9 and 5
# machine: $(nproc) cores of $(uname -srm), load $(cut -d' ' -f1 /proc/loadavg); four network namespaces, a rank each
# date: $(date +%F)
# licence: own
program,costs,bytes,first,last,time_s
CSV
row() {
    ranks "$RING_SCRATCH/shifts" "$@" | sort -n | awk -v row="$1,COSTS,$2,$3,$4" '{ time[NR] = $1 }
        END { print row "," time[1]; print row "," time[int((NR + 1) / 2)]; print row "," time[NR] }'
}
for bytes in 262144 524288 1048576; do
    for range in '1 1' '2 2' '1 3'; do row shift $bytes $range 9; done
done > "$RING_SCRATCH/rows"
for bytes in 524288 1048576; do
    for range in '1 1' '2 2' '1 3'; do row visit $bytes $range 5; done
done >> "$RING_SCRATCH/rows"
for costs in ring levels; do sed "s/COSTS/$costs.pairs.toml/" "$RING_SCRATCH/rows"; done >> measured.csv
