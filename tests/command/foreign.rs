//! Files of other programs as application, machine or trace: the error names the kind of the file and the correct
//! command.

use super::bad_input::says;
use crate::support::run;

#[test]
fn a_file_of_another_program_is_named_wherever_it_is_given() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let write = |name: &str, content: &[u8]| std::fs::write(here.join(name), content).unwrap();
    write("p.xml", b"<?xml version='1.0'?>\n<platform version=\"4.1\"><host id=\"a\" speed=\"1Gf\"/></platform>\n");
    write("a.prv", b"#Paraver (01/02/20 at 10:11):1000:1(4):1:1(1:1)\n");
    write("d.bin", b"\xff\xaa\xddDUMPI\x01\xfe");
    write("list.txt", b"there/0.txt\nthere/1.txt\n");
    write("a.toml", b"main = []\n");
    std::fs::create_dir(here.join("scorep")).unwrap();
    write("scorep/traces.otf2", b"\x03B");
    let record = "record the program again with mcpsim trace lib, by Score-P (OTF2), or by smpirun -trace-ti";
    let paraver = format!("a.prv is a trace of Paraver: mcpsim does not read it; {record}");
    let dumpi = format!("d.bin is a trace of DUMPI: mcpsim does not read it; {record}");
    let list = "list.txt is a list of files; missing are 2 of 2, such as there/0.txt: paths are relative to the list, \
                change those that moved";
    let folder = "scorep is a directory of Score-P: give its trace, scorep/traces.otf2";
    for command in ["", "trace info ", "trace stats "] {
        says(&run(here, &format!("{command}a.prv")), &paraver, command);
        says(&run(here, &format!("{command}d.bin")), &dumpi, command);
        says(&run(here, &format!("{command}list.txt")), list, command);
        says(&run(here, &format!("{command}scorep")), folder, command);
    }
    let machine = "p.xml is a platform of SimGrid: mcpsim does not read it; describe the machine in a TOML file for \
                   --platform (guide: Describing a machine); hosts give nct and core.flops, links give latency and \
                   bandwidth of inter_node. Routes have no counterpart";
    for line in ["p.xml", "--platform p.xml a.toml", "models p.xml", "sweep p.xml", "trace info p.xml"] {
        says(&run(here, line), machine, line);
    }
}
