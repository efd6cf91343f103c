/* Comparison of the clocks of hosts, and the time of the first access to a page. */

/* A duplicate of MPI_COMM_WORLD, so that messages of this library match no receive of the program. */
static MPI_Comm own_world;

static int64_t asked_at; /* Clock of this host to which the result of `ask_offset` refers. */

/* Least number of exchanges with a host, and of exchanges after the last improvement. If the uncertainty is at least
 * SLOW ns, cores or the network may be busy, and there are more exchanges. */
enum { TURNS = 64, SLOW = 100000 };

/* Returns the lead of rank 0's clock over the clock of this host, in ns. Hosts exchange messages with rank 0; the
 * fastest messages in each direction determine the result. */
static int64_t ask_offset(void)
{
    MPI_Comm node, leaders;
    int within, count = 0, leader = 0;
    int64_t offset = 0, at = (int64_t)wall();
    REAL(Comm_split_type)(own_world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    REAL(Comm_rank)(node, &within);
    REAL(Comm_split)(own_world, within == 0 ? 0 : MPI_UNDEFINED, 0, &leaders);
    if (leaders != MPI_COMM_NULL) {
        REAL(Comm_size)(leaders, &count);
        REAL(Comm_rank)(leaders, &leader);
        uint64_t began_at = wall();
        for (int other = 1; other < count; other++) {
            int64_t theirs = 0, more = 1;
            if (leader == 0) {
                uint64_t start = wall(), width = UINT64_MAX;
                int64_t low = INT64_MIN, high = INT64_MAX;
                for (int turn = 0, improved = 0; more; turn++) {
                    /* The process sleeps, because a process that has just slept gets a core at once, even if all cores
                     * are busy. */
                    if (turn % 8 == 0)
                        nanosleep(&(struct timespec){0, 100000}, NULL);
                    more = turn < TURNS ||
                           ((turn - improved < TURNS || (width > SLOW && start - began_at < 1000000000u)) &&
                            wall() - start < 250000000u);
                    uint64_t before_it = wall();
                    REAL(Send)(&more, 1, MPI_INT64_T, other, 0, leaders);
                    REAL(Recv)(&theirs, 1, MPI_INT64_T, other, 0, leaders, MPI_STATUS_IGNORE);
                    /* The other host read its clock between the two readings of this host's clock. */
                    int64_t least = (int64_t)before_it - theirs, most = (int64_t)wall() - theirs;
                    low = least > low ? least : low;
                    high = most < high ? most : high;
                    uint64_t left = high > low ? (uint64_t)(high - low) : 0;
                    if (left < width) {
                        improved = left < width - width / 16 ? turn : improved;
                        width = left;
                        offset = low + (high - low) / 2;
                        at = theirs;
                    }
                }
            }
            while (leader == other && more) {
                REAL(Recv)(&more, 1, MPI_INT64_T, 0, 0, leaders, MPI_STATUS_IGNORE);
                theirs = (int64_t)wall();
                REAL(Send)(&theirs, 1, MPI_INT64_T, 0, 0, leaders);
            }
            int64_t found[2] = {offset, at};
            if (leader == 0)
                REAL(Send)(found, 2, MPI_INT64_T, other, 1, leaders);
            else if (leader == other)
                REAL(Recv)(found, 2, MPI_INT64_T, 0, 1, leaders, MPI_STATUS_IGNORE);
            if (leader == other)
                offset = found[0], at = found[1];
        }
        if (leader == 0)
            offset = 0, at = (int64_t)wall();
        REAL(Comm_free)(&leaders);
    }
    int64_t found[2] = {offset, at};
    REAL(Bcast)(found, 2, MPI_INT64_T, 0, node);
    REAL(Comm_free)(&node);
    asked_at = found[1];
    return found[0];
}

/* Measures the time of the first access to a page in ns, on unused pages. */
static uint64_t cost_of_a_page(void)
{
    enum { PAGES = 256 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE), all = PAGES * page;
    char *memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 0;
    madvise(memory, all, MADV_NOHUGEPAGE);
    uint64_t start = cpu();
    for (size_t at = 0; at < all; at += page)
        ((volatile char *)memory)[at] = 1;
    uint64_t took = cpu() - start;
    munmap(memory, all);
    return took / PAGES;
}
