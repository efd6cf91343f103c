//! Keys `threads` and `sibling_slowdown` of the table `[core]` of a platform file.

use crate::config::{ConfigError, Document};

use super::super::HardwareThreads;
use super::CoreFile;
use super::values::PerLoad;

/// Returns the hardware threads of a core as the table `[core]` states them.
pub(super) fn threads(document: &Document, core: &CoreFile) -> Result<HardwareThreads, ConfigError> {
    let count = core.threads.unwrap_or(1);
    let most = HardwareThreads::MOST;
    if !(1..=most).contains(&count) {
        return Err(document.expected("core.threads", format!("from 1 to {most} hardware threads per core"), count));
    }
    let Some(stated) = &core.sibling_slowdown else {
        return match count {
            1 => Ok(HardwareThreads::default()),
            _ => {
                let expected = "also \"sibling_slowdown\" such as 1.6, the slowdown of a thread with a busy sibling,";
                Err(document.expected("core.threads", expected, format!("{count} and no \"sibling_slowdown\"")))
            }
        };
    };
    let factors: Vec<f64> = match stated {
        PerLoad::All(factor) => vec![factor.0],
        PerLoad::Each(factors) => factors.iter().map(|factor| factor.0).collect(),
    };
    let listed = || {
        let each: Vec<String> = factors.iter().map(f64::to_string).collect();
        format!("[{}]", each.join(", "))
    };
    if count == 1 {
        let expected = "\"threads\" above 1 in [core]";
        return Err(document.expected("core.sibling_slowdown", expected, listed()));
    }
    HardwareThreads::new(count, factors.clone()).ok_or_else(|| {
        let expected = format!(
            "a factor of at least 1, or a non-decreasing list for 1 to {} busy siblings, such as 1.6,",
            count - 1
        );
        document.expected("core.sibling_slowdown", expected, listed())
    })
}
