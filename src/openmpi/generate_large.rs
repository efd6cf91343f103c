//! Generator of the functions with large counts (MPI-4.0, section 2.5.8). Each function converts its counts to those of
//! the function without the suffix `_c` and calls that function. A count beyond the range of `int` ends the run.

use std::fmt::Write as _;

use super::{Prototype, outer};

/// Functions that have the arguments of another function.
const SAME: [(&str, &str); 4] = [
    ("Type_size", "Type_size_x"),
    ("Get_elements", "Get_elements_x"),
    ("Type_get_extent", "Type_get_extent_x"),
    ("Type_get_true_extent", "Type_get_true_extent_x"),
];

/// Integers that are counts.
const COUNTS: [&str; 13] = [
    "count",
    "incount",
    "outcount",
    "sendcount",
    "recvcount",
    "origin_count",
    "target_count",
    "result_count",
    "blocklength",
    "stride",
    "disp_unit",
    "insize",
    "outsize",
];

/// Returns the expression for the number of elements of the array `name`, or 0 elements if the array has no meaning for
/// the rank.
fn length(of: &Prototype, name: &str) -> String {
    let has = |wanted: &str| of.arguments.iter().any(|argument| argument.name == wanted);
    let inner = "handle_in(HandleClass::Comm, comm)";
    let sends = name.starts_with('s');
    if of.name.contains("eighbor") {
        return format!("neighbours({inner}).{} as usize", if sends { 1 } else { 0 });
    }
    if name.starts_with("array_of_") {
        return if has("ndims") { "ndims.max(0) as usize" } else { "count.max(0) as usize" }.to_owned();
    }
    let peers = format!("peers({inner}) as usize");
    if has("root") {
        // The arrays have a meaning for the root only.
        return format!("if is_root(comm, root) {{ {peers} }} else {{ 0 }}");
    }
    if sends { format!("if buffer_in(sendbuf) as usize == 1 {{ 0 }} else {{ {peers} }}") } else { peers }
}

/// Returns the source of the function with large counts that belongs to `of`.
pub fn function(of: &Prototype) -> String {
    let name = &of.name;
    let (mut declared, mut passed, mut before, mut after) = (Vec::new(), Vec::new(), String::new(), String::new());
    let same = SAME.iter().find(|(known, _)| known == name).map(|(_, same)| *same);
    for argument in &of.arguments {
        let (class, argument) = (argument.class.as_str(), argument.name.as_str());
        let is_count = COUNTS.contains(&argument) || (argument == "size" && name == "Buffer_attach");
        let is_array = argument.ends_with("counts")
            || argument.ends_with("displs")
            || (argument.starts_with("array_of_")
                && !matches!(argument, "array_of_distribs" | "array_of_dargs" | "array_of_psizes"));
        match class {
            "int*" if same.is_some() => {
                declared.push(format!("{argument}: *mut i64"));
                passed.push(argument.to_owned());
            }
            "MPI_Aint*" if same.is_some() => {
                declared.push(format!("{argument}: *mut i64"));
                passed.push(argument.to_owned());
            }
            "int" if is_count => {
                declared.push(format!("{argument}: i64"));
                passed.push(format!("small(\"MPI_{name}_c\", {argument})"));
            }
            "int*" if is_array => {
                declared.push(format!("{argument}: *mut i64"));
                let length = length(of, argument);
                let _ = writeln!(before, "let t_{argument} = smalls(\"MPI_{name}_c\", {argument}, {length});");
                // An operation that continues after the call may read the array.
                if name.starts_with('I') {
                    let _ = writeln!(before, "let t_{argument} = t_{argument}.leak();");
                }
                passed.push(format!("t_{argument}.as_ptr().cast_mut()"));
            }
            "int*" if matches!(argument, "count" | "size" | "position" | "disp_unit") => {
                declared.push(format!("{argument}: *mut i64"));
                let start = if argument == "position" { "*position as c_int" } else { "0" };
                let _ = writeln!(before, "let mut t_{argument}: c_int = {start};");
                let _ = writeln!(after, "if code == 0 {{ *{argument} = i64::from(t_{argument}); }}");
                passed.push(format!("&mut t_{argument}"));
            }
            _ => {
                declared.push(format!("{argument}: {}", outer(class)));
                passed.push(argument.to_owned());
            }
        }
    }
    if name.ends_with("lltoallw") {
        // Functions written by hand take untyped displacements.
        passed.iter_mut().filter(|text| text.contains("displs")).for_each(|text| *text += ".cast()");
    }
    let (declared, passed, target) = (declared.join(", "), passed.join(", "), same.unwrap_or(name));
    let names: Vec<&str> = of.arguments.iter().map(|argument| argument.name.as_str()).collect();
    let names = names.join(", ");
    format!(
        "#[unsafe(no_mangle)] pub unsafe extern \"C\" fn MPI_{name}_c({declared}) -> c_int {{ unsafe {{\n\
         needs_rank();\n{before}let code = MPI_{target}({passed});\n{after}code\n}} }}\n\
         #[unsafe(no_mangle)] pub unsafe extern \"C\" fn PMPI_{name}_c({declared}) -> c_int {{ unsafe {{\n\
         MPI_{name}_c({names})\n}} }}\n"
    )
}
