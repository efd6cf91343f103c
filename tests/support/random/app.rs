//! Random applications that end on any number of ranks. In each phase all ranks act the same, or the sender and the
//! receiver of each message execute matching statements.

use super::Draw;

const SIZES: [&str; 6] = ["0", "8", "n", "5000", "70_000 * (1 + coord(box, 0) % 2)", "300 KiB"];
const TIMES: [&str; 5] = ["\"1 us\"", "\"0.3 us * (rank + 1)\"", "\"10 us\"", "\"random() * 20 us\"", "\"0 s\""];

/// MPI collectives with their statement keys. The algorithms in the list are valid for any number of ranks and any
/// operator.
const COLLECTIVES: [(&str, &str, &[&str]); 15] = [
    ("barrier", "", &["dissemination", "binomial", "recursive_doubling"]),
    ("bcast", "root", &["binomial", "scatter_allgather", "linear", "chain"]),
    ("reduce", "root", &["binomial", "rabenseifner", "linear"]),
    ("allreduce", "", &["recursive_doubling", "rabenseifner", "ring", "binomial"]),
    ("gather", "root", &["binomial", "linear"]),
    ("gatherv", "root peer", &["linear"]),
    ("scatter", "root", &["binomial", "linear"]),
    ("scatterv", "root peer", &["linear"]),
    ("allgather", "", &["recursive_doubling", "bruck", "ring", "linear"]),
    ("allgatherv", "peer", &["bruck", "ring", "linear"]),
    ("alltoall", "", &["bruck", "pairwise", "linear"]),
    ("alltoallv", "peer", &["pairwise", "linear"]),
    ("scan", "", &["recursive_doubling", "chain"]),
    ("exscan", "", &["recursive_doubling", "chain"]),
    ("reduce_scatter", "peer", &["recursive_halving", "pairwise", "binomial"]),
];

/// Returns a random application with statements in a random order, and the tables that the statements use.
pub fn application(draw: &mut Draw) -> String {
    let phases = 3 + draw.below(6);
    let mut main = Vec::new();
    for phase in 0..phases {
        let body = statements(draw, phase, 2);
        main.push(body);
    }
    let procedures = format!(
        "exchange = {{ params = [\"k\", \"far\"], do = [{}] }}\nquiet = [{{ compute = {} }}]\nnothing = []\n",
        ring(draw, "far", "k"),
        draw.one(&TIMES)
    );
    format!(
        r#"name = "random"
about = "Random statements."
main = [
{}
]
[params]
n = 1000
part = "n // 3"
ratio = 0.5
twice = true
[let]
next = "(rank + 1) % size"
before = "(rank - 1) % size"
turn = 0
left = 0
there = false
done = false
w = 0
t = 0
b = 0
i = 0
[grids]
box = {{ dims = [0, 0], periodic = [true, false] }}
[comms]
row = {{ split = "rank // 2", key = "-rank" }}
some = {{ split = "none if rank == 0 else 1" }}
plane = {{ grid = "box", keep = [true, false] }}
[timers]
times = "2 * 4"
[procedures]
{procedures}
[results]
do = [
  {{ set = {{ best = 0, rounds = 0 }} }},
  {{ for = "e", to = 8, do = [{{ set = {{ best = "max(best, longest(times, e))" }} }}] }},
  {{ repeat = 2, do = [{{ if = "best > 0", then = [{{ set = {{ rounds = "rounds + 1" }} }}], else = [{{ call = "nothing" }}] }}] }},
  {{ while = "rounds > 0", do = [{{ set = {{ rounds = "rounds - 1" }} }}] }},
]
show.best = {{ value = "best", unit = "s", if = "size > 1" }}
show.mean = {{ value = "mean(times, 0) + shortest(times, 1)" }}
"#,
        main.join(",\n")
    )
}

/// Returns the statements of a phase of the application, with at most `depth` nested control statements.
fn statements(draw: &mut Draw, phase: usize, depth: usize) -> String {
    let count = 1 + draw.below(3);
    let all: Vec<String> = (0..count).map(|_| statement(draw, phase, depth)).collect();
    all.join(", ")
}

fn statement(draw: &mut Draw, phase: usize, depth: usize) -> String {
    if depth > 0 && draw.once_in(3) {
        let inner = statements(draw, phase, depth - 1);
        let count = 1 + draw.below(3);
        return match draw.below(6) {
            0 => format!("{{ for = \"i{depth}\", from = 1, to = {}, step = 2, do = [{inner}] }}", 2 * count + 1),
            1 => format!("{{ repeat = {count}, do = [{inner}] }}"),
            2 => format!(
                "{{ set = {{ c{depth} = {count} }} }}, {{ while = \"c{depth} > 0\", do = [{inner}, {{ set = {{ \
                 c{depth} = \"c{depth} - 1\" }} }}] }}"
            ),
            3 => {
                let other = statements(draw, phase, depth - 1);
                format!("{{ if = \"twice and size > {count}\", then = [{inner}], else = [{other}] }}")
            }
            4 => format!("{{ time = \"times\", at = \"{phase} % 8\", do = [{inner}] }}"),
            _ => format!(
                "{{ call = \"exchange\", with = {{ k = {count}, far = \"next\" }} }}, {{ time = \"times\", do = [{inner}] }}"
            ),
        };
    }
    match draw.below(9) {
        0 => compute(draw),
        1 => ring(draw, "next", "3"),
        2 => blocking(draw),
        3 => requests(draw),
        4 => any_of_several(draw),
        5 => polling(draw),
        6 => wildcards(draw),
        7 => collective(draw, "", ""),
        _ => nonblocking_collective(draw),
    }
}

fn compute(draw: &mut Draw) -> String {
    let time = draw.one(&TIMES);
    match draw.below(10) {
        0 => format!("{{ compute = {time} }}"),
        1 => format!("{{ compute = {{ time = {time}, times = 2 }} }}"),
        2 => "{ compute = { flops = \"9 * n\", bytes = \"24 * n\", instructions = \"n\", working_set = \"16 * n\" } }"
            .into(),
        3 => "{ compute = { bytes = \"1 MiB\" } }".into(),
        4 => "{ compute = { normal = { mean = \"5 us\", sd = \"1 us\" } } }".into(),
        5 => "{ compute = { lognormal = { mean = \"5 us\", sd = \"2 us\" }, times = \"part // 100\" } }".into(),
        6 => "{ compute = { uniform = { low = \"1 us\", high = \"3 us\" } } }".into(),
        7 => "{ compute = { exponential = { mean = \"2 us\" } } }".into(),
        8 => "{ compute = { gamma = { shape = 2, scale = \"1 us\" } } }".into(),
        _ => "\"quiet\", { compute = { weibull = { shape = 1.5, scale = \"1 us\" } } }".into(),
    }
}

/// Returns statements in which each rank sends to `far`, a shift of all ranks by one.
fn ring(draw: &mut Draw, far: &str, tag: &str) -> String {
    let (size, mode) = (draw.one(&["8", "n", "70_000"]), draw.one(&["standard", "synchronous", "buffered"]));
    format!(
        "{{ sendrecv = {{ to = \"{far}\", bytes = \"{size}\", tag = \"{tag}\", from = \"before\", recv_tag = \"{tag}\", \
         recv_bytes = \"1 MiB\", comm = \"world\", mode = \"{mode}\", source_as = \"w\", tag_as = \"t\", bytes_as = \"b\" }} }}"
    )
}

/// Returns statements that send messages between pairs of neighbours in a communicator, one message after the other. If
/// the number of ranks is odd, the last rank has no partner.
fn blocking(draw: &mut Draw) -> String {
    let (size, mode) = (draw.one(&SIZES), draw.one(&["standard", "synchronous", "buffered"]));
    let comm = draw.one(&["world", "row", "plane"]);
    let me = if comm == "world" { "rank" } else { &format!("comm_rank({comm})") };
    let all = if comm == "world" { "size" } else { &format!("comm_size({comm})") };
    let peer = format!("(bit_xor({me}, 1) if bit_xor({me}, 1) < {all} else none)");
    let size = if size.contains("coord") { "70_000" } else { size };
    format!(
        "{{ set = {{ left = \"{peer}\" }} }}, {{ if = \"{me} % 2 == 0\", then = [{{ send = {{ to = \"left\", bytes = \
         \"{size}\", tag = 7, comm = \"{comm}\", mode = \"{mode}\" }} }}, {{ recv = {{ from = \"left\", comm = \"{comm}\" }} }}], \
         else = [{{ recv = {{ from = \"left\", bytes = \"1 MiB\", tag = 7, comm = \"{comm}\", source_as = \"w\", tag_as = \"t\", \
         bytes_as = \"b\" }} }}, {{ send = {{ to = \"left\", bytes = 8, comm = \"{comm}\" }} }}] }}"
    )
}

/// Returns sends and receives with named and unnamed MPI requests, and several kinds of waits.
fn requests(draw: &mut Draw) -> String {
    let (size, mode) = (draw.one(&SIZES), draw.one(&["standard", "synchronous", "buffered"]));
    let size = size.replace("coord(box, 0)", "1");
    let start = format!(
        "{{ irecv = {{ from = \"before\", bytes = \"1 MiB\", tag = 1, comm = \"world\", request = \"in\", source_as = \"w\", \
         tag_as = \"t\", bytes_as = \"b\" }} }}, {{ irecv = {{ from = \"neighbor(box, 1, -1)\", tag = 2 }} }}, {{ isend = {{ to = \
         \"neighbor(box, 1, 1)\", bytes = 100, tag = 2 }} }}, {{ isend = {{ to = \"next\", bytes = \"{size}\", tag = 1, comm = \
         \"world\", mode = \"{mode}\", request = \"out\" }} }}"
    );
    let middle = compute(draw);
    let end = match draw.below(4) {
        0 => "\"waitall\"".to_owned(),
        1 => "{ waitall = [\"in\", \"out\"] }, \"waitall\"".to_owned(),
        2 => "{ wait = \"in\" }, { wait = \"out\" }, \"waitall\"".to_owned(),
        _ => "{ set = { done = false } }, { while = \"not done\", do = [{ compute = \"400 ns\" }, { test = { request = \"in\", \
              done_as = \"done\" } }] }, \"waitall\""
            .to_owned(),
    };
    format!("{start}, {middle}, {end}")
}

/// Returns several receive statements that are completed one by one, in the order in which the receives complete.
fn any_of_several(draw: &mut Draw) -> String {
    let start = "{ irecv = { from = \"before\", tag = 4, request = \"first\" } }, { irecv = { from = \"next\", tag = 5, \
                 request = \"second\" } }, { isend = { to = \"before\", bytes = \"n\", tag = 5 } }, { isend = { to = \
                 \"next\", bytes = 20_000, tag = 4 } }";
    match draw.below(3) {
        0 => format!(
            "{start}, {{ waitany = {{ requests = [\"first\", \"second\"], index_as = \"i\", source_as = \"w\", tag_as = \"t\", \
             bytes_as = \"b\" }} }}, {{ if = \"i == 0\", then = [{{ compute = \"2 us\" }}] }}, \"waitall\""
        ),
        1 => format!(
            "{start}, {{ set = {{ i = 0 }} }}, {{ while = \"i >= 0\", do = [{{ waitany = {{ index_as = \"i\" }} }}, {{ compute = \"1 \
             us\" }}] }}"
        ),
        _ => format!(
            "{start}, {{ set = {{ done = false }} }}, {{ while = \"not done\", do = [{{ compute = \"1 us\" }}, {{ test = {{ \
             requests = [\"first\", \"second\"], done_as = \"done\" }} }}] }}, {{ test = {{ done_as = \"done\" }} }}, \"waitall\""
        ),
    }
}

/// Returns statements in which ranks poll for a message while they compute.
fn polling(draw: &mut Draw) -> String {
    let from = draw.one(&["any", "before"]);
    format!(
        "{{ isend = {{ to = \"next\", bytes = \"n\", tag = 8 }} }}, {{ set = {{ there = false }} }}, {{ while = \"not there\", do = \
         [{{ compute = {} }}, {{ iprobe = {{ from = \"{from}\", tag = 8, comm = \"world\", found_as = \"there\", source_as = \"w\", \
         tag_as = \"t\", bytes_as = \"b\" }} }}] }}, {{ recv = {{ from = \"w\", tag = 8 }} }}, \"waitall\"",
        draw.one(&["\"500 ns\"", "\"2 us\""])
    )
}

/// Returns statements in which a master receives from any source. A barrier separates the messages to the master from
/// later messages.
fn wildcards(draw: &mut Draw) -> String {
    let tag = draw.one(&["\"any\"", "6"]);
    let look = match draw.once_in(2) {
        true => format!(
            "{{ probe = {{ from = \"any\", tag = {tag}, comm = \"world\", source_as = \"w\", tag_as = \"t\", bytes_as = \"b\" }} \
             }}, {{ recv = {{ from = \"w\", tag = {tag} }} }}"
        ),
        false => format!("{{ recv = {{ from = \"any\", tag = {tag}, source_as = \"w\" }} }}"),
    };
    format!(
        "\"barrier\", {{ if = \"rank == 0\", then = [{{ repeat = \"size - 1\", do = [{look}, {{ send = {{ to = \"w\", bytes = 100, \
         tag = 9 }} }}] }}], else = [{{ compute = {} }}, {{ send = {{ to = 0, bytes = \"n\", tag = 6 }} }}, {{ recv = {{ from = 0, \
         tag = 9 }} }}] }}, \"barrier\"",
        draw.one(&TIMES)
    )
}

fn collective(draw: &mut Draw, prefix: &str, request: &str) -> String {
    let (name, keys, algorithms) = COLLECTIVES[draw.below(COLLECTIVES.len())];
    let comm = draw.one(&["world", "row", "some", "plane"]);
    let mut arguments = vec![format!("comm = \"{comm}\"")];
    if name != "barrier" {
        let size = match keys.contains("peer") && draw.once_in(2) {
            true => "8 * (peer + 1)",
            false => draw.one(&["8", "n", "20_000"]),
        };
        arguments.push(format!("bytes = \"{size}\""));
    }
    if keys.contains("root") {
        arguments.push(format!("root = \"{} % comm_size({comm})\"", draw.below(3)));
    }
    // MPI libraries have separate algorithms for nonblocking collectives.
    if draw.once_in(2) {
        arguments.push(format!("algorithm = \"{}\"", draw.one(algorithms)));
    }
    if !request.is_empty() {
        arguments.push(format!("request = \"{request}\""));
    }
    let call = format!("{{ {prefix}{name} = {{ {} }} }}", arguments.join(", "));
    match comm {
        "some" => format!("{{ if = \"comm_size(some) > 0\", then = [{call}] }}"),
        "world" if name == "barrier" && request.is_empty() && draw.once_in(2) => format!("\"{prefix}barrier\""),
        _ => call,
    }
}

fn nonblocking_collective(draw: &mut Draw) -> String {
    let request = draw.one(&["", "norm"]);
    let start = collective(draw, "i", request);
    let end = match request {
        "" => "\"waitall\"",
        _ => "{ wait = \"norm\" }, \"waitall\"",
    };
    format!("{start}, {}, {end}", compute(draw))
}
