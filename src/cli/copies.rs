//! Several copies under `mpirun`: without the `mpi` transport each would simulate the whole by itself.

use super::exit::Failure;

/// What launchers tell each process of how many there are.
const SIZES: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE"];

/// Refuses to be one of several copies; `variable` reads the environment.
pub(super) fn refuse_several(variable: impl Fn(&str) -> Option<String>) -> Result<(), Failure> {
    let number = |name: &str| variable(name).and_then(|text| text.trim().parse::<u64>().ok());
    let several = SIZES
        .into_iter()
        .find_map(|name| number(name).filter(|&size| size > 1).map(|size| (name, size, format!("{size} times"))))
        // PMIx tells a process its rank only: any but the first shows that there are several.
        .or_else(|| {
            number("PMIX_RANK").filter(|&rank| rank > 0).map(|rank| ("PMIX_RANK", rank, "several times".into()))
        });
    match several {
        None => Ok(()),
        Some((name, value, times)) => Err(Failure::bad_input(format!(
            "started {times} by an MPI launcher ({name}={value}), but this version simulates in one process: \
             leave out mpirun and give --workers {} for as many threads",
            if name == "PMIX_RANK" { "W".to_owned() } else { value.to_string() }
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &'static str, value: &'static str) -> Option<String> {
        refuse_several(|asked| (asked == name).then(|| value.to_owned())).err().map(|failure| failure.text)
    }

    #[test]
    fn one_copy_is_fine_and_several_are_refused() {
        assert_eq!(text("HOME", "8"), None);
        assert_eq!(text("OMPI_COMM_WORLD_SIZE", "1"), None);
        assert_eq!(text("PMI_SIZE", "x"), None);
        assert_eq!(text("PMIX_RANK", "0"), None);
        assert_eq!(
            text("OMPI_COMM_WORLD_SIZE", "8").unwrap(),
            "started 8 times by an MPI launcher (OMPI_COMM_WORLD_SIZE=8), but this version simulates in one process: \
             leave out mpirun and give --workers 8 for as many threads"
        );
        assert!(text("PMIX_RANK", "3").unwrap().starts_with("started several times by an MPI launcher (PMIX_RANK=3)"));
    }
}
