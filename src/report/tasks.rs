//! Text about the analysis of a task runtime's code fragments.

use crate::profile::{ProcessTasks, Stage, TaskAnalysis};
use crate::units::{SimSpan, SimTime};

use super::numbers::{count, percent, share, short_count};
use super::table::{Align, Table, short_headings};

/// Maximum number of simulated MPI processes that are listed. Of more processes, the list contains those with the most
/// and the least idle time.
const MOST_LISTED: usize = 16;

/// Maximum width of a run's name in the table that compares task runs. Longer names are listed above the table.
const WIDEST_NAME: usize = 24;

/// Number of time steps in the table of waiting times by arrival of the code fragment.
const ARRIVALS: usize = 10;

/// Returns the short task text for the report of a run.
pub(super) fn brief(tasks: Option<&TaskAnalysis>) -> String {
    let Some(tasks) = tasks else { return String::new() };
    format!("Fragments (mcpsim tasks RUN.json prints more)\n{}{}", totals(tasks), threads(tasks))
}

/// Returns the full text of the task analysis. `name` is the name of the run.
pub fn task_summary(name: &str, tasks: &TaskAnalysis) -> String {
    let parts = [
        format!("Fragments of {name}, {}\n{}", tasks.end, totals(tasks)),
        stages(tasks),
        format!("Threads\n{}", threads(tasks)),
        over_time(tasks),
        by_arrival(tasks),
        processes(tasks),
    ];
    parts.join("\n")
}

/// Returns the comparison of the task analyses of several runs.
pub fn task_comparison(runs: &[(String, TaskAnalysis)]) -> String {
    let names: Vec<String> = runs.iter().map(|(name, _)| name.clone()).collect();
    let (heading, legend) = short_headings(&names, WIDEST_NAME);
    let mut columns = vec![("", Align::Left)];
    columns.extend(heading.iter().map(|name| (name.as_str(), Align::Right)));
    let mut table = Table::new(&columns);
    let mut row = |what: String, value: &dyn Fn(&TaskAnalysis) -> String| {
        table.row(std::iter::once(what).chain(runs.iter().map(|(_, tasks)| value(tasks))));
    };
    row("time".to_owned(), &|tasks| tasks.end.to_string());
    row("fragments".to_owned(), &|tasks| count(tasks.total));
    row("fragments that waited".to_owned(), &|tasks| count(tasks.waited));
    row("90% of them waited from".to_owned(), &|tasks| tasks.stages[1].came_p90.to_string());
    row("mean wait for data".to_owned(), &|tasks| tasks.stages[1].mean.to_string());
    row("mean time in the queue".to_owned(), &|tasks| tasks.stages[2].mean.to_string());
    row("most fragments at a time".to_owned(), &|tasks| count(tasks.series.held.most));
    for (number, what) in ["useful", "overhead", "idle"].into_iter().enumerate() {
        row(format!("threads {what}"), &|tasks| percent(shares(tasks)[number]));
    }
    let gap = if legend.is_empty() { "" } else { "\n" };
    format!("Comparison of the runs\n{legend}{gap}{}", table.render())
}

/// Returns the totals of a task analysis. The terms are those of the runtime system's own analysis tool.
fn totals(tasks: &TaskAnalysis) -> String {
    let distribs: Vec<String> = tasks.distribs.iter().map(u64::to_string).collect();
    format!("  Total cf: {}\n  Distribs: [{}]\n  Wait df : {}\n", tasks.total, distribs.join(", "), tasks.waited)
}

/// Returns useful time, overhead and idle time of a task run as shares of the total time of all threads.
fn shares(tasks: &TaskAnalysis) -> [f64; 3] {
    let sum = |part: fn(&ProcessTasks) -> SimSpan| tasks.processes.iter().map(|p| part(p).as_seconds()).sum::<f64>();
    let whole = tasks.end.as_seconds() * tasks.bounds.threads as f64;
    [sum(|p| p.useful), sum(|p| p.overhead), sum(|p| p.idle)].map(|part| share(part, whole))
}

/// Returns the share of the total time of all threads in which the threads execute code fragments.
pub(super) fn useful(tasks: &TaskAnalysis) -> f64 {
    shares(tasks)[0]
}

fn threads(tasks: &TaskAnalysis) -> String {
    let [useful, overhead, idle] = shares(tasks).map(percent);
    let time = |seconds: f64| SimTime::from_ps((seconds * 1e12) as u64);
    let bounds = &tasks.bounds;
    let (threads, work, least) = (count(bounds.threads), time(bounds.work_s), time(bounds.least_s));
    format!(
        "  useful {useful}, overhead {overhead}, idle {idle} of {threads} threads' time\n  \
         work {work}; least time, with all threads busy: {least}\n"
    )
}

fn stages(tasks: &TaskAnalysis) -> String {
    let right = |name| (name, Align::Right);
    let mut table = Table::new(&[
        ("stage", Align::Left),
        right("visits"),
        right("mean"),
        right("median"),
        right("90%"),
        right("longest"),
        right("90% began"),
    ]);
    for stage in &tasks.stages {
        let spans = [stage.mean, stage.median, stage.p90, stage.most].map(|span| span.to_string());
        let cells = [stage.stage.name().to_owned(), short_count(stage.visits)];
        table.row(cells.into_iter().chain(spans).chain([stage.came_p90.to_string()]));
    }
    format!("Time in each stage\n{}", table.render())
}

fn over_time(tasks: &TaskAnalysis) -> String {
    let mut table = Table::new(&[("stage", Align::Left), ("most at a time", Align::Right), ("at", Align::Right)]);
    let named = Stage::ALL.iter().map(|stage| stage.name()).zip(&tasks.series.stages);
    for (name, series) in named.chain([("all", &tasks.series.held)]) {
        table.row([name.to_owned(), count(series.most), series.most_at.to_string()]);
    }
    format!("Greatest number of fragments at a time\n{}", table.render())
}

fn by_arrival(tasks: &TaskAnalysis) -> String {
    let Some(waiting) = tasks.waiting.iter().find(|waiting| waiting.stage == Stage::Waiting) else {
        return String::new();
    };
    let mut table = Table::new(&[
        ("arrived by", Align::Left),
        ("fragments", Align::Right),
        ("mean wait", Align::Right),
        ("longest", Align::Right),
    ]);
    let together = waiting.bins.len().div_ceil(ARRIVALS).max(1);
    let step = tasks.end.as_ps().div_ceil(waiting.bins.len().max(1) as u64);
    for (number, bins) in (1..).zip(waiting.bins.chunks(together)) {
        let all: u64 = bins.iter().map(|bin| bin.count).sum();
        if all == 0 {
            continue;
        }
        let sum: u128 = bins.iter().map(|bin| u128::from(bin.count) * u128::from(bin.mean.as_ps())).sum();
        let mean = SimSpan::from_ps((sum / u128::from(all)) as u64);
        let longest = bins.iter().map(|bin| bin.most).max().unwrap_or_default();
        let until = SimTime::from_ps((step * (number * together) as u64).min(tasks.end.as_ps()));
        table.row([until.to_string(), count(all), mean.to_string(), longest.to_string()]);
    }
    format!("Wait for data by time of arrival\n{}", table.render())
}

fn processes(tasks: &TaskAnalysis) -> String {
    let right = |name| (name, Align::Right);
    let mut table = Table::new(&[
        ("process", Align::Left),
        right("executed"),
        right("sent"),
        right("most held"),
        right("useful"),
        right("overhead"),
        right("idle"),
        right("manager"),
    ]);
    let mut listed: Vec<&ProcessTasks> = tasks.processes.iter().collect();
    let all = listed.len();
    if all > MOST_LISTED {
        listed.sort_by_key(|process| (process.idle, process.process));
        listed.drain(MOST_LISTED / 2..all - MOST_LISTED / 2);
    }
    for process in &listed {
        let whole = tasks.end.as_seconds() * f64::from(process.threads);
        let part = |span: SimSpan| percent(share(span.as_seconds(), whole));
        let manager = percent(share(process.manager.as_seconds(), tasks.end.as_seconds()));
        let numbers = [process.executed, process.sent, process.most_held].map(short_count);
        let parts = [process.useful, process.overhead, process.idle].map(part);
        table.row(std::iter::once(process.process.to_string()).chain(numbers).chain(parts).chain([manager]));
    }
    let which = match listed.len() < all {
        true => format!(" (the {MOST_LISTED} of {} that idled least and most)", count(all as u64)),
        false => String::new(),
    };
    format!("Processes{which}\n{}", table.render())
}
