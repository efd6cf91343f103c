#!/bin/sh
# Measures exchanges between two nodes on this machine, whose link is shaped: measured.csv, but for its comments.
#
#     validation/shaped-link/run.sh [RATE...] > rows.csv        # Mbit/s; default 1000 and 100
#
# The nodes are network namespaces, see tests/mpirun/two_nodes.sh: it needs root, tc, and Open MPI (MPICC, MPIRUN). Where
# they cannot be had it says so and measures nothing.
here=$(cd "$(dirname "$0")" && pwd)
nodes="$here/../../tests/mpirun/two_nodes.sh"
MPICC=${MPICC:-mpicc} MPIRUN=${MPIRUN:-mpirun} RUNS=${RUNS:-9}
export MPIRUN RUNS OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export program="$(mktemp -d)/exchange"
trap 'rm -r "$(dirname "$program")"' EXIT
skipped() { echo "skipped: a shaped link between two nodes on this machine: $1" >&2; exit 0; }
for tool in unshare nsenter ip tc hostname "$MPICC" "$MPIRUN"; do
    command -v "$tool" > /dev/null || skipped "there is no $tool"
done
unshare --net --uts --mount sh "$nodes" --rate 100 true 2> /dev/null || skipped "no rights to make network namespaces"
"$MPICC" -O2 -o "$program" "$here/exchange.c" || exit 1
# RANKS PATTERN BYTES ITERATIONS [COMPUTE_US]: a row a run.
cat > "$program.sh" <<'ROWS'
network=10.77.0.0/24
row() {
    ranks=$1
    shift
    "$MPIRUN" --oversubscribe --map-by node --bind-to none --mca plm_rsh_agent "$REMOTE_SHELL" \
        --mca oob_tcp_if_include $network --mca btl_tcp_if_include $network --mca pml ob1 --mca btl tcp,self \
        --host 10.77.0.1:4,10.77.0.2:4 -n "$ranks" "$program" "$1" "$2" "$3" "$RUNS" "${4:-0}" < /dev/null |
        while read -r seconds; do echo "$1,$rate,$ranks,$2,$3,${4:-0},$seconds"; done
}
ROWS
echo pattern,rate,ranks,bytes,iterations,compute_us,time_s
for rate in ${*:-1000 100}; do
    export rate
    # So that a run takes a third of a second or more at any rate.
    for part in 1 2; do
        unshare --net --uts --mount sh "$nodes" --rate "$rate" sh -c '. "$program.sh"
            times=$((rate / 100))
            if [ "$0" = 1 ]; then
                for bytes in 131072 262144 524288 1048576; do row 2 pingpong $bytes $((2 * times)); done
                for bytes in 262144 524288 1048576; do
                    for ranks in 2 4; do row $ranks sendrecv $bytes $((2 * times)); done
                done
            else
                for bytes in 262144 524288 1048576; do
                    row 2 window $bytes $times
                    row 4 ring $bytes $((2 * times))
                    row 4 alltoall $bytes $times
                    row 2 overlap $bytes $((2 * times)) $((bytes * 8 / rate))
                done
            fi' "$part"
    done
done
