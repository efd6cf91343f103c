//! Tests of the critical path of a real program. The parts of the critical path add up to the predicted time, for any
//! number of workers and for both directions of the computation.

use serde_json::Value;

use super::real::{self, WORKLOADS};

/// Returns the sum of all parts in `value`. Waiting for memory is a part of computing, so it does not count again.
fn sum(value: &Value) -> u64 {
    match value {
        Value::Object(members) => {
            members.iter().filter(|(key, _)| *key != "memory_ps").map(|(_, value)| sum(value)).sum()
        }
        _ => value.as_u64().expect("a whole number"),
    }
}

#[test]
fn the_parts_of_real_programs_sum_to_their_time_on_any_number_of_workers() {
    for (name, words) in WORKLOADS {
        let run = |workers: u32| {
            let line = format!(
                "--quiet --compute 1us --nct 4,1,2 --workers {workers} --critical-path --json - \
                 --set app.program.arguments=[{words}] workloads/{name}-c.toml"
            );
            let ran = real::simulate(&line);
            assert_eq!(ran.code, Some(0), "{}", real::told(&line, &ran));
            serde_json::from_str::<Value>(&ran.stdout).unwrap()
        };
        let one = run(1);
        let predicted = one["predicted_ps"].as_u64().unwrap();
        assert_eq!(sum(&one["path"]), predicted, "{name}: {}", one["path"]);
        let way = &one["critical_path"];
        for shares in ["ranks", "sites"] {
            let parts = way[shares].as_array().unwrap().iter();
            let all: u64 = parts.map(|share| sum(&share["own_ps"]) + sum(&share["messages_ps"])).sum();
            assert_eq!(all, predicted, "{name}: {shares} of {way}");
        }
        for workers in 2..=4 {
            let other = run(workers);
            for key in ["predicted_ps", "path", "what_if", "critical_path"] {
                assert_eq!(one[key], other[key], "{name}: {key} of one and {workers} workers");
            }
        }
    }
}
