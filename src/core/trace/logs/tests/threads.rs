//! Tests of recordings of programs with threads. Times in ns are computed by hand: a message between nodes takes 1000 ns
//! plus 1 ns per byte, and sends and receives take no time of the core.

use super::super::super::ReplayMachine;
use super::*;
use crate::engine::{Labels, Outcome, Progress, RunError, RunOptions, Simulation};
use crate::platform::Placement;
use crate::rank::Rank;

/// Two ranks on two nodes.
const MACHINE: &str = r#"
name = "tiny"
nct = [2, 1, 4]
core = { flops = "1 Gflop/s", instructions = "1 Ginstr/s", memory_bandwidth = "1 GB/s" }
intra_cmp = { contention = "ideal", latency = "10 ns", bandwidth = "1 GB/s" }
inter_cmp = { contention = "ideal", latency = "100 ns", bandwidth = "1 GB/s" }
inter_node = { contention = "ideal", latency = "1000 ns", bandwidth = "1 GB/s" }
"#;

/// A record: thread, call, and time of the code before the call in ns.
type Record = (u32, Vec<u8>, u64);

/// Log of `rank` with these records.
fn threads_log(rank: u32, records: &[Record]) -> Vec<u8> {
    let mut all: Vec<(Vec<u8>, u64)> = Vec::new();
    let mut last = 0;
    for (thread, call, code) in records {
        if *thread != last {
            all.push((super::call("MPI_thread", &[i64::from(*thread)], &[]), 0));
            last = *thread;
        }
        all.push((call.clone(), *code));
    }
    let records = all.iter().zip(0..).map(|((call, code), number)| (number, Some(&call[..]), [*code, 0, 0]));
    log_of(TestHost::default(), 5, rank, records)
}

fn create(thread: i64) -> Vec<u8> {
    super::call("pthread_create", &[thread], &[])
}

fn join(thread: i64) -> Vec<u8> {
    super::call("pthread_join", &[thread], &[])
}

fn exit() -> Vec<u8> {
    super::call("pthread_exit", &[], &[])
}

fn finalize() -> Vec<u8> {
    super::call("MPI_Finalize", &[], &[])
}

/// Send of `bytes` bytes to `peer`, and the receive from `peer`.
fn send_of(peer: i64, tag: i64, bytes: i64) -> Vec<u8> {
    super::call("MPI_Send", &[0, peer, tag, bytes, 0, 0], &[1, 2])
}

fn receive_of(peer: i64, tag: i64) -> Vec<u8> {
    super::call("MPI_Recv", &[0, peer, tag, 1000, 0, 0], &[1, 2])
}

fn replay(logs: &Logs) -> Result<Outcome, RunError> {
    replay_on(logs, 4)
}

/// Replays `logs` with `cores` cores per rank.
fn replay_on(logs: &Logs, cores: u32) -> Result<Outcome, RunError> {
    let platform = test_support::load(MACHINE, &[]);
    let sites = Placement::Block.sites_by_threads(platform.shape, 1, 8, false).unwrap();
    let sites = vec![sites[0], sites[4]];
    let machine = ReplayMachine::new(&platform, &sites).with_cores(cores);
    let make = |rank: Rank| logs.program(rank, &machine.of(rank), 1.0);
    Simulation::new(&platform, sites.clone(), RunOptions::default(), Labels::default()).run(make, &Progress::default())
}

/// Rank and number of a thread, and its start and end in ns.
type ThreadTimes = (u32, u32, u64, u64);

/// Final times of the ranks in ns, and times of their threads.
fn times(zero: &[Record], one: &[Record]) -> ([u64; 2], Vec<ThreadTimes>) {
    let logs = run_of([threads_log(0, zero), threads_log(1, one)]);
    assert_eq!(logs.fault(), None);
    let outcome = replay(&logs).unwrap_or_else(|error| panic!("{error}"));
    let ns = |time: crate::units::SimTime| time.as_ps() / 1000;
    let threads = outcome.per_thread.iter().map(|of| (of.rank, of.thread, ns(of.start), ns(of.end)));
    ([0, 1].map(|rank: usize| ns(outcome.per_rank[rank].clock)), threads.collect())
}

#[test]
fn a_thread_receives_beside_the_main_thread() {
    // The message leaves at 3000 and arrives at 3000 + 1000 + 800. The thread computes until 8800, and the main thread,
    // which computes until 5000, waits for it and computes 1000 more.
    let zero =
        [(0, create(1), 0), (1, receive_of(1, 7), 0), (1, exit(), 4000), (0, join(1), 5000), (0, finalize(), 1000)];
    let one = [(0, send_of(0, 7, 800), 3000), (0, finalize(), 0)];
    assert_eq!(times(&zero, &one), ([9800, 3000], vec![(0, 1, 0, 8800)]));
}

#[test]
fn a_thread_completes_the_request_of_another_thread() {
    let irecv = super::call("MPI_Irecv", &[0, 0, 1, 7, 1000, 0, 0], &[2, 3]);
    let wait = super::call("MPI_Wait", &[1, 0, 0], &[]);
    // The thread waits from 500 on for a request that starts at 2000. The message arrives 1800 after its send.
    for (sent, ended) in [(0, 2000), (3000, 4800)] {
        let zero = [
            (0, create(1), 0),
            (0, irecv.clone(), 2000),
            (1, wait.clone(), 500),
            (1, exit(), 100),
            (0, join(1), 0),
            (0, finalize(), 0),
        ];
        let one = [(0, send_of(0, 7, 800), sent), (0, finalize(), 0)];
        assert_eq!(times(&zero, &one), ([ended + 100, sent], vec![(0, 1, 0, ended + 100)]));
    }
}

#[test]
fn threads_receive_the_messages_that_they_received_in_the_recording() {
    // Thread 2 waits first, but the recorded thread 1 got the first message. Only thread 1 answers, and the second
    // message follows the answer: 1000 + 100, 1000 + 8, 1000 + 200.
    let zero = [
        (0, create(1), 0),
        (0, create(2), 0),
        (1, receive_of(1, 7), 1050),
        (1, send_of(1, 9, 8), 0),
        (1, exit(), 0),
        (2, receive_of(1, 7), 0),
        (2, exit(), 0),
        (0, join(1), 0),
        (0, join(2), 0),
    ];
    let one = [(0, send_of(0, 7, 100), 0), (0, receive_of(0, 9), 0), (0, send_of(0, 7, 200), 0)];
    assert_eq!(times(&zero, &one), ([3308, 2108], vec![(0, 1, 0, 1100), (0, 2, 0, 3308)]));
}

#[test]
fn a_send_that_was_recorded_late_keeps_its_order() {
    // Rank 1 answers the message of thread 1, then thread 2 sends. Thread 1 has recorded its send last. The three
    // messages take 1008 ns each, and thread 2 computes 10 ns.
    let zero = [
        (0, create(1), 0),
        (0, create(2), 0),
        (2, receive_of(1, 9), 0),
        (2, send_of(1, 7, 8), 10),
        (1, send_of(1, 7, 8), 0),
    ];
    let one = [(0, receive_of(0, 7), 0), (0, send_of(0, 9, 8), 0), (0, receive_of(0, 7), 0)];
    assert_eq!(times(&zero, &one), ([0, 3034], vec![(0, 1, 0, 0), (0, 2, 0, 2026)]));
}

#[test]
fn a_receive_gets_an_earlier_message_if_its_wait_ends_earlier() {
    // Thread 1 has recorded its receive first, but thread 2 got the first message. Rank 1 sends the second message
    // after the answer of thread 2.
    let irecv = |slot: i64| super::call("MPI_Irecv", &[slot, 0, 1, 7, 1000, 0, 0], &[2, 3]);
    let wait = |slot: i64| super::call("MPI_Wait", &[1, slot, 0], &[]);
    let zero = [
        (0, create(1), 0),
        (0, create(2), 0),
        (1, irecv(0), 0),
        (2, irecv(1), 0),
        (2, wait(1), 0),
        (2, send_of(1, 9, 8), 10),
        (1, wait(0), 0),
    ];
    let one = [(0, send_of(0, 7, 8), 0), (0, receive_of(0, 9), 0), (0, send_of(0, 7, 8), 0)];
    assert_eq!(times(&zero, &one), ([0, 2026], vec![(0, 1, 0, 3034), (0, 2, 0, 1018)]));
}

#[test]
fn receives_of_a_thread_get_messages_in_the_order_of_the_calls() {
    // Thread 1 waits for its second receive first. The messages have 100 and 200 bytes. Thread 2 receives the third
    // one.
    let irecv = |slot: i64| super::call("MPI_Irecv", &[slot, 0, 1, 7, 1000, 0, 0], &[2, 3]);
    let wait = |slot: i64| super::call("MPI_Wait", &[1, slot, 0], &[]);
    let zero = [
        (0, create(1), 0),
        (0, create(2), 0),
        (1, irecv(0), 0),
        (1, irecv(1), 0),
        (1, wait(1), 0),
        (1, send_of(1, 9, 8), 0),
        (1, wait(0), 0),
        (2, receive_of(1, 7), 0),
    ];
    let send = |bytes| (0, send_of(0, 7, bytes), 0);
    let one = [send(100), send(200), (0, receive_of(0, 9), 0), send(300)];
    // Thread 1 answers after the message of 200 bytes, whose transfer ends at 1200.
    assert_eq!(times(&zero, &one), ([0, 2208], vec![(0, 1, 0, 1200), (0, 2, 0, 3508)]));
}

#[test]
fn a_thread_of_unknown_creation_begins_with_its_rank() {
    let zero = [(0, receive_of(1, 7), 100), (1, send_of(1, 9, 8), 300)];
    let one = [(0, send_of(0, 7, 100), 0), (0, receive_of(0, 9), 0)];
    assert_eq!(times(&zero, &one), ([1100, 1308], vec![(0, 1, 0, 300)]));
}

#[test]
fn communicators_that_threads_create_at_the_same_time_are_told_apart() {
    // Both ranks duplicate the communicators 2 and 3 at the same time, in another order.
    let made =
        |parent: i64, number: i64| super::call("MPI_Comm_dup", &[parent, 0, number + 1, 0, number, 2, 1, 0], &[]);
    let begin = [(0, made(0, 2), 0), (0, made(0, 3), 0)];
    let zero = [&begin[..], &[(1, made(2, 4), 0), (0, made(3, 5), 0)]].concat();
    let one = [&begin[..], &[(0, made(3, 4), 0), (1, made(2, 5), 0)]].concat();
    let run = run_of([threads_log(0, &zero), threads_log(1, &one)]);
    let numbers = |rank: usize| run.resolved[rank].comms.clone();
    let [zero, one] = [0, 1].map(numbers);
    assert_eq!([zero[&2], zero[&3], zero[&4], zero[&5]], [one[&2], one[&3], one[&5], one[&4]]);
    assert_eq!(replay(&run).map(|outcome| outcome.ranks).map_err(|error| error.to_string()), Ok(2));
}

#[test]
fn texts_name_threads() {
    let zero = [(0, create(1), 0), (1, send_of(1, 7, 800), 500), (1, exit(), 0), (0, join(1), 0)];
    let run = run_of([threads_log(0, &zero), threads_log(1, &[(0, receive_of(0, 7), 0)])]);
    assert_eq!((run.threads(0), run.threads(1)), (2, 1));
    assert!(run.tell().contains("threads       up to 2 in a rank; the times below are those of main threads\n"));
    let lines = run.head(0, 2);
    let wanted = "main       code            0 ns  pthread_create                      0 ns\n\
                  thread 1   code          500 ns  MPI_Send                            0 ns  800 B\n";
    assert_eq!(lines, wanted);
    assert_eq!(
        run.functions(0).into_keys().collect::<Vec<_>>(),
        ["MPI_Send", "pthread_create", "pthread_exit", "pthread_join"]
    );
}

#[test]
fn threads_that_cannot_exist_are_errors() {
    let error = |records: &[Record]| {
        let logs = [threads_log(0, records), threads_log(1, &[])].map(|log| (String::new(), log));
        Logs::read(&merge(&logs).unwrap()).unwrap_err().to_string()
    };
    let twice = [(0, create(1), 0), (0, create(1), 0)];
    assert_eq!(error(&twice), "rank 0: pthread_create of thread 1, which exists");
    assert_eq!(error(&[(2, create(2), 0)]), "rank 0: pthread_create of thread 2, which exists");
    assert_eq!(error(&[(0, join(3), 0)]), "rank 0: pthread_join of thread 3, which was not created");
}

#[test]
fn the_beginning_of_a_run_with_threads_is_replayed() {
    // The thread ends with a call that cannot be replayed, so the main thread's join is cut, too.
    let window = super::call("MPI_Win_create", &[], &[]);
    let zero = [(0, create(1), 0), (1, receive_of(1, 7), 0), (1, window, 0), (1, exit(), 0), (0, join(1), 10_000)];
    let run = run_of([threads_log(0, &zero), threads_log(1, &[(0, send_of(0, 7, 800), 0)])]);
    let fault = "rank 0: the program called MPI_Win_create, which cannot be replayed; a replay executes the first 3 of 6 \
                 calls";
    assert_eq!(run.fault().unwrap(), fault);
    let outcome = replay(&run).unwrap();
    assert_eq!(outcome.per_thread[0].end.as_ps(), 1_800_000);
}

#[test]
fn more_threads_than_cores_take_turns() {
    // Three threads of 10 ms on two cores with time slices of 3 ms, and a message that a fourth thread receives while
    // all cores are busy. On one core, the last thread ends after the sum of all blocks.
    let ms = 1_000_000;
    let zero = [
        (0, create(1), 0),
        (0, create(2), 0),
        (0, create(3), 0),
        (1, exit(), 10 * ms),
        (2, exit(), 10 * ms),
        (3, receive_of(1, 7), 0),
        (3, exit(), 0),
        (0, finalize(), 10 * ms),
    ];
    let one = [(0, send_of(0, 7, 800), 0)];
    let run = run_of([threads_log(0, &zero), threads_log(1, &one)]);
    for (cores, wanted) in [(4, [10, 10, 10]), (2, [13, 14, 16]), (1, [28, 29, 30])] {
        let outcome = replay_on(&run, cores).unwrap();
        let threads = outcome.per_thread.iter().filter(|of| of.thread < 3).map(|of| of.end);
        let mut ends: Vec<u64> =
            threads.chain([outcome.per_rank[0].clock]).map(|end| end.as_ps() / 1_000_000_000).collect();
        ends.sort_unstable();
        assert_eq!(ends, wanted, "{cores} cores");
        assert_eq!(outcome.per_thread[2].end.as_ps(), 1_800_000, "the message arrives at 1800 ns");
    }
}
