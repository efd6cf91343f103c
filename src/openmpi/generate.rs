//! Generator of the MPI functions of a binary interface, from the prototypes in `mcpsim_functions.h`.
//!
//! The type of an argument and its name in the MPI standard give its kind. Each generated function converts its
//! arguments, calls the function of `mpi_api` with the same name, and converts the results.

use std::fmt::Write as _;

#[path = "generate_large.rs"]
mod large;

/// Functions that are written by hand.
const SPECIAL: [&str; 19] = [
    "Alltoallw",
    "Ialltoallw",
    "Neighbor_alltoallw",
    "Ineighbor_alltoallw",
    "Comm_create_keyval",
    "Type_create_keyval",
    "Win_create_keyval",
    "Keyval_create",
    "Grequest_start",
    "Op_create",
    "Comm_free",
    "Comm_disconnect",
    "Status_c2f",
    "Status_f2c",
    "Comm_idup",
    "Comm_idup_with_info",
    "Get_library_version",
    "Get_version",
    "Comm_spawn_multiple",
];

/// Functions with a pointer to a handle that is both input and output.
const UPDATES: [&str; 22] = [
    "Wait",
    "Test",
    "Start",
    "Cancel",
    "Request_free",
    "Comm_free",
    "Comm_disconnect",
    "Type_commit",
    "Type_free",
    "Op_free",
    "Group_free",
    "Info_free",
    "Win_free",
    "Errhandler_free",
    "Mrecv",
    "Imrecv",
    "Comm_free_keyval",
    "Type_free_keyval",
    "Win_free_keyval",
    "Keyval_free",
    "Status_set_cancelled",
    "Status_set_elements",
];

struct Argument {
    /// Type without the name, with `*` for each pointer or array.
    class: String,
    name: String,
}

struct Prototype {
    name: String,
    result: String,
    arguments: Vec<Argument>,
}

fn argument(text: &str) -> Argument {
    let text = text.replace("const ", "");
    let arrays = text.matches('[').count();
    let text = text.split('[').next().unwrap().trim().to_owned();
    let at = text.rfind(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(0);
    let name = text[at..].trim_matches(|c| c == ' ' || c == '*').to_owned();
    let class = text[..=at].replace(' ', "") + &"*".repeat(arrays);
    Argument { class, name }
}

fn prototypes(header: &str) -> Vec<Prototype> {
    let mut text = String::new();
    let mut rest = header;
    while let Some(start) = rest.find("/*") {
        text.push_str(&rest[..start]);
        rest = &rest[start + rest[start..].find("*/").unwrap() + 2..];
    }
    text.push_str(rest);
    let text = text.replace('\n', " ");
    let statements = text.split(';').filter(|statement| statement.contains("MPI_FN("));
    statements
        .map(|statement| {
            let (result, rest) = statement.split_once("MPI_FN(").unwrap();
            let (name, rest) = rest.split_once(')').unwrap();
            let inside = rest.trim().trim_start_matches('(').trim_end_matches(')');
            let all = inside.split(',').map(str::trim).filter(|part| !matches!(*part, "" | "void" | "..."));
            Prototype {
                name: name.to_owned(),
                result: result.trim().to_owned(),
                arguments: all.map(argument).collect(),
            }
        })
        .collect()
}

fn kind(class: &str) -> Option<&'static str> {
    Some(match class.trim_end_matches('*') {
        "MPI_Comm" => "Comm",
        "MPI_Datatype" => "Type",
        "MPI_Group" => "Group",
        "MPI_Op" => "Op",
        "MPI_Request" => "Request",
        "MPI_Info" => "Info",
        "MPI_Errhandler" => "Errhandler",
        "MPI_Win" => "Win",
        "MPI_Message" => "Message",
        "MPI_File" => "File",
        _ => return None,
    })
}

/// Rust type of the argument in the program's binary interface.
fn outer(class: &str) -> String {
    let stars = class.matches('*').count();
    let base = class.trim_end_matches('*');
    if stars > 1 {
        return "*mut c_void".to_owned();
    }
    let plain = match base {
        "int" | "MPI_Fint" => "c_int",
        "MPI_Aint" => "isize",
        "MPI_Count" | "MPI_Offset" => "i64",
        "void" => "c_void",
        "char" => "c_char",
        "double" => "f64",
        "MPI_Status" => "RawStatus",
        _ if kind(base).is_some() => "Raw",
        _ if base.starts_with("MPI_") => "usize",
        other => panic!("unknown type {other}"),
    };
    if stars == 1 { format!("*mut {plain}") } else { plain.to_owned() }
}

/// Rust type of the argument in the standard binary interface.
fn inner(class: &str) -> String {
    outer(class).replace("RawStatus", "Status").replace("Raw", "usize")
}

#[derive(Default)]
struct Body {
    before: String,
    passed: Vec<String>,
    after: String,
}

/// Name of the argument with the number of elements of the array `name` in the function `of`.
fn length(of: &Prototype, name: &str) -> Option<String> {
    let has = |wanted: &str| of.arguments.iter().any(|argument| argument.name == wanted);
    let of_name = match name {
        "array_of_datatypes" => "max_datatypes",
        "array_of_distribs" | "array_of_dargs" => "ndims",
        "ranks1" | "ranks2" => "n",
        _ if has("incount") => "incount",
        _ if has("count") => "count",
        _ => return None,
    };
    Some(of_name.to_owned())
}

/// Prefix of the functions in `convert` that convert an integer argument with this name.
fn integer(of: &str, name: &str) -> Option<&'static str> {
    Some(match name {
        "source" | "dest" | "target_rank" | "root" | "rank_source" | "rank_dest" | "ranks1" | "ranks2" => "rank",
        "rank" if of.starts_with("Win_") => "rank",
        "tag" | "sendtag" | "recvtag" => "tag",
        "result" if of.ends_with("_compare") => "comparison",
        "status" if of == "Topo_test" => "topology",
        "required" | "provided" => "thread",
        "comm_keyval" | "type_keyval" | "win_keyval" | "keyval" => "keyval",
        "order" => "order",
        "array_of_distribs" => "distribution",
        "array_of_dargs" => "distribution_argument",
        "combiner" => "combiner",
        "typeclass" => "typeclass",
        "split_type" => "split_type",
        "lock_type" => "lock",
        "assert" => "assertion",
        "errorcode" if of.starts_with("Error_") || of.starts_with("Add_") || of.ends_with("call_errhandler") => "error",
        "errorclass" if of == "Error_class" || of.starts_with("Add_") => "error",
        "error" if of.starts_with("Status_") => "error",
        _ => return None,
    })
}

fn convert(of: &Prototype, argument: &Argument, body: &mut Body) {
    let Argument { class, name } = argument;
    let updates =
        UPDATES.contains(&of.name.as_str()) || of.name == "Status_set_elements_x" || of.name.starts_with("Status_set");
    let stars = class.matches('*').count();
    let is_array = name.starts_with("array_of_") || name == "types" || name == "ranks1" || name == "ranks2";
    if let Some(kind) = kind(class) {
        match (stars, is_array) {
            (0, _) => body.passed.push(format!("handle_in(HandleClass::{kind}, {name})")),
            (1, true) => {
                let length = length(of, name).unwrap_or_else(|| panic!("{}: length of {name}", of.name));
                let reads = name != "array_of_datatypes";
                let _ = writeln!(
                    body.before,
                    "let mut t_{name} = handles_in(HandleClass::{kind}, {name}, {length}, {reads});"
                );
                body.passed.push(format!("list(&mut t_{name}, {name})"));
                if name == "array_of_requests" || !reads {
                    let _ = writeln!(body.after, "handles_out(HandleClass::{kind}, &t_{name}, {name});");
                }
            }
            (1, false) => {
                // The request of `MPI_Imrecv` is an output, in contrast to its message.
                let updates = updates && !(of.name == "Imrecv" && name == "request");
                let start = if updates { format!("read_handle(HandleClass::{kind}, {name})") } else { "0".to_owned() };
                let _ = writeln!(body.before, "let mut t_{name}: usize = {start};");
                body.passed.push(format!("one(&mut t_{name}, {name})"));
                let when = if updates { "true" } else { "code == 0" };
                let _ = writeln!(
                    body.after,
                    "if {when} && !{name}.is_null() {{ *{name} = handle_out(HandleClass::{kind}, t_{name}); }}"
                );
            }
            _ => panic!("{}: {name}", of.name),
        }
        return;
    }
    if class == "MPI_Status*" {
        if name == "array_of_statuses" {
            let length = length(of, name).expect("statuses have a count");
            let _ = writeln!(body.before, "let mut t_{name} = statuses_in({name}, {length});");
            body.passed.push(format!("statuses(&mut t_{name}, {name})"));
            let _ = writeln!(body.after, "statuses_out(&t_{name}, {name});");
        } else {
            let is_input =
                of.name.starts_with("Get_") || of.name.starts_with("Status_get") || of.name == "Test_cancelled";
            // A call that completes nothing leaves the status as it is.
            let _ = writeln!(body.before, "let mut t_{name} = status_in({name});");
            body.passed.push(format!("status_pointer(&mut t_{name}, {name})"));
            if !is_input {
                let _ = writeln!(body.after, "status_out(&t_{name}, {name});");
            }
        }
        return;
    }
    let converted = integer(&of.name, name);
    match (class.as_str(), converted) {
        ("int", Some(what)) => body.passed.push(format!("{what}_in({name})")),
        ("int*", Some(what)) if is_array => {
            let length = length(of, name).expect("arrays have a count");
            let _ = writeln!(body.before, "let mut t_{name} = integers_in({name}, {length}, {what}_in);");
            body.passed.push(format!("list(&mut t_{name}, {name})"));
            if name == "ranks2" {
                let _ = writeln!(body.after, "integers_out(&t_{name}, {name}, {what}_out);");
            }
        }
        ("int*", Some(what)) => {
            let _ = writeln!(
                body.before,
                "let mut t_{name}: c_int = if {updates} && !{name}.is_null() {{ {what}_in(*{name}) }} else {{ 0 }};"
            );
            body.passed.push(format!("one(&mut t_{name}, {name})"));
            let _ = writeln!(body.after, "if code == 0 && !{name}.is_null() {{ *{name} = {what}_out(t_{name}); }}");
        }
        ("int*", None) if matches!(name.as_str(), "weights" | "sourceweights" | "destweights") => {
            body.passed.push(format!("weights_in({name})"));
        }
        ("void*", _) if matches!(name.as_str(), "sendbuf" | "recvbuf") => {
            body.passed.push(format!("buffer_in({name})"))
        }
        ("char*", _)
            if of.name.ends_with("get_name") || matches!(of.name.as_str(), "Error_string" | "Get_processor_name") =>
        {
            let _ = writeln!(body.before, "let mut t_{name} = [0 as c_char; 1024];");
            body.passed.push(format!("if {name}.is_null() {{ {name} }} else {{ t_{name}.as_mut_ptr() }}"));
            let limit = match of.name.as_str() {
                "Error_string" => "ERROR_STRING",
                "Get_processor_name" => "PROCESSOR_NAME",
                _ => "OBJECT_NAME",
            };
            let _ = writeln!(body.after, "if code == 0 {{ text_out(&t_{name}, {name}, resultlen, {limit}); }}");
        }
        ("MPI_User_function*", _) => body.passed.push(format!("operation_in({name} as usize)")),
        (_, _) if class.ends_with("errhandler_function*") || class == "MPI_Handler_function*" => {
            let kind = if of.name.starts_with("Win") { "Win" } else { "Comm" };
            body.passed.push(format!("handler_in(HandleClass::{kind}, {name} as usize)"));
        }
        _ => body.passed.push(name.clone()),
    }
    if name == "array_of_integers" {
        body.after
            .push_str("if code == 0 { contents_out(handle_in(HandleClass::Type, datatype), array_of_integers); }\n");
    }
    if name == "attribute_val" && (of.name.ends_with("get_attr") || of.name == "Attr_get") {
        let key = of.arguments.iter().find(|other| other.name.ends_with("keyval")).expect("attributes have keys");
        let _ = writeln!(
            body.after,
            "if code == 0 && *flag != 0 {{ attribute_out(keyval_in({}), attribute_val); }}",
            key.name
        );
    }
}

/// Returns the Rust source of all functions that `header` declares. The functions named in `others` are unsupported and
/// end the run with an error.
pub fn source(header: &str, others: &str) -> String {
    let large: Vec<&str> = include_str!("large.txt").split_whitespace().collect();
    let all = prototypes(header);
    let mut out = String::new();
    let mut index = 0;
    for of in &all {
        let name = &of.name;
        if large.contains(&name.as_str()) {
            out += &large::function(of);
        }
        if SPECIAL.contains(&name.as_str()) {
            continue;
        }
        if let Some((class, way)) = name.split_once('_').filter(|(_, way)| matches!(*way, "c2f" | "f2c"))
            && class != "File"
        {
            let _ = writeln!(out, "{way}! {{ MPI_{name} PMPI_{name} {class} }}");
            continue;
        }
        let mut body = Body::default();
        let is_absent = name.starts_with("File_")
            || matches!(
                name.as_str(),
                "Comm_spawn"
                    | "Register_datarep"
                    | "Publish_name"
                    | "Unpublish_name"
                    | "Lookup_name"
                    | "Comm_accept"
                    | "Comm_connect"
                    | "Comm_join"
                    | "Open_port"
                    | "Close_port"
            );
        if is_absent {
            let _ = writeln!(out, "absent! {{ MPI_{name} PMPI_{name} }}");
            continue;
        }
        of.arguments.iter().for_each(|argument| convert(of, argument, &mut body));
        let result = match of.result.as_str() {
            "int" => "c_int",
            "double" => "f64",
            "MPI_Aint" => "isize",
            other => panic!("{name} returns {other}"),
        };
        let declared: Vec<String> =
            of.arguments.iter().map(|argument| format!("{}: {}", argument.name, outer(&argument.class))).collect();
        let types: Vec<String> = of.arguments.iter().map(|argument| inner(&argument.class)).collect();
        let types: Vec<String> = types
            .into_iter()
            .zip(&body.passed)
            .map(|(class, passed)| {
                if passed.starts_with("operation_in") || passed.starts_with("handler_in") {
                    "usize".to_owned()
                } else {
                    class
                }
            })
            .collect();
        let names: Vec<&str> = of.arguments.iter().map(|argument| argument.name.as_str()).collect();
        let (declared, types, names) = (declared.join(", "), types.join(", "), names.join(", "));
        let settle = if name.starts_with("Wait") || name.starts_with("Test") { "settle();" } else { "" };
        let (code, end) = if result == "c_int" { ("error_out(code)", settle) } else { ("code", "") };
        let _ = writeln!(
            out,
            "#[unsafe(no_mangle)] pub unsafe extern \"C\" fn MPI_{name}({declared}) -> {result} {{ unsafe {{ f_{name}({names}) }} }}\n\
             #[unsafe(no_mangle)] pub unsafe extern \"C\" fn PMPI_{name}({declared}) -> {result} {{ unsafe {{ f_{name}({names}) }} }}\n\
             unsafe fn f_{name}({declared}) -> {result} {{ unsafe {{\n\
             let called: unsafe extern \"C\" fn({types}) -> {result} = std::mem::transmute(target(&TARGETS[{index}], \"MPI_{name}\"));\n\
             begin_conversion();\n{}let code = called({});\n{}{end}\nend_conversion();\n{code}\n}} }}\n",
            body.before,
            body.passed.join(", "),
            body.after,
        );
        index += 1;
    }
    let _ = writeln!(out, "static TARGETS: [AtomicUsize; {index}] = [const {{ AtomicUsize::new(0) }}; {index}];");
    for name in others.split_whitespace() {
        let kind = if name.contains("Query_") || name.contains("query_") { "nothing" } else { "absent" };
        let _ = writeln!(out, "{kind}! {{ {name} P{name} }}");
    }
    out
}
