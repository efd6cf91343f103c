//! Tests of the keys of platform files about collectives.

use crate::platform::{Algorithm, Collective, Library, Method};

use super::*;

#[test]
fn collective_rules_apply_in_the_order_of_the_file() {
    let text = format!(
        "{MACHINE}{NETWORK}{}",
        r#"
        [[collectives.bcast]]
        up_to_ranks = 8
        up_to_bytes = "2 KiB"
        algorithm = "binomial"
        [[collectives.bcast]]
        algorithm = "scatter_allgather"
        "#
    );
    let rules = load_with(&text, &[]).unwrap().platform.collectives;
    let bcast = |ranks, size| rules.method(Collective::Bcast, ranks, Bytes::new(size)).map(|method| method.algorithm);
    assert_eq!(bcast(8, 2048), Some(Algorithm::Binomial));
    assert_eq!(bcast(9, 2048), Some(Algorithm::ScatterAllgather));
    assert_eq!(bcast(8, 2049), Some(Algorithm::ScatterAllgather));
    assert_eq!(rules.method(Collective::Reduce, 8, Bytes::ZERO), None);
}

#[test]
fn a_library_chooses_where_no_rule_does() {
    let text = format!(
        "{MACHINE}{NETWORK}{}",
        r#"
        [collectives]
        library = "openmpi-4.1"
        block_overhead = "20 ns"
        datatype_overhead = "500 ns"
        allreduce = { algorithm = "segmented_ring", above = "64 KiB", segment = "1 MiB" }
        bcast = [
            { algorithm = "knomial", fan = 8, up_to_bytes = "1 KiB" },
            { algorithm = "pipeline", segment = "16 KiB", above_ranks = 4 },
        ]
        "#
    );
    let rules = load_with(&text, &[]).unwrap().platform.collectives;
    assert_eq!((rules.library, rules.block_overhead), (Library::OpenMpi41, SimSpan::from_ns(20)));
    assert_eq!(rules.datatype_overhead, SimSpan::from_ns(500));
    let allreduce = |size| rules.method(Collective::Allreduce, 4, Bytes::new(size));
    assert_eq!(allreduce(65_536), None);
    assert_eq!(allreduce(65_537), Some(Method::from(Algorithm::SegmentedRing).in_segments(1 << 20)));
    let bcast = |ranks, size| rules.method(Collective::Bcast, ranks, Bytes::new(size));
    assert_eq!(bcast(4, 1024), Some(Method::from(Algorithm::Knomial).by(8)));
    assert_eq!(bcast(4, 1025), None);
    assert_eq!(bcast(5, 1025), Some(Method::from(Algorithm::Pipeline).in_segments(16 << 10)));
    assert_eq!(rules.method(Collective::Gather, 4, Bytes::ZERO), None);
}

#[test]
fn unknown_libraries_and_what_no_rule_says_are_refused() {
    assert_eq!(
        error_with("[collectives]\nlibrary = \"lam\""),
        "expected one of \"mpich-3-flat\", \"openmpi-4.0\", \"openmpi-4.1\", \"openmpi-5.0\", \"mpich-4\" in \
         collectives.library of x.toml; found \"lam\""
    );
    assert_eq!(
        error_with("[collectives]\nbcast = { algorithm = \"pipeline\", segment = \"4 GiB\" }"),
        "expected a segment of less than 4 GiB such as \"64 KiB\" in collectives.bcast.segment of x.toml; found 4 GiB"
    );
    let error = error_with("[collectives]\nblock_overhead = \"20 B\"");
    assert!(error.contains("in collectives.block_overhead of x.toml; found \"20 B\""), "{error}");
    let error = error_with("[collectives]\ndatatype_overhead = 5");
    assert!(error.contains("in collectives.datatype_overhead of x.toml"), "{error}");
    let error = error_with("[collectives]\nbcast = { algorithm = \"pipeline\", below = 8 }");
    assert!(error.contains("below") && error.contains("collectives.bcast"), "{error}");
    let error = error_with("[collectives]\nbcast = \"pipeline\"");
    assert!(error.contains("collectives.bcast"), "{error}");
}

#[test]
fn unknown_collectives_and_algorithms_are_refused() {
    let error = error_with("[[collectives.bcast]]\nalgorithm = \"magic\"");
    assert!(error.starts_with("expected one of \"linear\", \"linear_sync\", "), "{error}");
    assert!(error.ends_with(" in collectives.bcast[0].algorithm of x.toml; found \"magic\""), "{error}");
    let error = error_with("[[collectives.broadcast]]\nalgorithm = \"linear\"");
    assert!(error.starts_with("expected one of \"barrier\", \"bcast\", "), "{error}");
    assert!(error.ends_with(" in collectives.broadcast of x.toml; found \"broadcast\""), "{error}");
}
