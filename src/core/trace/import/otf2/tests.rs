//! OTF2 archives as lines of text: compares predicted times with times computed by hand, and checks errors.

use std::fmt::Write;

use crate::engine::RunOptions;
use crate::mpi::{MpiCall, MpiProgram, Sizes};
use crate::rank::{Call, Reply, ReplyKind};
use crate::trace::import::ImportedTrace;
use crate::trace::import::tests::{execute, platform};
use crate::units::SimTime;

/// Definitions of an archive: regions; communicators 1 (the world), 2 (the rank itself) and 3 (ranks 2 and 1); one
/// tick is one nanosecond.
const HEAD: &str = "creator Score-P 8.1\nclock 1000000000 5000\nregion 1 MPI_Init\nregion 2 MPI_Finalize\n\
    region 3 MPI_Send\nregion 4 MPI_Recv\nregion 5 MPI_Isend\nregion 6 MPI_Irecv\nregion 7 MPI_Waitall\n\
    region 8 MPI_Sendrecv\nregion 9 MPI_Allreduce\nregion 10 MPI_Ibcast\nregion 11 MPI_Win_create\nregion 12 MPI_File_read\n\
    region 13 MPI_Comm_split\n";

/// Lines of an OTF2 archive whose ranks have the events `ranks`.
fn archive(ranks: &[&str]) -> String {
    let mut text = HEAD.to_owned();
    text.push_str("comm 1 group");
    (0..ranks.len()).for_each(|rank| write!(text, " {rank}").unwrap());
    let small = if ranks.len() > 2 { "comm 3 group 2 1\n" } else { "" };
    write!(text, "\ncomm 2 self\n{small}comm 4 inter\nranks {}\n", ranks.len()).unwrap();
    for (rank, events) in ranks.iter().enumerate() {
        writeln!(text, "rank {rank}").unwrap();
        events.split("; ").for_each(|event| writeln!(text, "{event}").unwrap());
    }
    text + "end\n"
}

fn read(ranks: &[&str]) -> Result<ImportedTrace, String> {
    ImportedTrace::read_otf2(archive(ranks).as_bytes()).map_err(|error| error.to_string())
}

/// Final virtual times of the ranks in ns. A message between nodes takes 1000 ns plus 1 ns per byte and is eager up to
/// 1000 bytes.
fn clocks(ranks: &[&str]) -> Vec<u64> {
    let outcome = execute(&read(ranks).unwrap(), RunOptions::default()).unwrap();
    outcome.per_rank.iter().map(|rank| rank.clock.as_ps() / 1000).collect()
}

#[test]
fn code_is_the_time_between_regions_of_mpi() {
    // The rank computes for 100 ns, then sends a message of 200 bytes, which arrives at 100 + 1200 ns. Then the rank
    // computes for 50 ns, of which 30 ns wrote a buffer to disk.
    let sender = "b 5000; e 5010 1; x 6000 1; e 6100 3; s 6150 1 1 7 200; x 6200 3; e 6250 2; x 9000 2; z 9999";
    let receiver =
        "b 5000; e 5010 1; x 6000 1; e 6001 4; r 6400 0 1 7 200; x 6500 4; f 6510 6540; e 6550 2; x 9000 2; z 9000";
    assert_eq!(clocks(&[sender, receiver]), [150, 1320]);
    // Without MPI_Init, the run lasts from the start of the archive to its last event. The time in file functions
    // counts as time of the program's code. Time without recording is omitted.
    assert_eq!(clocks(&["e 5100 12; x 5200 12; z 5300"]), [300]);
    assert_eq!(clocks(&["o 5100 1; o 5400 0; z 5450"]), [150]);
}

#[test]
fn requests_end_where_they_were_waited_for() {
    // In each rank, a send and a receive start at time 0. The send completes at once, the receive at 1400 ns, so each
    // rank continues at 1400 ns.
    let both = |other: u32| {
        format!(
            "e 5000 6; q 5000 1; x 5000 6; e 5000 5; i 5000 {other} 1 3 400 2; x 5000 5; \
             e 5100 7; d 5110 2; j 5120 {other} 1 3 400 1; x 5200 7; z 5300"
        )
    };
    let (first, second) = (both(1), both(0));
    // A computation of 100 ns between the calls ends before the message arrives, and a computation of 100 ns follows
    // the arrival.
    assert_eq!(clocks(&[&first, &second]), [1500, 1500]);
    // The ranks call MPI_Sendrecv in communicator 3, in which rank 0 is world rank 2 and rank 1 is world rank 1.
    let exchange = |other: u32| format!("e 5000 8; s 5000 {other} 3 0 400; r 5001 {other} 3 0 400; x 5001 8; z 5011");
    assert_eq!(clocks(&["z 5004", &exchange(0), &exchange(1)]), [4, 1410, 1410]);
    // The calls are an MPI_Sendrecv that receives from MPI_PROC_NULL, and a cancelled receive.
    let half = "e 5000 8; s 5000 1 1 0 400; x 5001 8; z 5001";
    let cancelled =
        "e 5000 6; q 5000 9; x 5000 6; e 5000 7; k 5000 9; x 5000 7; e 5000 4; r 5000 0 1 0 400; x 5000 4; z 5000";
    assert_eq!(clocks(&[half, cancelled]), [0, 1400]);
}

/// Size and blocks of the collective calls of the ranks. The events `ends` end the collectives.
fn called(ends: &[&str]) -> Result<Vec<(u32, Vec<u64>)>, String> {
    let events: Vec<String> = ends.iter().map(|end| format!("e 5000 9; c 5000 {end}; x 5000 9; z 5000")).collect();
    let import = read(&events.iter().map(String::as_str).collect::<Vec<_>>())?;
    let core = platform().core;
    let calls = (0..ends.len() as u32).map(|rank| {
        let reply = Reply { clock: SimTime::ZERO, kind: ReplyKind::Done };
        match import.program(rank, &core).next(reply) {
            MpiCall::Collective(call) => match call.sizes {
                Sizes::Same(size) => (call.root, vec![size.get()]),
                Sizes::Each(all) => (call.root, all.iter().map(|size| size.get()).collect()),
            },
            _ => panic!("no collective"),
        }
    });
    Ok(calls.collect())
}

#[test]
fn sizes_of_collectives_are_what_score_p_counts() {
    let same = |root: u32, size: u64| Ok(vec![(root, vec![size]); 3]);
    assert_eq!(called(&["0 1 4294967295 0 0"; 3]), same(0, 0));
    assert_eq!(called(&["1 1 1 0 8", "1 1 1 24 8", "1 1 1 0 8"]), same(1, 8));
    assert_eq!(called(&["2 1 0 8 24", "2 1 0 8 0", "2 1 0 8 0"]), same(0, 8));
    // With MPI_IN_PLACE the root sends nothing to itself.
    assert_eq!(called(&["12 1 0 0 16", "12 1 0 8 0", "12 1 0 8 0"]), same(0, 8));
    assert_eq!(called(&["4 1 2 0 8", "4 1 2 0 8", "4 1 2 24 8"]), same(2, 8));
    assert_eq!(called(&["11 1 4294967295 30 30"; 3]), same(0, 10));
    assert_eq!(called(&["6 1 4294967295 20 20"; 3]), same(0, 10));
    assert_eq!(called(&["14 1 4294967295 24 8", "14 1 4294967295 16 16", "14 1 4294967295 8 24"]), same(0, 8));
    assert_eq!(called(&["15 1 4294967295 16 0", "15 1 4294967295 8 8", "15 1 4294967295 0 16"]), same(0, 8));
    let gathered = called(&["3 1 0 1 6", "3 1 0 2 0", "3 1 0 3 0"]).unwrap();
    assert_eq!(gathered, [(0, vec![1, 2, 3]), (0, vec![2]), (0, vec![3])]);
    let each = |sizes: [u64; 3]| Ok(vec![(0, sizes.to_vec()); 3]);
    assert_eq!(called(&["7 1 0 3 6", "7 1 0 6 6", "7 1 0 9 6"]), each([1, 2, 3]));
    assert_eq!(called(&["7 1 0 2 5", "7 1 0 4 4", "7 1 0 6 3"]), each([1, 2, 3]));
    assert_eq!(called(&["13 1 0 6 3", "13 1 0 6 6", "13 1 0 6 9"]), each([1, 2, 3]));
    assert_eq!(called(&["16 1 0 6 6"; 3]), each([2, 2, 2]));
    // Only the total sizes of an alltoallv are known. The sent data are divided in the same proportions as the received
    // data.
    let divided = called(&["9 1 0 12 6", "9 1 0 6 6", "9 1 0 0 12"]).unwrap();
    assert_eq!(divided, [(0, vec![3, 3, 6]), (0, vec![1, 1, 3]), (0, vec![0, 0, 0])]);
    assert!(
        called(&["11 1 0 31 31"; 3]).unwrap_err().contains("expected 2 blocks, as Score-P counts them; found 31 bytes")
    );
    let other = called(&["0 1 0 0 0", "0 1 0 0 0", "11 1 0 3 3"]).unwrap_err();
    assert_eq!(other, "collective 0 of communicator 1 is another one for rank 0 than for rank 2");
}

#[test]
fn collectives_that_do_not_block_take_their_turn_where_they_begin() {
    let started = |root: &str| {
        format!(
            "e 5000 10; n 5000 4; x 5000 10; e 5010 9; c 5010 0 1 0 0 0; x 5010 9; e 5020 7; m 5020 1 1 0 {root} 100 4; x 5020 7; z 5020"
        )
    };
    let (root, other) = (started("200"), started("0"));
    let import = read(&[&root, &other]).unwrap();
    let mut program = import.program(1, &platform().core);
    let mut reply = |kind| program.next(Reply { clock: SimTime::ZERO, kind });
    let MpiCall::StartCollective(first) = reply(ReplyKind::Done) else { panic!("it starts one") };
    assert!(matches!(first.sizes, Sizes::Same(size) if size.get() == 100));
    assert!(matches!(reply(ReplyKind::Started(77)), MpiCall::Call(Call::Compute(span)) if span.as_ps() == 10_000));
    assert!(matches!(reply(ReplyKind::Done), MpiCall::Collective(_)));
    assert!(matches!(reply(ReplyKind::Done), MpiCall::Call(Call::Compute(_))));
    let MpiCall::Call(Call::Complete(waited)) = reply(ReplyKind::Done) else { panic!("it waits") };
    assert_eq!(waited.as_slice(), [77]);
    assert!(execute(&import, RunOptions::default()).is_ok());
}

#[test]
fn members_of_a_new_communicator_tell_each_other_of_it() {
    let split = "e 5000 13; c 5000 17 1 4294967295 0 0; x 5000 13; z 5000";
    let outcome = execute(&read(&[split; 2]).unwrap(), RunOptions::default()).unwrap();
    assert_eq!(outcome.messages.count, 2);
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let error = |events: &str| read(&[events, "z 5000"]).unwrap_err();
    assert_eq!(error("e 5000 11; x 5000 11; z 5000"), "rank 0 calls MPI_Win_create, which is not replayed");
    assert_eq!(error("w 5000; z 5000"), "rank 0 makes a window: one-sided communication is not replayed");
    assert_eq!(error("e 5000 4; z 5000"), "the events of rank 0 end too soon: the archive is truncated");
    assert_eq!(
        error("e 5000 4; r 5000 1 1 0 8; x 5000 4"),
        "the events of rank 0 end too soon: the archive is \
                      truncated"
    );
    assert_eq!(error("x 5000 4; z 5000"), "rank 0 leaves MPI_Recv, which it never entered");
    assert_eq!(error("e 5000 4; x 5000 3; z 5000"), "rank 0 leaves MPI_Send within MPI_Recv");
    assert_eq!(error("e 5000 99; z 5000"), "rank 0 is in region 99, which is not defined");
    assert_eq!(error("s 5000 2 1 0 8; z 5000"), "rank 0 has a message of rank 2 of a communicator of 2");
    assert_eq!(error("s 5000 0 9 0 8; z 5000"), "rank 0 uses communicator 9, whose members are not defined");
    assert_eq!(error("s 5000 0 4 0 8; z 5000"), "rank 0 communicates by an intercommunicator, which is not replayed");
    assert_eq!(error("e 5000 9; x 5000 9; z 5000"), "rank 0 calls MPI_Allreduce, whose events the archive lacks");
    assert!(
        error("e 5000 10; x 5000 10; z 5000")
            .ends_with("whose events the archive lacks: Score-P 8 and later record it")
    );
    assert_eq!(error("d 5000 3; z 5000"), "rank 0: request 3 ends, which never began");
    assert_eq!(
        error("e 5000 9; c 5000 0 1 0 0 0; x 5000 9; z 5000"),
        "rank 1 takes no part in collective 0 of communicator 1, others do"
    );

    let changed = |from: &str, to: &str| {
        let text = archive(&["z 5000", "z 5000"]).replace(from, to);
        ImportedTrace::read_otf2(text.as_bytes()).unwrap_err().to_string()
    };
    assert_eq!(changed("end\n", ""), "the archive ends too soon");
    assert_eq!(changed("end\n", "foreign\nend\n"), "MPI is called by several threads of a rank, which is not replayed");
    assert_eq!(changed("ranks 2", "ranks 0"), "expected the archive of an MPI program; found no ranks of MPI");
    assert_eq!(changed("ranks 2", "ranks 1"), "communicator 1: expected members up to rank 0");
    assert!(changed("comm 2 self", "comm 2 group 0 0").ends_with("expected members that differ"));
    let own = changed("Score-P", "mcpsim");
    assert!(own.starts_with("an archive that mcpsim wrote: ") && own.ends_with("--record FILE.trace of the same run"));
}
