/* High-Performance Linpack: solves a dense system of n equations by LU factorization with row pivoting.
 *
 *     hpl [-s SWAP] [-b BCAST] [-d DEPTH] [-m PMAP] n [nb [p q]]
 *
 *     n     equations, from 1 to 1,000,000
 *     nb    size of blocks, 64 without it
 *     p q   rows and columns of the grid of ranks; as square as can be, p <= q, without them
 *     SWAP  long, binary_exchange, or mix: binary exchange up to 64 columns
 *     BCAST 1ring, 1ringM, 2ring, 2ringM, or long
 *     DEPTH 0, or 1: the next panel is factored, and sent off, before the rest is updated
 *     PMAP  row: ranks fill the grid row by row; or column
 *
 * The algorithm as HPL's pages describe it (netlib.org/benchmark/hpl/algorithm.html): the n * (n + 1) matrix [A b] in
 * blocks of nb * nb, dealt out cyclically in both dimensions; right-looking. For every panel of nb
 * columns:
 *
 *   factor      The column of ranks that owns the panel factors it, recursively in halves. For every pivot its ranks
 *               exchange, by binary exchange, the greatest element found, its row and the diagonal's row within the
 *               panel: 2 nb + 4 numbers. All of them so have the panel's top block.
 *   broadcast   The panel goes along the rows from rank to rank: an increasing ring, or two; modified, so that the next
 *               rank gets it first and does not pass it on; or long, in parts that are spread and rolled.
 *   swap        The pivot rows are swapped. Long, "spread and roll": rows to be stored elsewhere go down a binomial tree
 *               from the rank that has the top rows, each rank's part of the pivot rows goes around the column in a ring.
 *               Binary exchange: clusters of 1, 2, 4 ... ranks tell each other their pivot rows, and that of the top rows
 *               what is to be stored elsewhere.
 *   update      Triangular solve of the pivot rows, then A -= L U for all that is below and to the right. At depth 1 in
 *               parts, between which the next panel is looked for and passed on.
 *
 * Then back substitution, in which a rank's column keeps its own sums and hands those of the next q - 1 blocks on.
 *
 * Checked as HPL does: max |A x - b| / (eps (max |x| ‖A‖ + max |b|) n) below 16, A being made again.
 * The product is written plainly in blocks; -DUSE_CBLAS (and a library) takes cblas_dgemm instead.
 */
#include "common.h"
#include <float.h>
#include <math.h>
#ifdef USE_CBLAS
#include <cblas.h>
#endif

static long n;                    /* equations; column n is b */
static int nb, P, Q, my_row, my_column;
static MPI_Comm row, column;      /* this rank's: `row` has Q ranks, `column` P */
static long rows, columns;        /* of this rank */
static double *matrix;            /* by columns */

enum { pivot_tag, panel_tag, spread_tag, roll_tag, exchange_tag, sums_tag };

static int swapping, broadcasting, ahead;
enum { long_swap, binary_exchange, mix, swap_threshold = 64 };
enum { one_ring, one_ring_m, two_ring, two_ring_m, long_broadcast };

/* How many of the first `count` rows or columns belong to place `place` of `places`. */
static long owned(long count, int place, int places)
{
    long blocks = count / nb, mine = blocks / places * nb;
    int extra = (int)(blocks % places);
    return mine + (place < extra ? nb : place == extra ? count % nb : 0);
}

/* The number in the whole matrix of local row or column `local`. */
static long global(long local, int place, int places)
{
    return (local / nb * places + place) * nb + local % nb;
}

static double element(long i, long j)
{
    return (double)(scramble((uint64_t)(j * (n + 1) + i)) >> 11) * 0x1p-53 - 0.5;
}

/* Element (i, j) of this rank's part. */
static double *entry(long i, long j)
{
    return matrix + j * rows + i;
}

/* ---- c (m * k) -= a (m * inner, by columns) * b (inner * k, by rows) ---- */

#ifdef USE_CBLAS
static void subtract_product(long m, long k, long inner, const double *a, long lda, const double *b, long ldb,
                             double *c, long ldc)
{
    if (m > 0 && k > 0 && inner > 0)
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, (int)m, (int)k, (int)inner, -1, a, (int)lda, b, (int)ldb,
                    1, c, (int)ldc);
}
#else
/* A block of c that stays in registers; how many strips of a, and how much of inner, are taken at once. */
enum { tall = 4, wide = 4, strips = 32, depth = 128 };

/* acc = a strip of a times a strip of b, both packed. */
static inline void multiply_strips(long inner, const double *restrict a, const double *restrict b,
                                   double acc[restrict wide][tall])
{
    double sum[wide][tall] = {{0}};
    for (long l = 0; l < inner; l++, a += tall, b += wide)
        for (int j = 0; j < wide; j++)
            for (int i = 0; i < tall; i++)
                sum[j][i] += a[i] * b[j];
    memcpy(acc, sum, sizeof sum);
}

static void subtract_product(long m, long k, long inner, const double *a, long lda, const double *b, long ldb,
                             double *c, long ldc)
{
    static double *packed_a, *packed_b;
    static long b_room;
    long b_strips = (k + wide - 1) / wide;
    if (packed_a == NULL)
        packed_a = room((size_t)tall * strips * depth, sizeof *packed_a);
    if (b_strips > b_room) {
        free(packed_b);
        b_room = b_strips;
        packed_b = room((size_t)(b_room * wide * depth), sizeof *packed_b);
    }
    for (long l0 = 0; l0 < inner; l0 += depth) {
        long deep = inner - l0 < depth ? inner - l0 : depth;
        double *to = packed_b;
        for (long j0 = 0; j0 < k; j0 += wide)
            for (long l = 0; l < deep; l++)
                for (long j = j0; j < j0 + wide; j++)
                    *to++ = j < k ? b[(l0 + l) * ldb + j] : 0;
        for (long block = 0; block < m; block += tall * strips) {
            long end = block + tall * strips < m ? block + tall * strips : m;
            to = packed_a;
            for (long i0 = block; i0 < end; i0 += tall)
                for (long l = 0; l < deep; l++)
                    for (long i = i0; i < i0 + tall; i++)
                        *to++ = i < end ? a[(l0 + l) * lda + i] : 0;
            for (long j0 = 0; j0 < k; j0 += wide)
                for (long i0 = block; i0 < end; i0 += tall) {
                    double acc[wide][tall];
                    multiply_strips(deep, packed_a + (i0 - block) * deep, packed_b + j0 * deep, acc);
                    long high = end - i0 < tall ? end - i0 : tall, broad = k - j0 < wide ? k - j0 : wide;
                    for (long j = 0; j < broad; j++)
                        for (long i = 0; i < high; i++)
                            c[(j0 + j) * ldc + i0 + i] -= acc[j][i];
                }
        }
    }
}
#endif

/* ---- a panel ---- */

/* The panel being worked on, as it is sent: the rows below its top block (by columns), the top block (by rows), the
 * pivots' rows. */
static struct factored {
    long k, start, width; /* its number, its first column, its columns */
    int root_row, root_column;
    long below, first_below; /* rows of this rank below the top block, and the first of them */
    double *low, *top, *pivots, *message;
    int sends, passed; /* messages on their way to the next ranks, and whether it was passed on */
    MPI_Request requests[4];
} both[2], *current = both; /* at depth 1 the next one too */

#define panel (*current)

static void look_at_panel(long k)
{
    panel.k = k;
    panel.start = k * nb;
    panel.width = n - panel.start < nb ? n - panel.start : nb;
    panel.root_row = (int)(k % P);
    panel.root_column = (int)(k % Q);
    panel.first_below = owned(panel.start + panel.width, my_row, P);
    panel.below = rows - panel.first_below;
    panel.low = panel.message;
    panel.top = panel.low + panel.below * panel.width;
    panel.pivots = panel.top + panel.width * panel.width;
}

/* What the ranks of a column tell each other about a pivot. */
enum { value, where, has_current, header = 4 };

static void take_better(double *mine, const double *other)
{
    long width = panel.width;
    if (other[has_current] != 0 && mine[has_current] == 0) {
        mine[has_current] = 1;
        memcpy(mine + header + width, other + header + width, (size_t)width * sizeof *mine);
    }
    if (fabs(other[value]) > fabs(mine[value]) ||
        (fabs(other[value]) == fabs(mine[value]) && other[where] < mine[where])) {
        mine[value] = other[value];
        mine[where] = other[where];
        memcpy(mine + header, other + header, (size_t)width * sizeof *mine);
    }
}

/* All ranks of the column come to know the best of their messages, in pairs at distances 1, 2, 4 ... from the root. */
static void combine(double *mine, double *other)
{
    int length = (int)(header + 2 * panel.width), cube = 1;
    int place = (my_row - panel.root_row + P) % P;
    while (2 * cube <= P)
        cube *= 2;
    if (place >= cube) {
        int partner = (my_row - cube + P) % P;
        MPI_Send(mine, length, MPI_DOUBLE, partner, pivot_tag, column);
        MPI_Recv(mine, length, MPI_DOUBLE, partner, pivot_tag, column, MPI_STATUS_IGNORE);
        return;
    }
    int beyond = (my_row + cube) % P;
    if (place + cube < P) {
        MPI_Recv(other, length, MPI_DOUBLE, beyond, pivot_tag, column, MPI_STATUS_IGNORE);
        take_better(mine, other);
    }
    for (int bit = 1; bit < cube; bit *= 2) {
        int partner = ((place ^ bit) + panel.root_row) % P;
        MPI_Sendrecv(mine, length, MPI_DOUBLE, partner, pivot_tag, other, length, MPI_DOUBLE, partner, pivot_tag,
                     column, MPI_STATUS_IGNORE);
        take_better(mine, other);
    }
    if (place + cube < P)
        MPI_Send(mine, length, MPI_DOUBLE, beyond, pivot_tag, column);
}

/* Finds the pivot of column j of the panel, and swaps its row with the diagonal's within the panel. */
static void pivot(long j, long first_column)
{
    static double *mine, *other;
    if (mine == NULL) {
        mine = room((size_t)(header + 2 * nb), sizeof *mine);
        other = room((size_t)(header + 2 * nb), sizeof *other);
    }
    long width = panel.width, diagonal = panel.start + j;
    int root = my_row == panel.root_row;
    long first = owned(diagonal, my_row, P), best = first;
    for (long i = first; i < rows; i++)
        if (fabs(*entry(i, first_column + j)) > fabs(*entry(best, first_column + j)))
            best = i;
    mine[value] = 0;
    mine[where] = (double)n;
    mine[has_current] = root;
    if (first < rows) {
        mine[value] = *entry(best, first_column + j);
        mine[where] = (double)global(best, my_row, P);
        for (long i = 0; i < width; i++)
            mine[header + i] = *entry(best, first_column + i);
    }
    for (long i = 0; root && i < width; i++)
        mine[header + width + i] = *entry(first, first_column + i);
    if (P > 1)
        combine(mine, other);
    long chosen = (long)mine[where];
    panel.pivots[j] = mine[where];
    memcpy(panel.top + j * width, mine + header, (size_t)width * sizeof *mine);
    if (chosen != diagonal && chosen / nb % P == my_row) {
        long i = owned(chosen, my_row, P);
        for (long c = 0; c < width; c++)
            *entry(i, first_column + c) = mine[header + width + c];
    }
}

/* Factors the panel's columns from `from` to `to`, right-looking in narrow ranges, wider ones in halves. */
static void factor(long from, long to, long first_column)
{
    enum { narrow = 8 };
    long width = panel.width;
    if (to - from > narrow) {
        long middle = from + (to - from) / 2;
        factor(from, middle, first_column);
        for (long i = from; i < middle; i++)
            for (long l = from; l < i; l++)
                for (long j = middle; j < to; j++)
                    panel.top[i * width + j] -= panel.top[i * width + l] * panel.top[l * width + j];
        long first = owned(panel.start + middle, my_row, P);
        subtract_product(rows - first, to - middle, middle - from, entry(first, first_column + from), rows,
                         panel.top + from * width + middle, width, entry(first, first_column + middle), rows);
        factor(middle, to, first_column);
        return;
    }
    for (long j = from; j < to; j++) {
        pivot(j, first_column);
        long first = owned(panel.start + j + 1, my_row, P);
        double scale = 1 / panel.top[j * width + j], *l = entry(0, first_column + j);
        for (long i = first; i < rows; i++)
            l[i] *= scale;
        for (long c = j + 1; c < to; c++) {
            double u = panel.top[j * width + c], *a = entry(0, first_column + c);
            for (long i = first; i < rows; i++)
                a[i] -= l[i] * u;
        }
    }
}

static void factor_panel(void)
{
    long first_column = owned(panel.start, my_column, Q), width = panel.width;
    factor(0, width, first_column);
    if (my_row == panel.root_row)
        for (long i = 0; i < width; i++)
            for (long j = 0; j < width; j++)
                *entry(panel.first_below - width + i, first_column + j) = panel.top[i * width + j];
    for (long j = 0; j < width; j++)
        memcpy(panel.low + j * panel.below, entry(panel.first_below, first_column + j),
               (size_t)panel.below * sizeof *panel.low);
}

/* How many ranks get the panel from this one, which, and from which it comes (-1: from none), as distances from the root. */
static int route(int *before, int *next)
{
    int far = (my_column - panel.root_column + Q) % Q, count = 0;
    int modified = broadcasting == one_ring_m || broadcasting == two_ring_m, chain = modified ? 2 : 1;
    int half = broadcasting >= two_ring ? (Q + 1) / 2 : Q; /* where the second ring begins */
    *before = far == 0 ? -1 : far <= chain || far == half ? 0 : far - 1;
    if (far == 0) {
        if (Q > 1)
            next[count++] = 1;
        if (modified && Q > 2)
            next[count++] = 2;
        if (half > chain && half < Q)
            next[count++] = half;
    } else if (far >= chain && far + 1 < Q && far + 1 != half) {
        next[count++] = far + 1;
    }
    return count;
}

static int panel_length(void)
{
    return (int)(panel.below * panel.width + panel.width * panel.width + panel.width);
}

/* The panel in Q parts: down a binomial tree, then around the row. */
static void spread_panel(void)
{
    int length = panel_length(), part = (length + Q - 1) / Q, span = 1;
    int far = (my_column - panel.root_column + Q) % Q, next = (my_column + 1) % Q, previous = (my_column + Q - 1) % Q;
#define start_of(place) ((place) * part < length ? (place) * part : length)
    while (span < Q && (far & span) == 0)
        span *= 2;
    int end = far + span < Q ? far + span : Q;
    if (far > 0)
        MPI_Recv(panel.message + start_of(far), start_of(end) - start_of(far), MPI_DOUBLE,
                 (far - span + panel.root_column) % Q, panel_tag, row, MPI_STATUS_IGNORE);
    for (int bit = span / 2; bit > 0; bit /= 2) {
        int from = far + bit, to = from + bit < Q ? from + bit : Q;
        if (from < Q)
            MPI_Send(panel.message + start_of(from), start_of(to) - start_of(from), MPI_DOUBLE,
                     (from + panel.root_column) % Q, panel_tag, row);
    }
    for (int turn = 0; turn < Q - 1; turn++) {
        int out = (far - turn + Q) % Q, in = (far - turn - 1 + Q) % Q;
        MPI_Sendrecv(panel.message + start_of(out), start_of(out + 1) - start_of(out), MPI_DOUBLE, next, panel_tag,
                     panel.message + start_of(in), start_of(in + 1) - start_of(in), MPI_DOUBLE, previous, panel_tag, row,
                     MPI_STATUS_IGNORE);
    }
#undef start_of
}

static void broadcast_panel(void)
{
    int before, next[3], count = route(&before, next);
    if (broadcasting == long_broadcast) {
        spread_panel();
        return;
    }
    if (before >= 0)
        MPI_Recv(panel.message, panel_length(), MPI_DOUBLE, (panel.root_column + before) % Q, panel_tag, row,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++)
        MPI_Send(panel.message, panel_length(), MPI_DOUBLE, (panel.root_column + next[i]) % Q, panel_tag, row);
}

/* Passes the panel on. Its first request is that of its coming. */
static void pass_panel(void)
{
    int before, next[3], count = route(&before, next);
    for (int i = 0; i < count; i++)
        MPI_Isend(panel.message, panel_length(), MPI_DOUBLE, (panel.root_column + next[i]) % Q, panel_tag, row,
                  &panel.requests[1 + i]);
    panel.sends = count;
    panel.passed = 1;
}

static void start_broadcast(void)
{
    int before, next[3];
    route(&before, next);
    panel.requests[0] = MPI_REQUEST_NULL;
    panel.sends = 0;
    panel.passed = broadcasting == long_broadcast;
    if (panel.passed)
        return;
    if (before < 0)
        pass_panel();
    else
        MPI_Irecv(panel.message, panel_length(), MPI_DOUBLE, (panel.root_column + before) % Q, panel_tag, row,
                  &panel.requests[0]);
}

/* Passes the next panel on if it has come. */
static void look_for(struct factored *next)
{
    struct factored *now = current;
    int there = 0;
    if (next == NULL || next->passed)
        return;
    MPI_Test(&next->requests[0], &there, MPI_STATUS_IGNORE);
    current = next;
    if (there)
        pass_panel();
    current = now;
}

static void end_broadcast(void)
{
    if (broadcasting == long_broadcast) {
        spread_panel();
        return;
    }
    if (!panel.passed) {
        MPI_Wait(&panel.requests[0], MPI_STATUS_IGNORE);
        pass_panel();
    }
    MPI_Waitall(panel.sends, panel.requests + 1, MPI_STATUSES_IGNORE);
}

/* ---- the rest of the rows: swap and update ---- */

/* A row on its way: where it was, and where it is going. */
struct move {
    long from, to;
};

/* Moves to the top block and out of it, in the order of the places in the column that give and get the rows, counted
 * from the root row; and where the moves of each place begin. */
static struct move *ups, *downs;
static long *up_starts, *down_starts;

static int place_of(long global_row)
{
    return (int)((global_row / nb % P - panel.root_row + P) % P);
}

/* Sorts moves by place, keeping the order of those of one place. */
static void sort_moves(struct move *moves, long count, int by_source, long *starts)
{
    struct move *sorted = room((size_t)count, sizeof *sorted);
    long at = 0;
    for (int place = 0; place < P; place++) {
        starts[place] = at;
        for (long i = 0; i < count; i++)
            if (place_of(by_source ? moves[i].from : moves[i].to) == place)
                sorted[at++] = moves[i];
    }
    starts[P] = at;
    memcpy(moves, sorted, (size_t)count * sizeof *sorted);
    free(sorted);
}

/* From the pivots, one swap after another, finds which rows come to the top and which leave it. A row below holds,
 * until it is a pivot, its own contents or those of a row of the top. */
static void plan_moves(void)
{
    long width = panel.width, down_count = 0;
    long *top = room((size_t)width, sizeof *top);
    for (long i = 0; i < width; i++)
        top[i] = panel.start + i;
    for (long i = 0; i < width; i++) {
        long chosen = (long)panel.pivots[i], leaves = top[i], t;
        if (chosen < panel.start + width) {
            t = chosen - panel.start;
            top[i] = top[t];
            top[t] = leaves;
            continue;
        }
        for (t = 0; t < down_count && downs[t].to != chosen;)
            t++;
        top[i] = t < down_count ? downs[t].from : chosen;
        if (t == down_count)
            downs[down_count++].to = chosen;
        downs[t].from = leaves;
    }
    for (long i = 0; i < width; i++)
        ups[i] = (struct move){top[i], i};
    sort_moves(ups, width, 1, up_starts);
    sort_moves(downs, down_count, 0, down_starts);
    free(top);
}

/* Copies `right` of this rank's columns from `first` on of a local row to or from a buffer. */
static void copy_row(long local, long first, long right, double *values, int store)
{
    for (long j = first; j < first + right; j++, values++)
        if (store)
            *entry(local, j) = *values;
        else
            *values = *entry(local, j);
}

/* The rows that leave the top go down a binomial tree: a place has the parts of all places from its own to before its
 * own plus the lowest bit set in it, of the root all. */
static void spread(double *buffer, long first, long right)
{
    int place = (my_row - panel.root_row + P) % P, span = 1;
    while (span < P && (place & span) == 0)
        span *= 2;
    int end = place + span < P ? place + span : P;
    long start = down_starts[place];
    if (place == 0) {
        for (long i = 0; i < down_starts[P]; i++)
            copy_row(owned(downs[i].from, my_row, P), first, right, buffer + i * right, 0);
    } else if (down_starts[end] > start) {
        MPI_Recv(buffer + start * right, (int)((down_starts[end] - start) * right), MPI_DOUBLE,
                 (place - span + panel.root_row) % P, spread_tag, column, MPI_STATUS_IGNORE);
    }
    for (int bit = span / 2; bit > 0; bit /= 2) {
        int from = place + bit, to = from + bit < P ? from + bit : P;
        if (from < P && down_starts[to] > down_starts[from])
            MPI_Send(buffer + down_starts[from] * right, (int)((down_starts[to] - down_starts[from]) * right),
                     MPI_DOUBLE, (from + panel.root_row) % P, spread_tag, column);
    }
}

/* Every place's part of the pivot rows goes around the column. */
static void roll(double *buffer, long right)
{
    int place = (my_row - panel.root_row + P) % P, next = (my_row + 1) % P, previous = (my_row + P - 1) % P;
    for (int turn = 0; turn < P - 1; turn++) {
        int out = (place - turn + P) % P, in = (place - turn - 1 + P) % P;
        long out_count = up_starts[out + 1] - up_starts[out], in_count = up_starts[in + 1] - up_starts[in];
        MPI_Sendrecv(buffer + up_starts[out] * right, (int)(out_count * right), MPI_DOUBLE,
                     out_count > 0 ? next : MPI_PROC_NULL, roll_tag, buffer + up_starts[in] * right,
                     (int)(in_count * right), MPI_DOUBLE, in_count > 0 ? previous : MPI_PROC_NULL, roll_tag, column,
                     MPI_STATUS_IGNORE);
    }
}

/* Packs or unpacks rows of the places from `from` to before `to`; returns how many values. */
static long pack(double *rows_of, const long *starts, int from, int to, long right, double *packed, int store)
{
    from = from < P ? from : P, to = to < P ? to : P;
    long count = from < to ? (starts[to] - starts[from]) * right : 0;
    if (count > 0 && store)
        memcpy(rows_of + starts[from] * right, packed, (size_t)count * sizeof *packed);
    else if (count > 0)
        memcpy(packed, rows_of + starts[from] * right, (size_t)count * sizeof *packed);
    return count;
}

/* What the cluster of `span` places from `start` on tells others: its pivot rows, and that of the root the rows that are to
 * be stored elsewhere. Places from `cube` on belong to the cluster of the place that is `cube` before. */
static long pack_cluster(double *upper, double *leaving, int start, int span, int cube, long right, double *packed,
                         int store)
{
    long count = pack(upper, up_starts, start, start + span, right, packed, store);
    count += pack(upper, up_starts, start + cube, start + cube + span, right, packed + count, store);
    if (start == 0) {
        count += pack(leaving, down_starts, span, cube, right, packed + count, store);
        count += pack(leaving, down_starts, cube + span, P, right, packed + count, store);
    }
    return count;
}

/* Spread and roll by binary exchange: clusters of 1, 2, 4 ... places in pairs. */
static void exchange_rows(double *upper, double *leaving, long first, long right)
{
    static double *out, *in;
    int place = (my_row - panel.root_row + P) % P, cube = 1;
    if (out == NULL) {
        out = room((size_t)(2 * nb * columns), sizeof *out);
        in = room((size_t)(2 * nb * columns), sizeof *in);
    }
    while (2 * cube <= P)
        cube *= 2;
    for (long i = 0; place == 0 && i < down_starts[P]; i++)
        copy_row(owned(downs[i].from, my_row, P), first, right, leaving + i * right, 0);
    int extra = place >= cube ? place : place + cube, partner = ((place >= cube ? place - cube : extra) + panel.root_row) % P;
    long own = extra < P ? pack(upper, up_starts, extra, extra + 1, right, out, 0) : 0;
    long back = (up_starts[P] + (extra < P ? down_starts[extra + 1] - down_starts[extra] : 0)) * right;
    if (place >= cube) {
        if (own > 0)
            MPI_Send(out, (int)own, MPI_DOUBLE, partner, exchange_tag, column);
        MPI_Recv(in, (int)back, MPI_DOUBLE, partner, exchange_tag, column, MPI_STATUS_IGNORE);
        long count = pack(upper, up_starts, 0, P, right, in, 1);
        pack(leaving, down_starts, extra, extra + 1, right, in + count, 1);
        return;
    }
    if (own > 0) {
        MPI_Recv(in, (int)own, MPI_DOUBLE, partner, exchange_tag, column, MPI_STATUS_IGNORE);
        pack(upper, up_starts, extra, extra + 1, right, in, 1);
    }
    for (int span = 1; span < cube; span *= 2) {
        int mine = place & ~(span - 1), theirs = mine ^ span, other = ((place ^ span) + panel.root_row) % P;
        long sent = pack_cluster(upper, leaving, mine, span, cube, right, out, 0);
        long got = pack_cluster(upper, leaving, theirs, span, cube, right, in, 0); /* its length alone */
        MPI_Sendrecv(out, (int)sent, MPI_DOUBLE, sent > 0 ? other : MPI_PROC_NULL, exchange_tag, in, (int)got, MPI_DOUBLE,
                     got > 0 ? other : MPI_PROC_NULL, exchange_tag, column, MPI_STATUS_IGNORE);
        pack_cluster(upper, leaving, theirs, span, cube, right, in, 1);
    }
    if (extra < P) {
        long count = pack(upper, up_starts, 0, P, right, out, 0);
        pack(leaving, down_starts, extra, extra + 1, right, out + count, 0);
        MPI_Send(out, (int)back, MPI_DOUBLE, partner, exchange_tag, column);
    }
}

/* Solves and multiplies for `right` columns from local column `first` on, whose pivot rows are in `u`, `wide` a row. */
static void update(double *u, long first, long right, long wide)
{
    long width = panel.width;
    int place = (my_row - panel.root_row + P) % P;
    enum { strip = 512 }; /* columns solved at once, so that they stay in a cache */
    for (long j0 = 0; j0 < right; j0 += strip) {
        long j1 = j0 + strip < right ? j0 + strip : right;
        for (long i = 1; i < width; i++)
            for (long l = 0; l < i; l++) {
                double factor = panel.top[i * width + l], *to = u + i * wide;
                const double *from = u + l * wide;
                for (long j = j0; j < j1; j++)
                    to[j] -= factor * from[j];
            }
    }
    if (place == 0)
        for (long i = 0; i < width; i++)
            copy_row(panel.first_below - width + i, first, right, u + i * wide, 1);
    subtract_product(panel.below, right, width, panel.low, panel.below, u, wide, entry(panel.first_below, first), rows);
}

/* Swaps rows and updates the columns from local column `first` to before `last`, with room for the pivot rows twice.
 * Looks for the panel `next` at times, if there is one. */
static void swap_and_update(long first, long last, double *upper, double *buffer, struct factored *next)
{
    long right = last - first, width = panel.width;
    if (right <= 0)
        return;
    int place = (my_row - panel.root_row + P) % P;
    for (long i = up_starts[place]; i < up_starts[place + 1]; i++) /* before rows from the top overwrite them */
        copy_row(owned(ups[i].from, my_row, P), first, right, upper + i * right, 0);
    int by_exchange = swapping == binary_exchange || (swapping == mix && right <= swap_threshold);
    if (by_exchange)
        exchange_rows(upper, buffer, first, right);
    else
        spread(buffer, first, right);
    for (long i = down_starts[place]; i < down_starts[place + 1]; i++)
        copy_row(owned(downs[i].to, my_row, P), first, right, buffer + i * right, 1);
    if (!by_exchange)
        roll(upper, right);
    for (long i = 0; i < width; i++) /* from the order of places to that of rows */
        memcpy(buffer + ups[i].to * right, upper + i * right, (size_t)right * sizeof *upper);
    int parts = next == NULL ? 1 : 8;
    for (int part = 0; part < parts; part++) {
        long from = right * part / parts, to = right * (part + 1) / parts;
        update(buffer + from, first + from, to - from, right);
        look_for(next);
    }
}

/* ---- back substitution ---- */

/* Hands the sums of the q - 1 blocks before block k from its column to the column of block k - 1. */
static void hand_on(long k, double *sums, double *buffer)
{
    long oldest = k - (Q - 1) > 0 ? k - (Q - 1) : 0;
    long first = owned(oldest * nb, my_row, P), count = owned(k * nb, my_row, P) - first;
    int from = (int)(k % Q), to = (from + Q - 1) % Q;
    if (Q == 1 || count <= 0)
        return;
    if (my_column == from) {
        MPI_Send(sums + first, (int)count, MPI_DOUBLE, to, sums_tag, row);
        memset(sums + first, 0, (size_t)count * sizeof *sums);
    } else if (my_column == to) {
        MPI_Recv(buffer, (int)count, MPI_DOUBLE, from, sums_tag, row, MPI_STATUS_IGNORE);
        for (long i = 0; i < count; i++)
            sums[first + i] += buffer[i];
    }
}

/* Solves U x = the last column. Leaves in `x` the blocks of this rank's column, elsewhere zero. */
static void substitute(double *x)
{
    double *sums = room((size_t)rows, sizeof *sums), *buffer = room((size_t)rows, sizeof *buffer);
    long blocks = (n + nb - 1) / nb;
    if (n / nb % Q == my_column)
        memcpy(sums, entry(0, columns - 1), (size_t)rows * sizeof *sums);
    if (n % nb == 0)
        hand_on(blocks, sums, buffer); /* b is a block of its own */
    for (long k = blocks - 1; k >= 0; k--) {
        look_at_panel(k);
        double *block = x + panel.start;
        if (my_column == panel.root_column) {
            long first_column = owned(panel.start, my_column, Q), first = owned(panel.start, my_row, P);
            if (my_row == panel.root_row) {
                memcpy(block, sums + first, (size_t)panel.width * sizeof *block);
                for (long j = panel.width - 1; j >= 0; j--) {
                    block[j] /= *entry(first + j, first_column + j);
                    for (long i = 0; i < j; i++)
                        block[i] -= *entry(first + i, first_column + j) * block[j];
                }
            }
            MPI_Bcast(block, (int)panel.width, MPI_DOUBLE, panel.root_row, column);
            for (long j = 0; j < panel.width; j++)
                for (long i = 0; i < first; i++)
                    sums[i] -= *entry(i, first_column + j) * block[j];
        }
        hand_on(k, sums, buffer);
    }
    free(sums), free(buffer);
}

/* ---- the check ---- */

/* HPL's scaled residual. Sums over columns of ranks are taken in their order, so that it is the same with every MPI. */
static double residual(const double *x)
{
    double *mine = room(2 * (size_t)rows, sizeof *mine), *all = room(2 * (size_t)(rows * Q), sizeof *all);
    long my_columns = owned(n, my_column, Q); /* without b */
    for (long j = 0; j < my_columns; j++) {
        long global_column = global(j, my_column, Q);
        for (long i = 0; i < rows; i++) {
            double a = element(global(i, my_row, P), global_column);
            mine[i] += a * x[global_column];
            mine[rows + i] += fabs(a);
        }
    }
    MPI_Gather(mine, (int)(2 * rows), MPI_DOUBLE, all, (int)(2 * rows), MPI_DOUBLE, 0, row);
    double norms[3] = {0, 0, 0}, most[3], x_norm = 0; /* of A x - b, A, b */
    for (long i = 0; my_column == 0 && i < rows; i++) {
        double b = element(global(i, my_row, P), n), sum = 0, absolute = 0;
        for (int q = 0; q < Q; q++) {
            sum += all[2 * rows * q + i];
            absolute += all[2 * rows * q + rows + i];
        }
        double found[3] = {fabs(sum - b), absolute, fabs(b)};
        for (int k = 0; k < 3; k++)
            norms[k] = isnan(found[k]) ? INFINITY : fmax(norms[k], found[k]);
    }
    MPI_Allreduce(norms, most, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (long i = 0; i < n; i++)
        x_norm = fabs(x[i]) > x_norm ? fabs(x[i]) : x_norm;
    free(mine), free(all);
    return most[0] / (DBL_EPSILON / 2 * (x_norm * most[1] + most[2]) * (double)n);
}

int main(int argc, char **argv)
{
    const char *const swaps[] = {"long", "binary_exchange", "mix"}, *const maps[] = {"row", "column"};
    const char *const broadcasts[] = {"1ring", "1ringM", "2ring", "2ringM", "long"}, *const depths[] = {"0", "1"};
    begin(&argc, &argv, "hpl [-s long|binary_exchange|mix] [-b 1ring|1ringM|2ring|2ringM|long] [-d 0|1] [-m row|column] "
                        "n [nb [p q]]");
    swapping = choice(&argc, argv, "-s", swaps, 3);
    broadcasting = choice(&argc, argv, "-b", broadcasts, 5);
    ahead = choice(&argc, argv, "-d", depths, 2);
    int by_columns = choice(&argc, argv, "-m", maps, 2);
    expect_arguments(argc, argv, 1, 4);
    if (argc == 4)
        refuse("expected q after p\n");
    n = number(argc, argv, 1, "n", 1, 1000000, 0);
    nb = (int)number(argc, argv, 2, "nb", 1, 1024, 64);
    for (P = 1; (P + 1) * (P + 1) <= size;)
        P++;
    while (size % P != 0)
        P--;
    P = (int)number(argc, argv, 3, "p", 1, 1000000, P);
    Q = (int)number(argc, argv, 4, "q", 1, 1000000, size / P);
    if ((long)P * Q != size)
        refuse("a grid of %d x %d has %ld ranks; there are %d\n", P, Q, (long)P * Q, size);
    my_row = by_columns ? rank % P : rank / Q;
    my_column = by_columns ? rank / P : rank % Q;
    rows = owned(n, my_row, P);
    columns = owned(n + 1, my_column, Q);
    long most_rows = owned(n, 0, P), most_columns = owned(n + 1, 0, Q);
    if (most_rows * nb + nb * nb + nb > INT32_MAX || most_columns * nb > INT32_MAX)
        refuse("a panel of %ld rows is more than a message can hold; take more ranks or a smaller nb\n", most_rows);
    MPI_Comm_split(MPI_COMM_WORLD, my_row, my_column, &row);
    MPI_Comm_split(MPI_COMM_WORLD, my_column, my_row, &column);

    matrix = room((size_t)rows * (size_t)columns, sizeof *matrix);
    for (long j = 0; j < columns; j++)
        for (long i = 0; i < rows; i++)
            *entry(i, j) = element(global(i, my_row, P), global(j, my_column, Q));
    for (int i = 0; i <= ahead; i++)
        both[i].message = room((size_t)((rows + nb + 1) * nb), sizeof *panel.message);
    double *upper = room((size_t)(nb * columns), sizeof *upper), *buffer = room((size_t)(nb * columns), sizeof *buffer);
    double *x = room((size_t)n, sizeof *x), *solution = room((size_t)n, sizeof *solution);
    ups = room((size_t)nb, sizeof *ups), downs = room((size_t)nb, sizeof *downs);
    up_starts = room((size_t)P + 1, sizeof *up_starts), down_starts = room((size_t)P + 1, sizeof *down_starts);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (ahead) {
        look_at_panel(0);
        if (my_column == panel.root_column)
            factor_panel();
        broadcast_panel();
    }
    for (long k = 0; k * nb < n; k++) {
        struct factored *now = current, *next = NULL;
        if (!ahead) {
            look_at_panel(k);
            if (my_column == panel.root_column)
                factor_panel();
            broadcast_panel();
        }
        long first = owned(panel.start + panel.width, my_column, Q);
        if (first < columns)
            plan_moves();
        if (ahead && (k + 1) * nb < n) {
            next = both + (k + 1) % 2;
            current = next;
            look_at_panel(k + 1);
            if (my_column == panel.root_column) {
                long width = panel.width;
                current = now;
                swap_and_update(first, first + width, upper, buffer, NULL);
                first += width;
                current = next;
                factor_panel();
            }
            start_broadcast();
            current = now;
        }
        swap_and_update(first, columns, upper, buffer, next);
        if (next != NULL) {
            current = next;
            end_broadcast();
        }
    }
    substitute(x);
    double seconds = longest(MPI_Wtime() - start);

    MPI_Allreduce(x, solution, (int)n, MPI_DOUBLE, MPI_SUM, row); /* each is not zero on one of them */
    double scaled = residual(solution);
    if (rank == 0) {
        double flops = 2.0 / 3 * (double)n * (double)n * (double)n + 1.5 * (double)n * (double)n;
        printf("hpl: n = %ld, nb = %d, %d x %d ranks\n", n, nb, P, Q);
        printf("time: %.6f s, %.3f Gflop/s\n", seconds, flops / seconds / 1e9);
        printf("scaled residual: %.4e, %s 16\n", scaled, scaled < 16 ? "below" : "NOT below");
    }
    free(matrix), free(both[0].message), free(both[1].message), free(upper), free(buffer), free(x), free(solution);
    free(ups), free(downs), free(up_starts), free(down_starts);
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
    return finish(scaled < 16);
}
