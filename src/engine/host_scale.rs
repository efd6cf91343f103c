//! Range of the factors between the times of real code on the host and on the target.

use serde::{Deserialize, Serialize};

use mcpsim_base::units::SimTime;

/// Range of the factors on the times of real code, from the rates of the host's cores and of the target's cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostScale {
    /// Name of the host's processor.
    pub processor: String,
    /// The smaller of the factors of dense arithmetic and of streaming.
    pub low: f64,
    /// The greater of the two factors.
    pub high: f64,
    /// Predicted times with the smaller and with the greater factor, if simulated.
    #[serde(default, rename = "predicted_ps")]
    pub predicted: Option<[SimTime; 2]>,
}

impl HostScale {
    /// Returns the geometric mean of both factors, with which the program is simulated.
    pub fn middle(&self) -> f64 {
        (self.low * self.high).sqrt()
    }
}
