# A Spack recipe, untested: `spack repo add` a repository with this file as packages/mcpsim/package.py, then `spack install mcpsim`.
from spack.package import *


class Mcpsim(CargoPackage):
    """Predicts how long an MPI program would take on a multi-core cluster, and why."""

    license("MIT OR Apache-2.0")

    version("main", branch="main", get_full_repo=False)

    variant("mpi", default=False, description="Simulate in several host processes under mpirun")

    depends_on("c", type=("build", "run"))
    depends_on("cxx", type=("build", "run"))
    depends_on("rust@1.89:", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("llvm+clang", type="build", when="+mpi")

    # Where the sources are: `spack install mcpsim dev_path=/path/to/checkout`, or a git attribute of your own repository.

    def setup_build_environment(self, env):
        if self.spec.satisfies("+mpi"):
            env.set("MPICC", self.spec["mpi"].mpicc)
            env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)

    @property
    def build_args(self):
        return ["--features", "mpi"] if self.spec.satisfies("+mpi") else []
