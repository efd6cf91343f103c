//! Recognizes files of other programs that a user passes instead of mcpsim's own files. The error message names the
//! format, and states how to use such a file.

use std::path::Path;

/// File format of another program that mcpsim recognizes.
struct ForeignFormat {
    /// Name of the format. In the error message, this name follows the word "is".
    what: &'static str,
    /// Text that states whether mcpsim can read files of the format, and how.
    advice: &'static str,
    /// Returns whether a file with this beginning has the format.
    fits: fn(&FileHead<'_>) -> bool,
}

/// First bytes of a file.
struct FileHead<'a> {
    bytes: &'a [u8],
    text: &'a str,
    /// Extension of the file's name in lower case, without the dot.
    ending: &'a str,
}

/// Number of bytes at the beginning of a file that suffice to recognize the format of the file.
const ENOUGH: usize = 64 << 10;

/// Greatest number of lines that are checked for a format.
const LINES: usize = 20;

impl FileHead<'_> {
    /// Returns the first lines of the file that are neither blank nor comments.
    fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '%'])).take(LINES)
    }

    fn first(&self) -> &str {
        self.lines().next().unwrap_or_default()
    }

    /// Returns whether the text is an XML document whose root element is `root`.
    fn has_root(&self, root: &str) -> bool {
        let is_xml = self.text.trim_start_matches('\u{feff}').trim_start().starts_with('<');
        let elements = self.text.match_indices('<').map(|(at, _)| &self.text[at + 1..]);
        let mut names = elements.filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
        let name =
            |rest: &str| rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(|end| rest[..end] == *root);
        is_xml && names.next().and_then(name).unwrap_or(false)
    }

    fn has_element(&self, names: &[&str]) -> bool {
        names.iter().any(|name| {
            self.text.match_indices(&format!("<{name}")).any(|(at, found)| {
                self.text[at + found.len()..].starts_with(|c: char| c.is_whitespace() || c == '>' || c == '/')
            })
        })
    }
}

/// Advice for files of other programs that describe a machine.
macro_rules! machine {
    ($keys:literal) => {
        concat!(
            "mcpsim does not read it; describe the machine in a TOML file for --platform (guide: Describing a machine); ",
            $keys
        )
    };
}

/// Advice for files of other programs that are traces.
macro_rules! trace {
    () => {
        "mcpsim does not read it; record the program again with mcpsim trace lib, by Score-P (OTF2), or by smpirun \
         -trace-ti"
    };
}

/// Known formats of other programs. If several formats fit a file, the message names the first format.
static FORMATS: &[ForeignFormat] = &[
    ForeignFormat {
        what: "a deployment of SimGrid",
        advice: "mcpsim does not read it; state the ranks by --ranks and their cores by --placement",
        fits: |file| {
            file.has_root("platform")
                && file.has_element(&["actor", "process"])
                && !file.has_element(&["host", "cluster", "zone", "AS"])
        },
    },
    ForeignFormat {
        what: "a platform of SimGrid",
        advice: machine!(
            "hosts give nct and core.flops, links give latency and bandwidth of inter_node. Routes have no counterpart"
        ),
        fits: |file| file.has_root("platform") || file.has_root("platform_description"),
    },
    ForeignFormat {
        what: "a topology of hwloc",
        advice: machine!(
            "its packages and cores give nct = [nodes, packages per node, cores per package], its caches [cmp] cache"
        ),
        fits: |file| file.has_root("topology"),
    },
    ForeignFormat {
        what: "a topology of Slurm",
        advice: machine!("its nodes give nct. Switches have no counterpart"),
        fits: |file| starts_with_key(file.first(), &["SwitchName", "BlockName"]),
    },
    ForeignFormat {
        what: "a configuration of Slurm",
        advice: machine!("NodeName, Sockets and CoresPerSocket give nct"),
        fits: |file| file.lines().any(|line| starts_with_key(line, &["NodeName", "PartitionName", "ClusterName"])),
    },
    ForeignFormat {
        what: "a configuration of CODES",
        advice: machine!(
            "the bandwidths and delays of its PARAMS belong to inter_node. Its networks have no counterpart"
        ),
        fits: |file| {
            let is_group = |line: &str| matches!(line.trim_end_matches('{').trim_end(), "LPGROUPS" | "PARAMS");
            file.lines().any(is_group) && file.text.contains('{')
        },
    },
    ForeignFormat {
        what: "a configuration of Dimemas",
        advice: machine!("its node and network records give nct, latency and bandwidth"),
        fits: |file| {
            file.text.starts_with("#DIMEMAS_CONFIGURATION")
                || file.text.starts_with("SDDFA")
                || file.text.contains("\"environment information\" {")
        },
    },
    ForeignFormat { what: "a trace of Dimemas", advice: trace!(), fits: |file| file.text.starts_with("#DIMEMAS") },
    ForeignFormat { what: "a trace of Paraver", advice: trace!(), fits: |file| file.text.starts_with("#Paraver") },
    ForeignFormat {
        what: "a list of names or colours of a Paraver trace",
        advice: trace!(),
        fits: |file| {
            matches!(file.first(), "DEFAULT_OPTIONS" | "DEFAULT_SEMANTIC" | "EVENT_TYPE" | "STATES")
                || file.first().starts_with("LEVEL ") && file.first().contains(" SIZE ")
        },
    },
    ForeignFormat {
        what: "a trace of DUMPI",
        advice: trace!(),
        fits: |file| file.bytes.starts_with(b"\xff\xaa\xddDUMPI"),
    },
    ForeignFormat {
        what: "the list of files of a DUMPI trace",
        advice: trace!(),
        fits: |file| {
            file.ending == "meta" && file.text.contains("numprocs=")
                || file.text.contains("fileprefix=") && file.text.contains("numprocs=")
        },
    },
    ForeignFormat {
        what: "the text of a DUMPI trace",
        advice: trace!(),
        fits: |file| file.first().starts_with("MPI_") && file.first().contains(" entering at walltime "),
    },
    ForeignFormat {
        what: "a trace of liballprof",
        advice: "mcpsim does not read it; turn the traces of all ranks into GOAL with LogGOPSim's schedgen, which mcpsim \
                 reads, or record with mcpsim trace lib",
        fits: |file| {
            let call = |line: &str| {
                let mut parts = line.split(':');
                let name = parts.next().unwrap_or_default();
                let time = parts.next().unwrap_or_default().trim();
                name.starts_with("MPI_")
                    && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                    && time.starts_with(|c: char| c.is_ascii_digit() || c == '-')
            };
            !file.first().is_empty() && file.lines().any(call) && file.lines().filter(|line| !call(line)).count() <= 1
        },
    },
    ForeignFormat {
        what: "a trace of Paje",
        advice: "mcpsim writes such files (--timeline FILE.paje) and reads none: let smpirun write -trace-ti, or record \
                 with mcpsim trace lib",
        fits: |file| file.text.trim_start().starts_with("%EventDef"),
    },
    ForeignFormat {
        what: "a trace of OTF 1",
        advice: trace!(),
        fits: |file| file.ending == "otf" && file.lines().all(|line| line.contains(':')),
    },
    ForeignFormat {
        what: "a part of an OTF2 archive",
        advice: "give the archive's anchor file, traces.otf2 of Score-P",
        fits: |file| matches!(file.ending, "def" | "evt" | "marker" | "snap") && !file.bytes.is_ascii(),
    },
    ForeignFormat {
        what: "an intermediate trace of Extrae",
        advice: trace!(),
        fits: |file| matches!(file.ending, "mpit" | "mpits"),
    },
    ForeignFormat {
        what: "a profile of Scalasca or Score-P (CUBE)",
        advice: "a profile has no messages; measure again with SCOREP_ENABLE_TRACING=true and give traces.otf2",
        fits: |file| matches!(file.ending, "cubex" | "cube") || file.has_root("cube"),
    },
    ForeignFormat {
        what: "a profile of TAU",
        advice: "a profile has no messages; record with mcpsim trace lib",
        fits: |file| {
            file.first().split_once(' ').is_some_and(|(number, rest)| {
                number.bytes().all(|byte| byte.is_ascii_digit()) && rest.starts_with("templated_functions")
            })
        },
    },
    ForeignFormat {
        what: "a schedule of GOAL in binary form",
        advice: "give the text that schedgen writes, from which txt2bin made this file",
        fits: |file| matches!(file.ending, "bin" | "goal") && !file.bytes.is_ascii(),
    },
    ForeignFormat {
        what: "a schedule of GOAL that starts without num_ranks",
        advice: "write \"num_ranks N\" into its first line, as schedgen does",
        fits: |file| file.first().strip_prefix("rank ").is_some_and(|rest| rest.contains('{')),
    },
    ForeignFormat {
        what: "a matrix of times (NetCDF)",
        advice: "mcpsim cluster FILE --platform OUT.toml makes a machine of it",
        fits: |file| file.bytes.starts_with(b"CDF") || file.bytes.starts_with(b"\x89HDF\r\n\x1a\n"),
    },
    ForeignFormat {
        what: "compressed",
        advice: "unpack it first (gunzip, bunzip2, unxz, unzstd, unzip)",
        fits: |file| {
            let magics: [&[u8]; 5] = [b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"];
            magics.iter().any(|magic| file.bytes.starts_with(magic))
        },
    },
    ForeignFormat {
        what: "an archive of files (tar)",
        advice: "unpack it first (tar xf)",
        fits: |file| file.bytes.get(257..262) == Some(b"ustar"),
    },
    ForeignFormat {
        what: "a program in machine code",
        advice: "give it as the application: mcpsim FILE",
        fits: |file| file.bytes.starts_with(b"\x7fELF"),
    },
    ForeignFormat {
        what: "a script",
        advice: "give the program that it starts, built by mcpsim cc, or record it: mcpsim trace lib",
        fits: |file| file.text.starts_with("#!"),
    },
    ForeignFormat {
        what: "a graph of Graphviz",
        advice: "mcpsim reads no graphs; describe the machine or the application in TOML",
        fits: |file| {
            let first = file.first().trim_start_matches("strict ");
            (first.starts_with("graph ") || first.starts_with("digraph ")) && file.text.contains('{')
        },
    },
    ForeignFormat {
        what: "output of a benchmark",
        advice: "mcpsim measure --import LEVEL=FILE makes a machine of it",
        fits: |file| {
            let titles = ["# OSU MPI", "Intel(R) MPI Benchmarks", "Intel (R) MPI Benchmark", "#     Intel"];
            file.text.lines().take(LINES).any(|line| titles.iter().any(|title| line.contains(title)))
        },
    },
    ForeignFormat {
        what: "XML",
        advice: "mcpsim reads no XML; machines and applications are described in TOML",
        fits: |file| {
            let text = file.text.trim_start_matches('\u{feff}').trim_start();
            text.starts_with("<?xml") || text.starts_with("<!DOCTYPE") || text.starts_with("<!--")
        },
    },
    ForeignFormat {
        what: "JSON",
        advice: "machines and applications are described in TOML",
        fits: |file| {
            let text = file.text.trim_start();
            text.starts_with('{') && text[1..].trim_start().starts_with(['"', '}'])
        },
    },
];

fn starts_with_key(line: &str, keys: &[&str]) -> bool {
    let key = line.split_once('=').map(|(key, _)| key.trim());
    key.is_some_and(|key| keys.iter().any(|known| known.eq_ignore_ascii_case(key)))
}

/// Describes the file `name` with the content `content` if the file has a format of another program: `NAME is …:
/// ADVICE`.
pub fn foreign_file(name: &str, content: &[u8]) -> Option<String> {
    let bytes = &content[..content.len().min(ENOUGH)];
    let text = String::from_utf8_lossy(bytes);
    let ending = Path::new(name).extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    let beginning = FileHead { bytes, text: &text, ending: &ending };
    let format = FORMATS.iter().find(|format| (format.fits)(&beginning))?;
    Some(format!("{name} is {}: {}", format.what, format.advice.replace("FILE", name)))
}

/// Describes the directory at `path` if a known program wrote it, and names the file in the directory that the user
/// should pass instead.
pub fn foreign_directory(path: &Path) -> Option<String> {
    let name = path.display().to_string();
    let has = |file: &str| path.join(file).is_file();
    let first_ending_in = |ending: &str| {
        let entries = std::fs::read_dir(path).ok()?;
        let mut files: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|it| it.ends_with(ending))
            .collect();
        files.sort();
        files.into_iter().next()
    };
    let file = |file: &str| path.join(file).display().to_string();
    if has("traces.otf2") {
        return Some(format!("{name} is a directory of Score-P: give its trace, {}", file("traces.otf2")));
    }
    if has("profile.cubex") {
        return Some(format!(
            "{name} is a directory of Score-P without a trace: measure again with SCOREP_ENABLE_TRACING=true"
        ));
    }
    if has("case.toml") {
        return Some(format!("{name} is a validation case: mcpsim validate {name}"));
    }
    if has("0.log") {
        return Some(format!("{name} has the logs of a recorded run: mcpsim trace merge {name} -o FILE.trace"));
    }
    [".otf2", ".trace", ".prv", ".meta"]
        .iter()
        .find_map(|ending| first_ending_in(ending))
        .map(|found| format!("{name} is a directory, expected a file: give its trace, {}", file(&found)))
}

/// Returns the error for a text file that lists files, one per line, if the first listed file is not a trace that
/// mcpsim reads. `None` if the text at `path` is not a list of files.
pub fn moved_list(path: &Path, text: &str) -> Option<String> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let is_path = |line: &str| {
        let plain =
            line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+@:~".contains(&byte) || byte >= 0x80);
        plain && (line.contains('/') || line.contains('.')) && line.parse::<f64>().is_err()
    };
    let first = lines().next()?;
    if !lines().all(is_path) {
        return None;
    }
    let (name, count) = (path.display(), lines().count());
    let directory = path.parent().unwrap_or(Path::new(""));
    let missing = lines().filter(|line| !directory.join(line).is_file()).count();
    let Some(absent) = lines().find(|line| !directory.join(line).is_file()) else {
        return Some(format!(
            "{name} is a list of {count} files, but {first} is no trace of one rank that mcpsim reads: expected \
             time-independent traces of SimGrid"
        ));
    };
    Some(format!(
        "{name} is a list of files; missing are {missing} of {count}, such as {}: paths are relative to the list, change \
         those that moved",
        directory.join(absent).display()
    ))
}

#[cfg(test)]
mod tests;
