//! Points of a study: the Cartesian product of the steps of the study's axes.

use crate::config::{ConfigError, Override};

use super::Axis;

/// Maximum number of points in a study, because the list of points must fit in memory.
const MOST_POINTS: usize = 1_000_000;

/// Axes of a study; the last axis varies fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyPlan {
    axes: Vec<Axis>,
    points: usize,
}

/// A point of a study: one simulation run.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Index of the point in the order of the study's points.
    pub index: usize,
    /// Value of the point in each column that identifies points, as text.
    pub values: Vec<String>,
    /// Overrides of settings that define the point.
    pub overrides: Vec<Override>,
}

impl StudyPlan {
    /// Creates the points of a study as the Cartesian product of `axes`.
    ///
    /// # Errors
    /// A key varies on two axes, or the study has more than a million points.
    pub fn new(axes: Vec<Axis>) -> Result<StudyPlan, ConfigError> {
        let mut keys: Vec<&String> = axes.iter().flat_map(Axis::keys).collect();
        keys.sort_unstable();
        if let Some(pair) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(ConfigError::new(format!("{} varies twice: expected one list of its values", pair[0])));
        }
        let points = axes.iter().try_fold(1usize, |all, axis| all.checked_mul(axis.steps()));
        match points.filter(|&points| points <= MOST_POINTS) {
            Some(points) => Ok(StudyPlan { axes, points }),
            None => Err(ConfigError::new(format!(
                "expected a study of at most {MOST_POINTS} points; this study has \
                                                  more"
            ))),
        }
    }

    /// Returns the axes of the study.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Returns the names of the columns that identify points: the keys of all axes in order.
    pub fn columns(&self) -> Vec<String> {
        self.axes.iter().flat_map(Axis::keys).cloned().collect()
    }

    /// Returns the number of points in the study, at least one.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Returns the point of the study at `index`.
    ///
    /// # Panics
    /// The function panics if `index` is not less than the number of points.
    pub fn point(&self, index: usize) -> Point {
        assert!(index < self.points, "point {index} of {}", self.points);
        let mut steps = vec![0; self.axes.len()];
        let mut rest = index;
        for (step, axis) in steps.iter_mut().zip(&self.axes).rev() {
            *step = rest % axis.steps();
            rest /= axis.steps();
        }
        let at = || self.axes.iter().zip(&steps);
        Point {
            index,
            values: at().flat_map(|(axis, &step)| axis.texts(step)).collect(),
            overrides: at().flat_map(|(axis, &step)| axis.overrides(step)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(axes: &[&str]) -> Result<StudyPlan, String> {
        let axes = axes.iter().map(|text| Axis::parse(text).unwrap()).collect();
        StudyPlan::new(axes).map_err(|error| error.to_string())
    }

    #[test]
    fn the_last_axis_varies_fastest() {
        let plan = plan(&["app.a=1,2", "app.b=x,y,z"]).unwrap();
        assert_eq!(plan.columns(), ["app.a", "app.b"]);
        let values: Vec<String> = (0..plan.points()).map(|index| plan.point(index).values.concat()).collect();
        assert_eq!(values, ["1x", "1y", "1z", "2x", "2y", "2z"]);
        let texts: Vec<String> = plan.point(5).overrides.into_iter().map(|over| over.text).collect();
        assert_eq!(texts, ["app.a=2", "app.b=z"]);
    }

    #[test]
    fn a_study_without_axes_is_one_point() {
        let plan = plan(&[]).unwrap();
        assert_eq!((plan.points(), plan.point(0).values.len()), (1, 0));
    }

    #[test]
    fn keys_that_vary_twice_and_too_many_points_are_refused() {
        let error = plan(&["app.a=1,2", "app.b=1,2 & app.a=3,4"]).unwrap_err();
        assert_eq!(error, "app.a varies twice: expected one list of its values");
        let error = plan(&["app.a=1..1001", "app.b=1..1000"]).unwrap_err();
        assert_eq!(error, "expected a study of at most 1000000 points; this study has more");
        assert_eq!(plan(&["app.a=1..1000", "app.b=1..1000"]).unwrap().points(), 1_000_000);
    }
}
