//! Algorithm selection of the component `tuned` of Open MPI 4.1, unchanged in 5.0, from `coll_tuned_decision_fixed.c`
//! of 4.1.4. Each row of a table has an exclusive limit of the number of ranks. Each pair in a row has an exclusive
//! limit of the size in bytes and the identifier of an algorithm (see `openmpi::numbered`).

use super::{ALL, ANY, KIB, MIB, Table};

/// Algorithms of an allreduce with a non-commutative operator, by buffer size in bytes.
pub(super) const ALLREDUCE_ORDERED: Table = &[
    (4, &[(128 * KIB, 3), (ALL, 1)]),
    (8, &[(ALL, 3)]),
    (16, &[(MIB, 3), (ALL, 2)]),
    (128, &[(ALL, 3)]),
    (256, &[(128 * KIB, 2), (512 * KIB, 3), (ALL, 2)]),
    (512, &[(4 * KIB, 2), (512 * KIB, 3), (ALL, 2)]),
    (ANY, &[(2 * KIB, 2), (ALL, 3)]),
];

/// Algorithms of an allreduce, by buffer size in bytes.
pub(super) const ALLREDUCE: Table = &[
    (4, &[(8, 4), (4 * KIB, 3), (8 * KIB, 4), (16 * KIB, 3), (64 * KIB, 4), (256 * KIB, 5), (ALL, 6)]),
    (8, &[(16, 4), (8 * KIB, 3), (ALL, 6)]),
    (16, &[(8 * KIB, 3), (ALL, 6)]),
    (32, &[(64, 5), (4 * KIB, 3), (ALL, 6)]),
    (64, &[(128, 5), (ALL, 6)]),
    (128, &[(256 * KIB, 3), (ALL, 6)]),
    (256, &[(128 * KIB, 2), (256 * KIB, 3), (ALL, 6)]),
    (512, &[(4 * KIB, 2), (ALL, 6)]),
    (2048, &[(2 * KIB, 2), (16 * KIB, 3), (ALL, 6)]),
    (4096, &[(2 * KIB, 2), (4 * KIB, 5), (16 * KIB, 3), (ALL, 6)]),
    (ANY, &[(2 * KIB, 2), (16 * KIB, 5), (32 * KIB, 3), (ALL, 6)]),
];

/// Algorithms of an alltoall, by block size in bytes.
pub(super) const ALLTOALL: Table = &[
    (3, &[(2, 2), (4, 5), (16, 2), (64, 5), (256, 2), (4 * KIB, 5), (32 * KIB, 2), (256 * KIB, 4), (MIB, 5), (ALL, 2)]),
    (8, &[(8 * KIB, 4), (16 * KIB, 1), (64 * KIB, 4), (512 * KIB, 1), (MIB, 2), (ALL, 1)]),
    (16, &[(256 * KIB, 4), (ALL, 1)]),
    (32, &[(4, 4), (512, 3), (8 * KIB, 4), (32 * KIB, 1), (256 * KIB, 4), (512 * KIB, 1), (ALL, 4)]),
    (64, &[(512, 3), (512 * KIB, 1), (ALL, 4)]),
    (128, &[(KIB, 3), (2 * KIB, 1), (4 * KIB, 4), (256 * KIB, 1), (ALL, 2)]),
    (256, &[(KIB, 3), (2 * KIB, 4), (256 * KIB, 1), (ALL, 2)]),
    (512, &[(KIB, 3), (8 * KIB, 4), (32 * KIB, 1), (ALL, 2)]),
    (1024, &[(512, 3), (8 * KIB, 4), (16 * KIB, 1), (128 * KIB, 4), (256 * KIB, 1), (ALL, 2)]),
    (2048, &[(512, 3), (KIB, 4), (2 * KIB, 1), (16 * KIB, 4), (256 * KIB, 1), (ALL, 4)]),
    (4096, &[(KIB, 3), (4 * KIB, 4), (8 * KIB, 1), (128 * KIB, 4), (ALL, 1)]),
    (ANY, &[(2 * KIB, 3), (8 * KIB, 4), (16 * KIB, 1), (32 * KIB, 4), (64 * KIB, 1), (ALL, 4)]),
];

/// Algorithms of an alltoallv, by number of ranks.
pub(super) const ALLTOALLV: Table = &[
    (4, &[(ALL, 2)]),
    (64, &[(ALL, 1)]),
    (128, &[(ALL, 2)]),
    (256, &[(ALL, 1)]),
    (1024, &[(ALL, 2)]),
    (ANY, &[(ALL, 1)]),
];

/// Algorithms of a barrier, by number of ranks.
pub(super) const BARRIER: Table = &[
    (4, &[(ALL, 3)]),
    (8, &[(ALL, 1)]),
    (64, &[(ALL, 3)]),
    (256, &[(ALL, 4)]),
    (512, &[(ALL, 6)]),
    (1024, &[(ALL, 4)]),
    (4096, &[(ALL, 6)]),
    (ANY, &[(ALL, 4)]),
];

/// Algorithms of a bcast, by buffer size in bytes.
pub(super) const BCAST: Table = &[
    (
        4,
        &[
            (32, 3),
            (256, 5),
            (512, 3),
            (KIB, 7),
            (32 * KIB, 1),
            (128 * KIB, 5),
            (256 * KIB, 2),
            (512 * KIB, 1),
            (MIB, 6),
            (ALL, 5),
        ],
    ),
    (8, &[(64, 5), (128, 6), (2 * KIB, 5), (8 * KIB, 6), (MIB, 1), (ALL, 2)]),
    (16, &[(8, 7), (64, 5), (4 * KIB, 7), (16 * KIB, 5), (32 * KIB, 6), (ALL, 1)]),
    (32, &[(4 * KIB, 7), (MIB, 6), (ALL, 8)]),
    (64, &[(2 * KIB, 6), (ALL, 7)]),
    (128, &[(ALL, 7)]),
    (256, &[(2, 6), (16 * KIB, 5), (32 * KIB, 1), (64 * KIB, 5), (ALL, 7)]),
    (1024, &[(16 * KIB, 7), (32 * KIB, 4), (ALL, 7)]),
    (2048, &[(512 * KIB, 7), (ALL, 8)]),
    (4096, &[(256 * KIB, 7), (ALL, 8)]),
    (ANY, &[(8 * KIB, 7), (16 * KIB, 5), (256 * KIB, 7), (ALL, 8)]),
];

/// Algorithms of a reduce with a non-commutative operator, by buffer size in bytes.
pub(super) const REDUCE_ORDERED: Table = &[
    (4, &[(8, 6), (ALL, 1)]),
    (8, &[(ALL, 1)]),
    (16, &[(KIB, 6), (8 * KIB, 1), (16 * KIB, 6), (256 * KIB, 1), (ALL, 6)]),
    (128, &[(ALL, 6)]),
    (256, &[(512, 6), (KIB, 1), (ALL, 6)]),
    (ANY, &[(ALL, 6)]),
];

/// Algorithms of a reduce, by buffer size in bytes.
pub(super) const REDUCE: Table = &[
    (4, &[(8, 7), (16, 4), (32, 3), (256 * KIB, 1), (512 * KIB, 3), (MIB, 2), (ALL, 3)]),
    (8, &[(4 * KIB, 4), (64 * KIB, 2), (256 * KIB, 5), (512 * KIB, 1), (MIB, 5), (ALL, 1)]),
    (16, &[(8 * KIB, 4), (ALL, 5)]),
    (32, &[(4 * KIB, 4), (ALL, 5)]),
    (256, &[(ALL, 5)]),
    (512, &[(8 * KIB, 5), (16 * KIB, 6), (ALL, 5)]),
    (2048, &[(ALL, 5)]),
    (4096, &[(512, 5), (KIB, 6), (8 * KIB, 5), (16 * KIB, 6), (ALL, 5)]),
    (ANY, &[(16, 5), (32, 6), (KIB, 5), (2 * KIB, 6), (8 * KIB, 5), (16 * KIB, 6), (ALL, 5)]),
];

/// Algorithms of a reduce_scatter, by the sum of all blocks in bytes.
pub(super) const REDUCE_SCATTER: Table = &[
    (4, &[(64 * KIB, 3), (128 * KIB, 4), (ALL, 3)]),
    (8, &[(8, 1), (256 * KIB, 2), (ALL, 3)]),
    (32, &[(256 * KIB, 2), (ALL, 3)]),
    (64, &[(64, 1), (2 * KIB, 2), (512 * KIB, 4), (ALL, 3)]),
    (128, &[(256, 1), (512, 2), (2 * KIB, 4), (4 * KIB, 2), (ALL, 4)]),
    (256, &[(256, 1), (512, 2), (ALL, 4)]),
    (512, &[(256, 1), (KIB, 2), (ALL, 4)]),
    (1024, &[(512, 1), (2 * KIB, 2), (8 * KIB, 4), (16 * KIB, 2), (ALL, 4)]),
    (2048, &[(512, 1), (4 * KIB, 2), (16 * KIB, 4), (32 * KIB, 2), (ALL, 4)]),
    (4096, &[(512, 1), (4 * KIB, 2), (ALL, 4)]),
    (ANY, &[(KIB, 1), (8 * KIB, 2), (ALL, 4)]),
];

/// Algorithms of an allgather, by block size in bytes.
pub(super) const ALLGATHER: Table = &[
    (3, &[(ALL, 6)]),
    (32, &[(ALL, 3)]),
    (64, &[(KIB, 3), (64 * KIB, 5), (ALL, 4)]),
    (128, &[(512, 3), (64 * KIB, 5), (ALL, 4)]),
    (256, &[(512, 3), (128 * KIB, 5), (512 * KIB, 4), (MIB, 5), (ALL, 4)]),
    (512, &[(32, 3), (128, 2), (KIB, 3), (128 * KIB, 5), (512 * KIB, 4), (MIB, 5), (ALL, 4)]),
    (1024, &[(64, 3), (256, 2), (2 * KIB, 3), (ALL, 5)]),
    (2048, &[(4, 3), (8, 2), (16, 3), (32, 2), (256, 3), (512, 2), (4 * KIB, 3), (ALL, 5)]),
    (4096, &[(32, 2), (128, 3), (512, 2), (4 * KIB, 3), (ALL, 5)]),
    (ANY, &[(2, 3), (8, 2), (16, 3), (512, 2), (4 * KIB, 3), (ALL, 5)]),
];

/// Algorithms of an allgatherv, by the mean block size in bytes.
pub(super) const ALLGATHERV: Table = &[
    (3, &[(2 * KIB, 3), (4 * KIB, 5), (8 * KIB, 3), (ALL, 5)]),
    (8, &[(256, 1), (4 * KIB, 4), (8 * KIB, 3), (16 * KIB, 4), (256 * KIB, 2), (ALL, 4)]),
    (16, &[(KIB, 1), (ALL, 2)]),
    (32, &[(128, 1), (256 * KIB, 2), (ALL, 3)]),
    (64, &[(256, 1), (8 * KIB, 2), (ALL, 3)]),
    (128, &[(256, 1), (4 * KIB, 2), (ALL, 3)]),
    (256, &[(KIB, 2), (64 * KIB, 4), (ALL, 3)]),
    (512, &[(KIB, 2), (ALL, 3)]),
    (1024, &[(512, 2), (KIB, 1), (4 * KIB, 2), (MIB, 4), (ALL, 3)]),
    (ANY, &[(4 * KIB, 2), (ALL, 4)]),
];

/// Algorithms of a gather, by block size in bytes.
pub(super) const GATHER: Table = &[
    (4, &[(2, 3), (4, 1), (32 * KIB, 2), (64 * KIB, 1), (128 * KIB, 2), (ALL, 3)]),
    (8, &[(KIB, 2), (8 * KIB, 1), (32 * KIB, 2), (256 * KIB, 1), (ALL, 3)]),
    (256, &[(ALL, 2)]),
    (512, &[(2 * KIB, 2), (8 * KIB, 1), (ALL, 2)]),
    (ANY, &[(ALL, 2)]),
];

/// Algorithms of a scatter, by block size in bytes.
pub(super) const SCATTER: Table = &[
    (4, &[(2, 3), (128 * KIB, 1), (256 * KIB, 3), (ALL, 1)]),
    (8, &[(2 * KIB, 2), (4 * KIB, 1), (8 * KIB, 2), (32 * KIB, 1), (MIB, 3), (ALL, 1)]),
    (16, &[(16 * KIB, 2), (MIB, 3), (ALL, 1)]),
    (32, &[(16 * KIB, 2), (32 * KIB, 1), (ALL, 3)]),
    (64, &[(512, 2), (8 * KIB, 3), (16 * KIB, 2), (ALL, 3)]),
    (ANY, &[(512, 2), (ALL, 3)]),
];
