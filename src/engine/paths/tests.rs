//! Tests of critical paths.

use super::*;
use mcpsim_base::profile::Resource;

#[test]
fn a_shared_path_is_copied_when_one_holder_goes_on() {
    let mut paths = Paths::default();
    let mut mine = paths.put(Path::default());
    let yours = paths.share(mine);
    paths.change(&mut mine).compute += SimSpan::from_ps(5);
    assert_ne!(mine, yours);
    assert_eq!(paths.get(yours).compute, SimSpan::ZERO);
    let same = mine;
    paths.change(&mut mine).recv += SimSpan::from_ps(2);
    assert_eq!(same, mine, "its only holder changes it in place");
    let parts = paths.get(mine).parts(SimTime::from_ps(10));
    assert_eq!((parts.compute.as_ps(), parts.recv.as_ps(), parts.send.as_ps()), (5, 2, 3));
    assert_eq!(parts.total(), SimSpan::from_ps(10));
}

#[test]
fn what_held_up_a_transfer_is_charged_to_the_path_that_crosses_it() {
    let ps = SimSpan::from_ps;
    let mut paths = Paths::new(false, true, 0);
    let start = paths.put(Path { compute: ps(5), ..Path::default() });
    // Two messages leave from `start`, and one of the messages is delayed.
    let mut late = paths.share(start);
    let mut other = paths.share(start);
    paths.delay(&mut late, &Delays::default().and(Resource::AdapterIn, ps(40)));
    assert_eq!(paths.get(late).compute, ps(5), "it stands for the path it is to go on");
    let parts = TransferParts { contention: ps(30), ..TransferParts::default() };
    paths.cross(&mut late, Level::InterNode, SimTime::ZERO, parts);
    paths.cross(&mut other, Level::InterNode, SimTime::ZERO, parts);
    let charged = |slot| paths.charges(slot).unwrap().of(Level::InterNode, Resource::AdapterIn);
    assert_eq!([late, other, start].map(charged), [ps(30), ps(0), ps(0)]);
    assert_eq!(paths.get(late).compute, ps(5));
    // The delays of a transfer that no path crosses keep the path only during the lifetime of the transfer.
    let slots = paths.delayed.len();
    for _ in 0..3 {
        let mut unused = paths.share(start);
        paths.delay(&mut unused, &Delays::of_head(ps(3), Some(Resource::Gap)).and(Resource::Core, ps(1)));
        paths.delay(&mut unused, &Delays::of_head(ps(3), Some(Resource::Gap)).and(Resource::Core, ps(2)));
        paths.forget_after_head(&mut unused);
        assert_eq!(paths.delays(unused), Delays::of_head(ps(3), Some(Resource::Gap)));
        paths.release(unused);
    }
    assert!(paths.delayed.len() <= slots + 1 && paths.holders[start.0 as usize] == 1);
}

#[test]
fn those_who_go_on_alike_share_the_path() {
    let ps = SimSpan::from_ps;
    let mut paths = Paths::new(false, true, 0);
    let start = paths.put(Path { compute: ps(5), ..Path::default() });
    let parts = |protocol| TransferParts { protocol: ps(protocol), ..TransferParts::default() };
    let mut ways: Vec<PathSlot> = (0..6).map(|_| paths.share(start)).collect();
    for (slot, protocol) in ways.iter_mut().zip([30, 30, 30, 40, 30, 30]) {
        paths.cross_alike(slot, Level::InterNode, SimTime::ZERO, parts(protocol));
        assert_eq!(paths.get(*slot).levels[2].protocol, ps(protocol));
    }
    assert_eq!((ways[0], ways[1]), (ways[2], ways[2]));
    assert_ne!(ways[2], ways[3]);
    // A holder that extends its path leaves the other holders' path unchanged.
    paths.cross(&mut ways[0], Level::InterNode, SimTime::ZERO, parts(7));
    assert_eq!(paths.get(ways[0]).levels[2].protocol, ps(37));
    assert_eq!(paths.get(ways[1]).levels[2].protocol, ps(30));
    assert_eq!(paths.get(start).compute, ps(5));
}

#[test]
fn a_slot_without_holders_is_used_again() {
    let mut paths = Paths::default();
    let first = paths.put(Path::default());
    let second = paths.share(first);
    paths.release(first);
    assert_ne!(paths.put(Path::default()), second);
    paths.release(second);
    paths.release(PathSlot::NONE);
    assert_eq!(paths.put(Path::default()), second);
}
