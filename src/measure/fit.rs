//! Piecewise linear fits of message times as functions of the message size.

use super::campaign::SURE;

/// Reduction of the sum of squared relative errors that justifies a further line of the fit. The reduction is equal to
/// that of five message sizes with errors of 1.4 %.
const PIECE: f64 = 1e-3;

/// Straight line start + per_byte · size, for message sizes up to and including `up_to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitPiece {
    /// Greatest message size of the line; `None` for the last line of a fit.
    pub up_to: Option<u64>,
    /// Seconds of a message of zero bytes on the line.
    pub start: f64,
    /// Seconds per byte of a message.
    pub per_byte: f64,
    /// True if the measured times do not determine the cost per byte. In this case `per_byte` is an upper limit.
    pub flat: bool,
}

impl FitPiece {
    /// Returns the time of a message of `bytes` bytes on the line, seconds.
    pub fn at(&self, bytes: u64) -> f64 {
        self.start + self.per_byte * bytes as f64
    }

    /// Raises the cost per byte to the detection limit. `greatest` is the greatest measured message size of the line,
    /// `next` is the cost per byte of the next line.
    fn tell_bytes(&mut self, greatest: u64, next: Option<f64>) {
        let all = self.at(greatest);
        if greatest == 0 {
            // The cost per byte is unknown, so the cost per byte of the next line is used.
            self.per_byte = next.unwrap_or(self.per_byte);
        } else if self.per_byte * (greatest as f64) < SURE * all {
            *self = FitPiece { start: all * (1.0 - SURE), per_byte: all * SURE / greatest as f64, flat: true, ..*self };
        }
    }
}

/// Lower limit of the fitted lines of message times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Floor {
    /// Least seconds of a message of zero bytes.
    pub start: f64,
    /// Least seconds per byte of the fitted lines.
    pub per_byte: f64,
}

/// Fits straight lines (pieces) to `points` (sizes increasing, seconds above zero) by least squares of relative errors,
/// with an optimal number of pieces (Bellman and Roth: Curve fitting by segmented straight lines, JASA 64, 1969). No
/// line crosses one of the `breaks`, which are measured message sizes, or is below `least`. If times do not grow with
/// the size, the line is flat: all bytes of the line's greatest size together cost the uncertainty of a median.
pub fn pieces(points: &[(u64, f64)], breaks: &[u64], least: Floor) -> Vec<FitPiece> {
    let mut found = Vec::new();
    let mut rest = points;
    for at in breaks.iter().copied().map(Some).chain([None]) {
        let end = at.map_or(rest.len(), |at| rest.partition_point(|(size, _)| *size <= at));
        let (part, further) = rest.split_at(end);
        let mut pieces = within(part, least);
        if let (Some(last), Some(at)) = (pieces.last_mut(), at.filter(|_| !further.is_empty())) {
            last.up_to = Some(at);
        }
        found.append(&mut pieces);
        rest = further;
    }
    for index in (0..found.len()).rev() {
        let next = found.get(index + 1).map(|piece: &FitPiece| piece.per_byte);
        let end = found[index].up_to;
        let inside = points.iter().map(|(size, _)| *size).filter(|size| end.is_none_or(|end| *size <= end));
        found[index].tell_bytes(inside.max().unwrap_or(0), next);
    }
    found
}

/// Fits straight lines to the points between two breaks of the fit.
fn within(points: &[(u64, f64)], least: Floor) -> Vec<FitPiece> {
    // best[n]: least cost of a fit of the first n points, and the index of the first point of the last line in this
    // fit.
    let mut best: Vec<(f64, usize)> = vec![(0.0, 0)];
    for end in 1..=points.len() {
        // A line through a single point has no slope. A line through one point is allowed only if the fit has no other
        // point, or for zero bytes.
        let alone = |start: usize| end - start == 1 && !(points.len() == 1 || (start == 0 && points[0].0 == 0));
        let costs = (0..end).filter(|start| !alone(*start)).map(|start| {
            let (cost, _) = line(&points[start..end], least);
            (best[start].0 + cost + PIECE, start)
        });
        best.push(costs.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0)));
    }
    let mut ends = Vec::new();
    let mut end = points.len();
    while end > 0 {
        ends.push((best[end].1, end));
        end = best[end].1;
    }
    ends.reverse();
    let mut pieces: Vec<FitPiece> = ends.iter().map(|&(start, end)| line(&points[start..end], least).1).collect();
    for index in 1..pieces.len() {
        let (low, high) = (points[ends[index].0 - 1].0, points[ends[index].0].0);
        pieces[index - 1].up_to = Some(border(&pieces[index - 1], &pieces[index], low, high));
    }
    pieces
}

/// Returns the border between two lines of a fit: the intersection of the lines if it is between the measured sizes,
/// otherwise the lower size.
fn border(one: &FitPiece, next: &FitPiece, low: u64, high: u64) -> u64 {
    let meet = (one.start - next.start) / (next.per_byte - one.per_byte);
    if meet >= low as f64 && meet < high as f64 { meet as u64 } else { low }
}

/// Fits a line by least squares of relative errors ; the line is not below `least`. Returns the sum of squared errors
/// and the fitted line.
fn line(points: &[(u64, f64)], least: Floor) -> (f64, FitPiece) {
    let mut sums = [0.0; 5];
    for &(size, seconds) in points {
        let (x, weight) = (size as f64, 1.0 / (seconds * seconds));
        for (sum, term) in sums.iter_mut().zip([1.0, x, x * x, seconds, x * seconds]) {
            *sum += weight * term;
        }
    }
    let [n, x, xx, y, xy] = sums;
    let determinant = n * xx - x * x;
    let free =
        (determinant > 1e-12 * n * xx).then(|| ((xx * y - x * xy) / determinant, (n * xy - x * y) / determinant));
    let (start, per_byte) = match free {
        Some((start, per_byte)) if start >= least.start && per_byte >= least.per_byte => (start, per_byte),
        Some((start, _)) if start < least.start => (least.start, ((xy - least.start * x) / xx).max(least.per_byte)),
        _ => (((y - least.per_byte * x) / n).max(least.start), least.per_byte),
    };
    let piece = FitPiece { up_to: None, start, per_byte, flat: false };
    (points.iter().map(|&(size, seconds)| (piece.at(size) / seconds - 1.0).powi(2)).sum(), piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(sizes: &[u64], law: impl Fn(f64) -> f64) -> Vec<(u64, f64)> {
        sizes.iter().map(|size| (*size, law(*size as f64))).collect()
    }

    fn near(found: f64, expected: f64, most: f64) -> bool {
        (found / expected - 1.0).abs() <= most
    }

    #[test]
    fn one_law_gives_one_piece() {
        // A message takes 2 us and 1 ns per byte.
        let points = measured(&[0, 1, 64, 1024, 65536, 1 << 20], |size| 2e-6 + 1e-9 * size);
        let found = pieces(&points, &[], Floor::default());
        assert_eq!((found.len(), found[0].up_to), (1, None));
        assert!(near(found[0].start, 2e-6, 1e-9) && near(found[0].per_byte, 1e-9, 1e-9), "{found:?}");
    }

    #[test]
    fn two_laws_are_told_apart_and_meet_where_they_do() {
        // A message takes 1 us + 2 ns per byte up to 1000 B, and 2.5 us + 0.5 ns per byte above; both formulas yield 3
        // us at 1000 B.
        let law = |size: f64| if size <= 1000.0 { 1e-6 + 2e-9 * size } else { 2.5e-6 + 0.5e-9 * size };
        let points = measured(&[0, 8, 64, 256, 512, 768, 2048, 4096, 16384, 65536], law);
        let found = pieces(&points, &[], Floor::default());
        assert_eq!(found.len(), 2, "{found:?}");
        assert!((999..=1000).contains(&found[0].up_to.unwrap()), "{found:?}");
        assert!(near(found[0].per_byte, 2e-9, 1e-6) && near(found[1].start, 2.5e-6, 1e-6), "{found:?}");
    }

    #[test]
    fn a_break_is_kept_whatever_fits() {
        let points = measured(&[1, 64, 1000, 1001, 4096, 65536], |size| 1e-6 + 1e-9 * size);
        let found = pieces(&points, &[1000], Floor::default());
        assert_eq!(found.iter().map(|piece| piece.up_to).collect::<Vec<_>>(), [Some(1000), None]);
        // A break of the fit beyond all measured message sizes has no effect.
        assert_eq!(pieces(&points, &[1 << 20], Floor::default()).len(), 1);
    }

    #[test]
    fn noise_makes_no_pieces_and_no_negative_costs() {
        let noise = [0.01, -0.008, 0.004, -0.01, 0.007, 0.0, -0.005, 0.009, -0.003, 0.006];
        let sizes = [0, 1, 8, 64, 256, 1024, 4096, 16384, 65536, 1 << 18];
        let mut points = measured(&sizes, |size| 5e-6 + 2e-10 * size);
        points.iter_mut().zip(noise).for_each(|(point, noise)| point.1 *= 1.0 + noise);
        let found = pieces(&points, &[], Floor::default());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(near(found[0].start, 5e-6, 0.01) && near(found[0].per_byte, 2e-10, 0.02), "{found:?}");
        let falling = pieces(&measured(&[1, 2, 4], |size| 3e-6 - 1e-8 * size), &[], Floor::default());
        assert_eq!((falling.len(), falling[0].flat), (1, true));
        let steep =
            pieces(&measured(&[100, 200], |size| 1e-9 * size - 5e-8), &[], Floor { start: 1e-9, per_byte: 0.0 });
        assert!(steep[0].start == 1e-9 && steep[0].per_byte > 0.0, "{steep:?}");
    }

    #[test]
    fn where_times_do_not_grow_bytes_cost_what_a_median_is_sure_to_at_most() {
        // The detectable cost of 8 B is 0.4 % of 1 us, which is 2 GB/s.
        let alone = pieces(&[(8, 1e-6)], &[], Floor::default());
        assert!(alone[0].flat && near(1.0 / alone[0].per_byte, 2e9, 1e-9), "{alone:?}");
        assert!(near(alone[0].at(8), 1e-6, 1e-9));
        // A message takes 1 us up to 64 B, and 2 us and 1 ns per byte above. The detectable cost of 64 B is 0.4 % of 1
        // us, 16 GB/s, and the fit has at no message size an error of more than 0.4 %.
        let law = |size: f64| if size <= 64.0 { 1e-6 } else { 2e-6 + 1e-9 * size };
        let points = measured(&[0, 8, 16, 32, 64, 128, 1024, 8192, 65536], law);
        let found = pieces(&points, &[], Floor::default());
        assert_eq!(found.iter().map(|piece| piece.flat).collect::<Vec<_>>(), [true, false], "{found:?}");
        assert!(near(1.0 / found[0].per_byte, 16e9, 1e-9), "{found:?}");
        assert!(points[..5].iter().all(|&(size, seconds)| near(found[0].at(size), seconds, 0.00401)));
        // An empty message alone does not determine the cost per byte, so the cost per byte of the next line is used.
        let start = pieces(
            &measured(&[0, 64, 1024, 65536], |size| if size == 0.0 { 1e-7 } else { 1e-6 + 1e-9 * size }),
            &[],
            Floor::default(),
        );
        assert_eq!((start.len(), start[0].flat), (2, false), "{start:?}");
        assert!(near(start[0].per_byte, 1e-9, 1e-6), "{start:?}");
    }

    #[test]
    fn no_piece_is_faster_than_the_wire() {
        // A message takes 1 us and 1 ns per byte, but messages of middle sizes take half of the byte cost. On a wire of
        // 1 GB/s the fit must explain the lower cost by the start time, not by the slope.
        let points =
            measured(&[0, 1000, 2000, 4000, 8000], |size| 1e-6 + 1e-9 * size.max(1000.0) * 0.5 + 0.5e-9 * size);
        let wire = Floor { start: 0.0, per_byte: 1e-9 };
        assert!(pieces(&points, &[], wire).iter().all(|piece| piece.per_byte >= 1e-9));
        let law = measured(&[64, 1024, 65536], |size| 1e-6 + 2e-9 * size);
        assert!(near(pieces(&law, &[], wire)[0].per_byte, 2e-9, 1e-9));
    }
}
