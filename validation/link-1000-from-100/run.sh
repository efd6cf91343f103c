#!/bin/sh
# Records programs on a link of FROM Mbit/s between two nodes of this machine, and measures them and the platform on one of
# TO Mbit/s: the files of a case for `mcpsim validate`, but for case.toml and the comments of measured.csv.
#
#     validation/link-1000-from-100/run.sh DIRECTORY [FROM TO [RUNS]]        # default: 100 1000 5
#
# The nodes are network namespaces, see tests/mpirun/two_nodes.sh: it needs root, tc, and Open MPI (MPICC, MPIRUN). MCPSIM
# is a build with the feature mpi. Where they cannot be had it says so and measures nothing. All messages are eager: with
# Open MPI's own limit of 64 KiB, longer messages both ways at a time take once or twice as long as the wire, by chance.
here=$(cd "$(dirname "$0")" && pwd)
nodes="$here/../../tests/mpirun/two_nodes.sh" sources="$here/../../workloads/c"
out=$1 from=${2:-100} to=${3:-1000}
[ -n "$out" ] || { sed -n '5p' "$0" >&2; exit 2; }
export RUNS="${4:-5}" MPICC="${MPICC:-mpicc}" MPIRUN="${MPIRUN:-mpirun}" MCPSIM="${MCPSIM:-$here/../../target/release/mcpsim}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
skipped() { echo "skipped: a shaped link between two nodes on this machine: $1" >&2; exit 0; }
for tool in unshare nsenter ip tc hostname "$MPICC" "$MPIRUN" "$MCPSIM"; do
    command -v "$tool" > /dev/null || skipped "there is no $tool"
done
unshare --net --uts --mount sh "$nodes" --rate 100 true 2> /dev/null || skipped "no rights to make network namespaces"
export work="$(mktemp -d)"
trap 'rm -r "$work"' EXIT
cat > "$work/programs" <<'PROGRAMS'
is W
jacobi3d 128 128 128 80
heat3d 128 80
hpl 1000 64
alltoall 200000 100
sort 2000000 -a oddeven
PROGRAMS
while read -r name arguments; do
    "$MPICC" -O2 -w -o "$work/$name" "$sources/$name.c" -lm || exit 1
done < "$work/programs"
"$MCPSIM" trace lib --mpicc "$MPICC" -o "$work/trace.so" || exit 1
# RATE: what runs within the two nodes; the platform and the programs' traces go to $work/RATE.
cat > "$work/measure" <<'MEASURE'
network=10.77.0.0/24 place="$work/$1"
mkdir -p "$place"
run() {
    nice -n -20 timeout 600 "$MPIRUN" --oversubscribe --map-by node --bind-to none --mca plm_rsh_agent "$REMOTE_SHELL" \
        --mca oob_tcp_if_include $network --mca btl_tcp_if_include $network --mca pml ob1 --mca btl tcp,self \
        --mca btl_tcp_eager_limit 16777216 --mca btl_tcp_rndv_eager_limit 16777216 \
        --host 10.77.0.1:1,10.77.0.2:1 -n 2 "$@" < /dev/null
}
[ "$2" = platform ] && run "$MCPSIM" measure --force --max-size 1MiB -o "$place/platform.toml"
for turn in $(seq "$RUNS"); do
    while read -r name arguments; do
        run -x LD_PRELOAD="$work/trace.so" -x MCPSIM_TRACE="$place/$name.$turn.trace" "$work/$name" $arguments > /dev/null ||
            echo "$name: run $turn failed" >&2
    done < "$work/programs"
done
MEASURE
# A bucket of 16 us, but three packets at least: a longer one lets short messages pass at once, a shorter one is emptied
# before the kernel's timer fires again.
burst() { [ "$1" -gt 200 ] && echo $(($1 * 16)) || echo 3200; }
unshare --net --uts --mount sh "$nodes" --rate "$from" --burst "$(burst "$from")" sh "$work/measure" "$from" || exit 1
unshare --net --uts --mount sh "$nodes" --rate "$to" --burst "$(burst "$to")" sh "$work/measure" "$to" platform || exit 1
seconds() { "$MCPSIM" trace info "$1" | sed -n 's/^measured *\([0-9.]*\) s.*/\1/p'; }
mkdir -p "$out"
cp "$work/$to/platform.toml" "$out"
echo program,time_s > "$out/measured.csv"
while read -r name arguments; do
    # The run in the middle.
    middle=$(for turn in $(seq "$RUNS"); do echo "$(seconds "$work/$from/$name.$turn.trace") $turn"; done | sort -n |
        sed -n "$(((RUNS + 1) / 2))s/.* //p")
    cp "$work/$from/$name.$middle.trace" "$out/$name.trace"
    for turn in $(seq "$RUNS"); do echo "$name.trace,$(seconds "$work/$to/$name.$turn.trace")"; done >> "$out/measured.csv"
done < "$work/programs"
