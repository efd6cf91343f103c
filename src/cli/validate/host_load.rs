//! Reliability of measured wall-clock times, which are longer if other programs use the host.

/// Relative spread of repeated predictions above which a note is printed.
const MOST_SPREAD: f64 = 0.1;

/// Returns the note on a validation that timed code. `turns` contains the repeated predictions of each run. `load` is
/// the mean number of runnable processes on the host in the last minute, if it is known.
pub(super) fn hint(turns: &[Vec<f64>], load: Option<f64>, cores: usize) -> Option<String> {
    let spread = turns.iter().filter_map(|turns| spread(turns)).fold(0.0, f64::max);
    let busy = load.filter(|&load| load > cores as f64);
    let s = if cores == 1 { "" } else { "s" };
    let why = match busy {
        Some(load) => format!("{load:.1} processes competed for the {cores} core{s} of this host"),
        None if spread > MOST_SPREAD => format!("repetitions of one run differ by {:.0}%", spread * 100.0),
        None => return None,
    };
    Some(format!(
        "the program was timed while {why}: the measured code may be too slow; validate again when nothing \
                  else runs on this host"
    ))
}

/// Returns the relative spread of `values`: the difference between the greatest and the least value, divided by the
/// median.
fn spread(turns: &[f64]) -> Option<f64> {
    let mut sorted = turns.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().filter(|median| *median > 0.0)?;
    Some((sorted.last()? - sorted.first()?) / median)
}

/// Returns the mean number of runnable processes on the host in the last minute, as Linux reports it.
pub(super) fn load() -> Option<f64> {
    of_account(&std::fs::read_to_string("/proc/loadavg").ok()?)
}

fn of_account(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loaded_host_and_scattered_times_get_a_hint() {
        let quiet = [vec![1.0, 1.02, 1.05], vec![0.0, 0.0, 0.0], vec![]];
        assert_eq!(hint(&quiet, Some(2.0), 2), None);
        assert_eq!(hint(&quiet, None, 2), None);
        let end = "the measured code may be too slow; validate again when nothing else runs on this host";
        assert_eq!(
            hint(&quiet, Some(7.25), 2).unwrap(),
            format!("the program was timed while 7.2 processes competed for the 2 cores of this host: {end}")
        );
        assert_eq!(
            hint(&[vec![1.0, 1.5, 1.2]], Some(0.3), 2).unwrap(),
            format!("the program was timed while repetitions of one run differ by 42%: {end}")
        );
    }

    #[test]
    fn the_load_is_the_first_number_of_linux_account() {
        assert_eq!(of_account("1.53 1.10 0.90 3/411 12345\n"), Some(1.53));
        assert_eq!(of_account(""), None);
    }
}
