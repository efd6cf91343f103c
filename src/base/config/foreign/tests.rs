//! Tests with handwritten files in the formats of other programs.

use super::*;

/// Samples: name and content of a file, and the expected message.
const SAMPLES: &[(&str, &[u8], &str)] = &[
    (
        "small.xml",
        b"<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"simgrid.dtd\">\n<platform version=\"4.1\">\n <zone id=\"z\" \
          routing=\"Full\"><host id=\"h\" speed=\"1Gf\"/></zone>\n</platform>\n",
        "a platform of SimGrid",
    ),
    (
        "deploy.xml",
        b"<?xml version='1.0'?>\n<platform version=\"4.1\">\n  <actor host=\"h\" function=\"f\"/>\n</platform>\n",
        "a deployment of SimGrid",
    ),
    (
        "node.xml",
        b"<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n<object \
          type=\"Machine\"/></topology>\n",
        "a topology of hwloc",
    ),
    ("topology.conf", b"# switches\nSwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Switches=s0\n", "a topology of Slurm"),
    ("slurm.conf", b"# x\nSlurmctldHost=h\nNodeName=n[0-3] Sockets=2\n", "a configuration of Slurm"),
    ("net.conf", b"LPGROUPS\n{\n   A\n   {\n      repetitions=\"4\";\n   }\n}\nPARAMS\n{\n}\n", "a configuration of CODES"),
    ("pmpi-trace-rank-0.txt", b"# a\n# b\nMPI_Init:1000:2:3:1020\nMPI_Barrier:1040:1:1050\n", "a trace of liballprof"),
    ("dumpi-0000.bin", b"\xff\xaa\xddDUMPI\x01\x02\x03", "a trace of DUMPI"),
    ("dumpi.meta", b"hostname=a\nnumprocs=4\nusername=u\nfileprefix=dumpi\n", "the list of files of a DUMPI trace"),
    ("d.txt", b"MPI_Init entering at walltime 1.5, cputime 0.5 seconds in thread 0.\n", "the text of a DUMPI trace"),
    ("a.prv", b"#Paraver (01/02/20 at 10:11):1000:1(4):1:1(1:1)\n1:1:1:1:1:0:1:1\n", "a trace of Paraver"),
    ("a.pcf", b"\nDEFAULT_OPTIONS\n\nLEVEL               THREAD\n", "a list of names or colours of a Paraver trace"),
    ("a.row", b"LEVEL CPU SIZE 4\n1.n\n", "a list of names or colours of a Paraver trace"),
    (
        "mn.cfg",
        b"\"wide area network information\" {\"\", 1, 0, 4, 0.0, 0.0, 1};;\n\"environment information\" {\"\", 0, \"\", \
          4, 250.0, 0, 1};;\n",
        "a configuration of Dimemas",
    ),
    ("new.cfg", b"#DIMEMAS_CONFIGURATION\n", "a configuration of Dimemas"),
    ("a.dim", b"#DIMEMAS:\"a\":1,0:0:1(4)\n", "a trace of Dimemas"),
    ("a.trace", b"%EventDef PajeDefineContainerType 0\n%       Alias string\n", "a trace of Paje"),
    ("a.otf", b"1:0.0:a\n2:0.1\n", "a trace of OTF 1"),
    ("0.evt", b"\x01\x80\xff", "a part of an OTF2 archive"),
    ("set-0/TRACE.mpit", b"\x01\x80\xff", "an intermediate trace of Extrae"),
    ("profile.cubex", b"anchor\xff", "a profile of Scalasca or Score-P (CUBE)"),
    ("profile.0.0.0", b"4 templated_functions_MULTI_TIME\n# Name Calls\n", "a profile of TAU"),
    ("a.goal", b"rank 0 {\nl1: calc 5\n}\n", "a schedule of GOAL that starts without num_ranks"),
    ("a.bin", b"\x02\x00\x80\xff", "a schedule of GOAL in binary form"),
    ("m.nc", b"CDF\x01\x00", "a matrix of times (NetCDF)"),
    ("a.trace.gz", b"\x1f\x8b\x08", "compressed"),
    ("ring", b"\x7fELF\x02", "a program in machine code"),
    ("run.sh", b"#!/bin/sh\nmpirun -n 2 ./a\n", "a script"),
    ("net.dot", b"digraph net {\n a -> b;\n}\n", "a graph of Graphviz"),
    ("osu.txt", b"# OSU MPI Latency Test v5.6\n# Size  Latency (us)\n0 1.0\n", "output of a benchmark"),
    ("other.xml", b"<?xml version=\"1.0\"?>\n<list/>\n", "XML"),
    ("p.json", b" {\n \"nodes\": 4 }\n", "JSON"),
];

#[test]
fn a_file_of_another_program_is_named_with_the_way_that_works() {
    for (name, content, what) in SAMPLES {
        let said = foreign_file(name, content).unwrap_or_else(|| panic!("{name} is not recognized"));
        assert!(said.starts_with(&format!("{name} is {what}: ")), "{said}");
    }
    assert_eq!(
        foreign_file("small.xml", SAMPLES[0].1).unwrap(),
        "small.xml is a platform of SimGrid: mcpsim does not read it; describe the machine in a TOML file for \
         --platform (guide: Describing a machine); hosts give nct and core.flops, links give latency and bandwidth of \
         inter_node. Routes have no counterpart"
    );
}

#[test]
fn text_of_ones_own_is_not_taken_for_another_programs() {
    for text in ["", "main = [", "[core]\nflops = 1 G", "# MPI_Init:1\nmain = x", "0 init\n0 send 1 0 8\n", "0 0 0\n"] {
        assert_eq!(foreign_file("a.toml", text.as_bytes()), None, "{text}");
        assert_eq!(moved_list(Path::new("a.toml"), text), None, "{text}");
    }
}

#[test]
fn a_list_of_traces_that_moved_names_a_missing_file() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("list.txt");
    std::fs::write(directory.path().join("0.txt"), "nothing\n").unwrap();
    let said =
        moved_list(&list, "0.txt\nx_files/1.txt\n").unwrap().replace(&format!("{}/", directory.path().display()), "");
    assert_eq!(
        said,
        "list.txt is a list of files; missing are 1 of 2, such as x_files/1.txt: paths are relative to the list, \
         change those that moved"
    );
    let said = moved_list(&list, "# all\n0.txt\n").unwrap();
    assert!(said.ends_with("list of 1 files, but 0.txt is no trace of one rank that mcpsim reads: expected time-independent traces of SimGrid"), "{said}");
}

#[test]
fn a_directory_of_a_tool_names_the_file_to_give() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    assert_eq!(foreign_directory(path), None);
    let said = |file: &str| {
        std::fs::write(path.join(file), "").unwrap();
        foreign_directory(path).unwrap().replace(&path.display().to_string(), "D")
    };
    assert_eq!(said("run.trace"), "D is a directory, expected a file: give its trace, D/run.trace");
    assert_eq!(said("0.log"), "D has the logs of a recorded run: mcpsim trace merge D -o FILE.trace");
    assert!(said("profile.cubex").ends_with("without a trace: measure again with SCOREP_ENABLE_TRACING=true"));
    assert_eq!(said("traces.otf2"), "D is a directory of Score-P: give its trace, D/traces.otf2");
}
