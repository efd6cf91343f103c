//! Headings of the settings in `--help`.

/// Heading under which `--help` lists a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// Heading of the settings of the simulated machine.
    Machine,
    /// Heading of the settings of the number and placement of ranks.
    Ranks,
    /// Heading of the settings of the simulation.
    Run,
    /// Heading of the settings of the results.
    Results,
    /// Heading of the settings of real programs.
    Programs,
}

impl Heading {
    /// Returns the text of the heading.
    pub fn text(self) -> &'static str {
        match self {
            Heading::Machine => "Machine",
            Heading::Ranks => "Ranks",
            Heading::Run => "Run",
            Heading::Results => "Results",
            Heading::Programs => "Real programs",
        }
    }
}
