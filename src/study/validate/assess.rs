//! Assessment of a validation case: calibrates parameters on some measured points, and predicts the other points.

use std::collections::BTreeMap;

use crate::config::{ConfigError, Override};
use crate::platform::Effect;

use super::effects::{self, states_an_effect};
use super::fit::GoldenSection;
use super::interval;
use super::{
    Calibrate, Calibrated, Case, CasePoints, Coverage, EffectErrors, EffectsFound, ErrorSummary, LikelyRange,
    MeasuredPoint, MeasuredTable, ModelErrors, OrderFound, PointInterval, PredictedTime, Role, ValidatedPoint,
    Validation,
};

/// Request to predict a run in seconds.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// Settings of the requested run.
    pub set: Vec<Override>,
    /// Settings of a second run, in addition to those of the requested run. The time of the second run is subtracted.
    pub minus: Vec<Override>,
    /// Machine effects that are switched off in the requested run.
    pub without: Vec<Effect>,
    /// Label of the requested run in messages and progress output.
    pub label: String,
}

/// Optional parts of the assessment of a validation case.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Number of runs with noise per point, which overrides the case file. Prediction intervals need two runs.
    pub repeats: Option<u32>,
    /// Machine effects that are switched off one at a time.
    pub effects: Option<&'a [Effect]>,
}

/// Assesses the validation case `case` with each communication model in `models`. `predict` returns the predicted
/// times of runs with a model, in the order of the runs.
///
/// All communication models are calibrated on the same points, so the models are compared at their best.
///
/// # Errors
/// Errors of `predict`, a parameter that cannot be calibrated, or a validation case without points to predict.
pub fn assess<E: From<ConfigError>>(
    case: &Case,
    table: &MeasuredTable,
    points: &CasePoints,
    models: &[&str],
    wanted: Wanted<'_>,
    mut predict_times: impl FnMut(&str, &[Ask]) -> Result<Vec<PredictedTime>, E>,
) -> Result<Validation, E> {
    if !points.all.iter().any(|point| point.role == Role::Predicted) {
        let why = "no measured row is left to predict: all rows are calibrated on, left out or not selected";
        return Err(ConfigError::new(format!("{}: {why}", case.file)).into());
    }
    let counted: Vec<&MeasuredPoint> =
        points.all.iter().filter(|point| !matches!(point.role, Role::LeftOut(_))).collect();
    let mut judged: Vec<ValidatedPoint> = counted.iter().map(|point| ValidatedPoint::unpredicted(point)).collect();
    let mut found = Vec::new();
    let mut found_effects = None;
    for (index, model) in models.iter().enumerate() {
        let mut fits = Fits::default();
        let mut predict = |asks: &[Ask]| PredictedTime::seconds(predict_times(model, asks));
        for calibrate in &case.calibrate {
            fits.add(case, calibrate, points, index > 0, &mut predict)?;
        }
        let asks = counted.iter().map(|point| fits.ask(case, point, &points.columns)).collect::<Result<Vec<_>, _>>()?;
        for ((point, judged), time) in counted.iter().zip(&mut judged).zip(predict_times(model, &asks)?) {
            judged.predicted_s.push(point.predicted(time.seconds));
            judged.dominant = judged.dominant.or(time.dominant);
        }
        if index == 0 {
            let mut predict = |asks: &[Ask]| PredictedTime::seconds(predict_times(model, asks));
            intervals(case, wanted.repeats, &counted, &asks, &mut judged, &mut predict)?;
            if let Some(present) = wanted.effects {
                let unfitted = fits.without_effects();
                found_effects = Some(worth(case, points, present, &unfitted, &counted, &judged, &mut predict)?);
            }
        }
        found.push(errors(case, model, index, fits.found, &judged));
    }
    let likely = LikelyRange::of(&judged, &counted);
    judged.iter_mut().zip(likely).for_each(|(point, likely)| point.likely = likely);
    let mut left_out = BTreeMap::new();
    for point in &points.all {
        if let Role::LeftOut(because) = &point.role {
            *left_out.entry(because.clone()).or_default() += 1;
        }
    }
    Ok(Validation {
        mcpsim: env!("CARGO_PKG_VERSION").to_owned(),
        case: case.name.clone(),
        about: case.about.clone(),
        measured: table.told.clone(),
        provenance: case.provenance.clone(),
        limit: case.limit,
        columns: points.columns.iter().filter(|column| case.shows(column)).cloned().collect(),
        plot: case.plot.clone(),
        models: found,
        coverage: Coverage::of_noise(&judged),
        likely: Coverage::of_likely(&judged),
        effects: found_effects,
        points: judged,
        left_out,
    })
}

/// Adds prediction intervals, computed from runs with noise, to predicted points.
fn intervals<E>(
    case: &Case,
    repeats: Option<u32>,
    counted: &[&MeasuredPoint],
    asks: &[Ask],
    judged: &mut [ValidatedPoint],
    predict: &mut impl FnMut(&[Ask]) -> Result<Vec<f64>, E>,
) -> Result<(), E> {
    let Some(noise) = &case.interval else { return Ok(()) };
    let runs = repeats.unwrap_or(noise.runs);
    if runs < 2 {
        return Ok(());
    }
    let predicted: Vec<usize> = (0..judged.len()).filter(|&place| !judged[place].given).collect();
    let noisy: Vec<Ask> = predicted.iter().flat_map(|&place| interval::noisy(&asks[place], &noise.set, runs)).collect();
    let seconds = predict(&noisy)?;
    for (place, seconds) in predicted.into_iter().zip(seconds.chunks(runs as usize)) {
        let seconds: Vec<f64> = seconds.iter().map(|seconds| counted[place].predicted(*seconds)).collect();
        judged[place].interval = Some(PointInterval::of(&seconds, counted[place]));
    }
    Ok(())
}

/// Returns the contribution of each machine effect in `present` to the accuracy of predictions.
fn worth<E: From<ConfigError>>(
    case: &Case,
    points: &CasePoints,
    present: &[Effect],
    fits: &Fits<'_>,
    counted: &[&MeasuredPoint],
    judged: &[ValidatedPoint],
    predict: &mut impl FnMut(&[Ask]) -> Result<Vec<f64>, E>,
) -> Result<EffectsFound, E> {
    let left_out = case.calibrate.iter().filter(|calibrate| states_an_effect(calibrate));
    let mut found = EffectsFound { left_out: left_out.map(|of| of.key.clone()).collect(), rows: Vec::new() };
    for (name, about, without) in effects::wanted(present) {
        let ask = |point: &&MeasuredPoint| {
            fits.ask(case, point, &points.columns).map(|ask| Ask { without: without.clone(), ..ask })
        };
        let asks = counted.iter().map(ask).collect::<Result<Vec<_>, _>>()?;
        let seconds = predict(&asks)?.iter().zip(counted).map(|(seconds, point)| point.predicted(*seconds)).collect();
        found.rows.push(EffectErrors::of((name, about), judged, case.group.as_ref(), seconds));
    }
    Ok(found)
}

fn errors(case: &Case, model: &str, index: usize, calibrated: Vec<Calibrated>, all: &[ValidatedPoint]) -> ModelErrors {
    let predicted = || all.iter().filter(|point| !point.given);
    let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut orders: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for point in predicted() {
        let group = case.group.as_ref().map_or("", |column| point.values[column].as_str());
        orders.entry(group).or_default().push((point.measured_s, point.predicted_s[index]));
    }
    if let Some(column) = &case.group {
        for point in predicted() {
            groups.entry(point.values[column].clone()).or_default().push(point.error_percent(index));
        }
    }
    ModelErrors {
        model: model.to_owned(),
        calibrated,
        all: ErrorSummary::over(predicted().map(|point| point.error_percent(index))),
        groups: groups.into_iter().map(|(group, errors)| (group, ErrorSummary::over(errors))).collect(),
        order: OrderFound::of(orders.into_values()),
    }
}

/// Parameters of a validation case that are calibrated so far.
#[derive(Clone, Debug, Default)]
struct Fits<'a> {
    done: Vec<&'a Calibrate>,
    found: Vec<Calibrated>,
}

impl<'a> Fits<'a> {
    /// Returns the calibrated parameters that are not machine effects.
    fn without_effects(&self) -> Fits<'a> {
        let mut fits = self.clone();
        fits.done.retain(|calibrate| !states_an_effect(calibrate));
        fits
    }

    /// Returns the request of the run at `point` with all calibrated parameters.
    fn ask(&self, case: &Case, point: &MeasuredPoint, columns: &[String]) -> Result<Ask, ConfigError> {
        let mut set = point.set.clone();
        for calibrate in self.done.iter().filter(|done| point.is_in(&done.applies_to)) {
            let key = &calibrate.key;
            let own = |found: &&Calibrated| {
                found.key == *key && found.by.iter().all(|(column, cell)| point.cells.get(column) == Some(cell))
            };
            let found = self.found.iter().find(own).ok_or_else(|| {
                let label = point.label(columns);
                ConfigError::new(format!(
                    "{}: {key} has no calibrated value for {label}: no calibration row is like this point",
                    case.file
                ))
            })?;
            set.push(setting(key, &found.value));
        }
        Ok(Ask { set, minus: point.minus.clone(), label: point.label(columns), ..Ask::default() })
    }

    /// Calibrates a further parameter of the validation case.
    fn add<E: From<ConfigError>>(
        &mut self,
        case: &Case,
        calibrate: &'a Calibrate,
        points: &CasePoints,
        is_baseline: bool,
        mut predict: impl FnMut(&[Ask]) -> Result<Vec<f64>, E>,
    ) -> Result<(), E> {
        let wrong =
            |what: String| E::from(ConfigError::new(format!("{}: calibrating {}: {what}", case.file, calibrate.key)));
        let mut kinds: BTreeMap<Vec<&str>, Vec<&MeasuredPoint>> = BTreeMap::new();
        for point in points.all.iter().filter(|point| point.is_in(&calibrate.rows)) {
            kinds
                .entry(calibrate.by.iter().map(|column| point.cells[column].as_str()).collect())
                .or_default()
                .push(point);
        }
        if kinds.is_empty() {
            return Err(wrong("no measured row matches \"rows\"".to_owned()));
        }
        let [least, most] = calibrate.between;
        let mut searches: Vec<_> =
            kinds.into_iter().map(|(kind, points)| (kind, points, GoldenSection::new(least, most))).collect();
        let trial = |fits: &Fits, point: &MeasuredPoint, value: f64| -> Result<Ask, ConfigError> {
            let mut ask = fits.ask(case, point, &points.columns)?;
            ask.set.push(setting(&calibrate.key, &text(value, &calibrate.unit)));
            Ok(ask)
        };
        loop {
            // The searches for all values of the parameter advance together, so that their runs are concurrent.
            let mut asks = Vec::new();
            for (_, points, search) in &searches {
                let Some(value) = search.next() else { continue };
                for point in points {
                    asks.push(trial(self, point, value)?);
                }
            }
            if asks.is_empty() {
                break;
            }
            let mut seconds = predict(&asks)?.into_iter();
            for (_, points, search) in &mut searches {
                let Some(value) = search.next() else { continue };
                let off = points.iter().map(|point| {
                    let predicted = point.predicted(seconds.next().unwrap_or(f64::NAN));
                    (predicted / point.median()).ln().powi(2)
                });
                let sum = off.sum();
                search.tell(value, sum);
            }
        }
        // A baseline model without the parameter predicts the same time for all values, and is not calibrated.
        if is_baseline && searches.iter().all(|(.., search)| search.is_flat()) {
            return Ok(());
        }
        let mut found = Vec::new();
        for (kind, points, search) in searches {
            let by: BTreeMap<String, String> =
                calibrate.by.iter().cloned().zip(kind.into_iter().map(str::to_owned)).collect();
            if search.at_an_end() && !(is_baseline && search.is_flat()) {
                let with: Vec<String> = by.iter().map(|(column, cell)| format!(" with {column}={cell}")).collect();
                return Err(wrong(format!(
                    "the best value{} is at an end of between = [{least}, {most}]: widen this range",
                    with.concat()
                )));
            }
            let asks = points.iter().map(|point| trial(self, point, search.best())).collect::<Result<Vec<_>, _>>()?;
            let seconds = predict(&asks)?;
            let squares =
                seconds.iter().zip(&points).map(|(s, point)| (point.predicted(*s) / point.median() - 1.0).powi(2));
            let residual_percent = (squares.sum::<f64>() / points.len() as f64).sqrt() * 100.0;
            let value = text(search.best(), &calibrate.unit);
            found.push(Calibrated { key: calibrate.key.clone(), by, value, points: points.len(), residual_percent });
        }
        self.found.extend(found);
        self.done.push(calibrate);
        Ok(())
    }
}

/// Formats the value of a parameter with six digits and its unit.
fn text(value: f64, unit: &str) -> String {
    let digits = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let number = format!("{value:.digits$}");
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

fn setting(key: &str, value: &str) -> Override {
    Override::parse(&format!("{key}={value}")).expect("the key was looked at with the case")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Document;

    const CASE: &str = "about = \"a\"\napp = \"a.toml\"\nmeasured = \"m.csv\"\ntime = \"t\"\ngroup = \"kind\"\n\
        [columns]\nranks = \"run.ranks\"\n[limit]\nmean_percent = 3\nmax_percent = 6\n\
        [[calibrate]]\nkey = \"app.work\"\nunit = \"s\"\nrows = { ranks = 1 }\nby = [\"kind\"]\nbetween = [0.01, 1000]\n\
        [[calibrate]]\nkey = \"app.start\"\nunit = \"s\"\nrows = { ranks = 2, kind = \"a\" }\nbetween = [0.01, 1000]\n\
        [provenance]\napp = \"own\"\n\"app.work\" = \"b\"\n\"app.start\" = \"c\"\n";
    const HEAD: &str = "# source: s\n# machine: m\n# date: d\n# licence: l\nkind,ranks,t\n";

    /// Predicts a run of a test machine: the time is work / ranks, plus a start time if there are several ranks.
    fn model(asks: &[Ask]) -> Result<Vec<PredictedTime>, ConfigError> {
        let value = |ask: &Ask, key: &str| {
            let found = ask.set.iter().rev().find(|over| over.key.join(".") == key)?;
            found.value.as_str().map_or_else(
                || found.value.as_float().or(found.value.as_integer().map(|n| n as f64)),
                |text| text.trim_end_matches(" s").parse().ok(),
            )
        };
        let run = |ask: &Ask| {
            let ranks = value(ask, "run.ranks").unwrap();
            let start = if ranks > 1.0 { value(ask, "app.start").unwrap_or(0.0) } else { 0.0 };
            // Noise adds a tenth to the time per seed, the effect of progress by calls adds the time `calls`, and the
            // effect of connections adds the time `connect`.
            let noise =
                value(ask, "app.noise").map_or(1.0, |noise| 1.0 + noise * value(ask, "run.seed").unwrap_or(0.0));
            let calls =
                if ask.without.contains(&Effect::Progress) { 0.0 } else { value(ask, "app.calls").unwrap_or(0.0) };
            let connect = value(ask, "app.connect").unwrap_or(0.0);
            let seconds = noise * (value(ask, "app.work").unwrap_or(1.0) / ranks + start + calls + connect);
            PredictedTime { seconds, dominant: None }
        };
        Ok(asks.iter().map(run).collect())
    }

    fn judged(case: &str, rows: &str) -> Result<Validation, String> {
        judged_with(case, rows, Wanted::default())
    }

    fn judged_with(case: &str, rows: &str, wanted: Wanted<'_>) -> Result<Validation, String> {
        let case = Case::load(&Document::parse("case.toml", case).unwrap(), "c").unwrap();
        let table = MeasuredTable::parse("m.csv", &format!("{HEAD}{rows}")).unwrap();
        let points = CasePoints::new(&case, &table).unwrap();
        assess(&case, &table, &points, &["mcpsim"], wanted, |_, asks| model(asks))
            .map_err(|error: ConfigError| error.to_string())
    }

    #[test]
    fn what_is_given_is_calibrated_and_the_rest_is_predicted_with_it() {
        // The programs have the work 100 and 40 and the start time 5, so predictions are 30 and 15, not 33 and 12.
        let found = judged(CASE, "a,1,100\nb,1,40\na,2,55\na,4,33\nb,4,12\n").unwrap();
        let model = &found.models[0];
        let values: Vec<_> = model.calibrated.iter().map(|found| (found.key.as_str(), found.value.as_str())).collect();
        let near =
            |text: &str, wanted: f64| (text.trim_end_matches(" s").parse::<f64>().unwrap() / wanted - 1.0).abs() < 1e-4;
        assert!(near(values[0].1, 100.0) && near(values[1].1, 40.0) && near(values[2].1, 5.0), "{values:?}");
        assert_eq!((model.all.points, model.groups.len()), (2, 2));
        assert!((model.groups["a"].bias_percent + 100.0 / 11.0).abs() < 0.01, "{model:?}");
        assert!((model.groups["b"].max_percent - 25.0).abs() < 0.01, "{model:?}");
        let given: Vec<bool> = found.points.iter().map(|point| point.given).collect();
        assert_eq!(given, [true, true, true, false, false]);
        assert!(!found.passes());
    }

    #[test]
    fn an_interval_holds_measured_runs_or_does_not() {
        let noise = "[interval]\nruns = 3\nset = { app.noise = 0.1 }\n";
        let case = CASE.replace("[provenance]\n", &format!("{noise}[provenance]\n\"app.noise\" = \"n\"\n"));
        // The test program has the work 100 and the start time 5, so a run on four ranks takes 30. With seeds 0 to 2
        // the runs take 30, 33 and 36: 33 ± 4.303 × 3 × √(4/3).
        let rows = "a,1,100\na,2,55\na,4,33\na,4,47\na,4,90\na,8,17.5\n";
        let found = judged_with(&case, rows, Wanted::default()).unwrap();
        let of = found.points[2].interval.unwrap();
        assert!((of.mean_s - 33.0).abs() < 0.01 && (of.deviation_s - 3.0).abs() < 0.01, "{of:?}");
        assert!((of.interval_s[0] - 18.1).abs() < 0.05 && (of.interval_s[1] - 47.9).abs() < 0.05, "{of:?}");
        assert_eq!((of.runs, of.measured_inside), (3, 2));
        assert_eq!(found.points[0].interval, None, "it is given");
        let all = found.coverage.unwrap();
        assert_eq!((all.points, all.points_inside, all.runs, all.runs_inside), (2, 2, 4, 3));
        assert_eq!((all.runs_percent(), all.points_percent()), (75.0, 100.0));
        // The prediction of the point is made without noise.
        assert!((found.points[2].predicted_s[0] - 30.0).abs() < 0.01);
        let none = judged_with(&case, rows, Wanted { repeats: Some(0), effects: None }).unwrap();
        assert_eq!((none.coverage, none.points[2].interval), (None, None));
        let more = judged_with(&case, rows, Wanted { repeats: Some(5), effects: None }).unwrap();
        assert_eq!(more.points[2].interval.unwrap().runs, 5);
        assert_eq!(judged(CASE, rows).unwrap().coverage, None, "the case states no noise");
    }

    #[test]
    fn the_errors_of_other_points_say_where_runs_are_likely_to_lie() {
        // Ten points have two or more ranks. One measured time is twice the prediction, the others are 10 % above it.
        let row = |ranks: u32| {
            format!("a,{ranks},{}\n", (100.0 / f64::from(ranks) + 5.0) * if ranks == 7 { 2.0 } else { 1.1 })
        };
        let rows: String =
            ["a,1,100\n".to_owned(), "a,2,55\n".to_owned()].into_iter().chain((3..13).map(row)).collect();
        let found = judged(CASE, &rows).unwrap();
        let likely = |place: usize| found.points[place].likely;
        assert_eq!(likely(0), None, "it is given");
        let of =
            |place: usize| likely(place).unwrap().interval_s.map(|bound| bound / found.points[place].predicted_s[0]);
        // The likely range of the slow point is derived from the other points, so the slow point is outside the range.
        // The bounds of the other points' ranges are at most 2 times and at least 1.1 times the predictions.
        let slow = likely(6).unwrap();
        assert!(
            (of(6)[0] - 1.1).abs() < 0.01 && (of(6)[1] - 1.1).abs() < 0.01 && slow.measured_inside == 0,
            "{slow:?}"
        );
        assert!((of(3)[0] - 1.1).abs() < 0.01 && (of(3)[1] - 2.0).abs() < 0.01, "{:?}", likely(3));
        assert_eq!((found.likely.unwrap().points, found.likely.unwrap().runs), (10, 10));
        assert_eq!(judged(CASE, "a,1,100\na,2,55\na,4,33\n").unwrap().likely, None, "few others");
    }

    #[test]
    fn effects_are_switched_off_one_at_a_time_without_those_calibrated_on_the_case() {
        let fitted =
            "[[calibrate]]\nkey = \"app.connect\"\nunit = \"s\"\nrows = { ranks = 8 }\nbetween = [0.01, 1000]\n";
        let set = "[set]\napp.calls = 3\n";
        let told = "[provenance]\n\"app.connect\" = \"d\"\n\"app.calls\" = \"e\"\n";
        let case =
            CASE.replace("[limit]", &format!("{set}[limit]")).replace("[provenance]\n", &format!("{fitted}{told}"));
        // The work is 97, the start time is 5, and progress by calls adds 3. The set-up of connections takes 4, which is
        // calibrated on eight ranks. The prediction for four ranks is 24.25 + 5 + 3 + 4.
        let present = [Effect::Contention, Effect::Progress];
        let wanted = Wanted { repeats: None, effects: Some(&present) };
        let found = judged_with(&case, "a,1,100\na,2,56.5\na,4,32.25\na,8,24.125\n", wanted).unwrap();
        assert!((found.points[2].predicted_s[0] - 36.25).abs() < 0.05, "{:?}", found.points[2]);
        let effects = found.effects.unwrap();
        assert_eq!(effects.left_out, ["app.connect"]);
        let rows: Vec<_> = effects.rows.iter().map(|row| (row.without.as_str(), row.predicted_s[2])).collect();
        let wanted = [("nothing", 32.25), ("contention", 32.25), ("progress", 29.25), ("all", 29.25)];
        for ((name, seconds), (wanted, about)) in rows.iter().zip(wanted) {
            assert!(*name == wanted && (seconds - about).abs() < 0.05, "{rows:?}");
        }
        assert!(effects.rows[0].all.mean_percent < 0.2 && effects.rows[2].groups["a"].bias_percent < -9.0);
        assert_eq!(judged(CASE, "a,1,100\na,2,55\na,4,33\n").unwrap().effects, None, "nobody asked");
    }

    #[test]
    fn a_key_that_the_baseline_lacks_is_calibrated_for_the_other_model_only() {
        let case = Case::load(&Document::parse("case.toml", CASE).unwrap(), "c").unwrap();
        let table = MeasuredTable::parse("m.csv", &format!("{HEAD}a,1,100\na,2,55\na,4,33\n")).unwrap();
        let points = CasePoints::new(&case, &table).unwrap();
        // The baseline model has no start time of a run.
        let predict = |name: &str, asks: &[Ask]| {
            let mut asks = asks.to_vec();
            if name == "baseline" {
                asks.iter_mut().for_each(|ask| ask.set.retain(|over| over.key.join(".") != "app.start"));
            }
            model(&asks)
        };
        let found = assess(&case, &table, &points, &["mcpsim", "baseline"], Wanted::default(), predict).unwrap();
        let keys: Vec<Vec<&str>> =
            found.models.iter().map(|model| model.calibrated.iter().map(|of| of.key.as_str()).collect()).collect();
        assert_eq!(keys, [vec!["app.work", "app.start"], vec!["app.work"]]);
        let predicted = &found.points[2].predicted_s;
        assert!((predicted[0] - 30.0).abs() < 0.01 && (predicted[1] - 25.0).abs() < 0.01, "{predicted:?}");
    }

    #[test]
    fn what_cannot_be_calibrated_is_told() {
        for (case, rows, error) in [
            (
                CASE.to_owned(),
                "a,2,3\na,1,2\nc,4,7\n",
                "case.toml: app.work has no calibrated value for kind=c ranks=4: no calibration row is like this point",
            ),
            (CASE.to_owned(), "a,1,1\na,4,2\n", "case.toml: calibrating app.start: no measured row matches \"rows\""),
            (
                CASE.to_owned(),
                "a,1,1\na,2,2\n",
                "case.toml: no measured row is left to predict: all rows are calibrated on, left out or not selected",
            ),
            (
                CASE.replace("[0.01, 1000]\n[provenance", "[0.01, 10]\n[provenance"),
                "a,1,1\na,2,200\na,4,2\n",
                "case.toml: calibrating app.start: the best value is at an end of between = [0.01, 10]: widen this range",
            ),
        ] {
            assert_eq!(judged(&case, rows).unwrap_err(), error);
        }
    }
}
