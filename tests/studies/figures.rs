//! Tests that the errors stated in README, `validation/README.md` and the guide are those in `validation/results.csv`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Errors in percent of the compared points of a case.
#[derive(Default)]
struct Errors(Vec<f64>);

impl Errors {
    fn mean(&self) -> f64 {
        self.0.iter().map(|error| error.abs()).sum::<f64>() / self.0.len() as f64
    }

    fn max(&self) -> f64 {
        self.0.iter().fold(0.0, |most, error| most.max(error.abs()))
    }

    fn bias(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }
}

/// Returns, by case, the errors of mcpsim and of the baseline at points whose name contains `part`.
fn errors(part: &str) -> BTreeMap<String, [Errors; 2]> {
    let mut errors = BTreeMap::<String, [Errors; 2]>::new();
    let table = text("validation/results.csv");
    for cells in table.lines().map(|line| line.split(',').collect::<Vec<_>>()) {
        if cells[2] == "predicted" && cells[1].contains(part) {
            let model = usize::from(cells[3] == "two-level");
            errors.entry(cells[0].to_owned()).or_default()[model].0.push(cells[9].parse().unwrap());
        }
    }
    errors
}

/// Returns a number in the two forms that tables use: with one decimal and without decimals.
fn forms(value: f64) -> [String; 2] {
    [format!("{value:.1}"), format!("{value:.0}")]
}

#[test]
fn validation_readme_states_the_errors_of_each_case() {
    let page = text("validation/README.md");
    for (case, [mcpsim, baseline]) in errors("") {
        // Tables write zero without a sign.
        let bias = format!("{:+.1}", mcpsim.bias()).replace("-0.0", "0.0").replace("+0.0", "0.0");
        let row = format!(
            "| `{case}` | {} | {:.1}, {:.1}, {bias} | {:.1}, {:.1} |",
            mcpsim.0.len(),
            mcpsim.mean(),
            mcpsim.max(),
            baseline.mean(),
            baseline.max()
        );
        assert!(page.contains(&row), "validation/README.md: no row {row}");
    }
}

#[test]
fn readme_states_the_errors_of_its_cases() {
    let page = text("README.md");
    let errors = errors("");
    for (row, case) in [
        ("| heat3d on LCC2", "lcc2-heat3d"),
        ("| Jacobi3D on a Clovertown cluster (", "clovertown-jacobi3d"),
        ("| the same, *real code*", "lcc2-heat3d-real"),
        ("| Jacobi3D on a Clovertown cluster, *real", "clovertown-jacobi3d-real"),
        ("| twelve programs", "twelve-programs"),
        ("| HPL on Dahu", "dahu-hpl"),
        ("| ljj in the JINR cloud", "jinr-ljj"),
        ("| Jacobi on ORFEO", "orfeo-jacobi"),
        ("| windows of messages between AlaSKA's nodes, InfiniBand", "alaska-pairs-ib"),
        ("| the same, RoCE | 308", "alaska-pairs-roce"),
        ("| 4 MB at a time between Taurus' nodes", "taurus-saturation"),
        ("| windows within AlaSKA's nodes", "alaska-node"),
        ("| collectives of 64 ranks on AlaSKA", "alaska-collectives-ib"),
        ("| the same, RoCE | 54", "alaska-collectives-roce"),
        ("| four nodes in a ring", "ring-of-four"),
        ("| collectives of 128 to 512 ranks on ARCHER2", "archer2-collectives"),
    ] {
        let line = page.lines().find(|line| line.starts_with(row)).unwrap_or_else(|| panic!("README: no row {row}"));
        let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches(['|', ' ', '%'])).collect();
        let [mcpsim, baseline] = &errors[case];
        assert_eq!(cells[1], mcpsim.0.len().to_string(), "{line}");
        for (cell, value) in cells[2..].iter().zip([mcpsim.mean(), mcpsim.max(), baseline.mean(), baseline.max()]) {
            assert!(forms(value).iter().any(|form| form == cell), "{line}: {cell}, not {value}");
        }
    }
}

#[test]
fn the_page_on_the_paper_states_the_errors_of_jacobi3d() {
    let page = text("docs/evidence/paper.md");
    let [mcpsim, baseline] = &errors("")["clovertown-jacobi3d"];
    let [mean, max, base, most] = [mcpsim.mean(), mcpsim.max(), baseline.mean(), baseline.max()];
    let line =
        format!("on Clovertown: {mean:.1} % in the mean, at most {max:.1} %; the baseline {base:.1} %, {most:.1} %");
    assert!(page.contains(&line), "paper.md: no {line}");
    for variant in ["waits", "overlaps"] {
        let [mcpsim, baseline] = &errors(&format!("variant={variant}"))["clovertown-jacobi3d"];
        let [mean, max, base, most] = [mcpsim.mean(), mcpsim.max(), baseline.mean(), baseline.max()];
        let row = format!("| {variant} | {mean:.1} %, {max:.1} % | {base:.1} %, {most:.1} % |");
        assert!(page.contains(&row), "paper.md: no row {row}");
    }
}
