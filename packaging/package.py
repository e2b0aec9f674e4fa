# Spack: copy to packages/dodyn/package.py of a repository of your own; `spack install dodyn`.
from spack.package import *


class Dodyn(CMakePackage):
    """Design of dynamics: choose a mechanical design by the best motion it allows."""

    git = "file:///home/you/dodyn"  # your clone

    license("BSD-3-Clause")
    version("main", branch="main")

    variant("ipopt", default=False, description="Ipopt as another solver")
    variant("plots", default=True, description="What dodyn report, plot and animate need")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("eigen@3.4:")
    depends_on("boost@1.74:+program_options")
    depends_on("nlopt@2.7:")
    depends_on("nlohmann-json@3.9:")
    depends_on("hdf5@1.10:+hl~mpi")
    depends_on("zlib-api")
    depends_on("ipopt", when="+ipopt")
    depends_on("py-h5py", when="+plots", type="run")
    depends_on("py-matplotlib", when="+plots", type="run")

    def cmake_args(self):
        return [self.define("DODYN_TESTS", False), self.define_from_variant("DODYN_IPOPT", "ipopt")]
