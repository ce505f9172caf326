import os

from conan import ConanFile
from conan.tools.files import copy, get

# The switches of the header's OPTIONS that are words alone. SPARSEHS_STATIC is for the program to define.
SWITCHES = ["double", "no_double", "no_stdlib", "no_math", "only_coding", "nonnegative", "no_cubes", "no_sparse", "no_models",
            "no_lasso", "no_spectra", "no_files", "no_naive", "no_openmp", "no_simd", "intrinsics", "no_dispatch", "dispatch"]


class SparsehsConan(ConanFile):
    name = "sparsehs"
    version = "@VERSION@"
    description = "Sparse coding and hyperspectral analysis in one C99 header"
    license = ("MIT", "Unlicense")
    topics = ("sparse-coding", "k-svd", "hyperspectral", "header-only")
    package_type = "header-library"
    settings = "os"
    options = {switch: [True, False] for switch in SWITCHES}
    default_options = {switch: False for switch in SWITCHES}
    no_copy_source = True

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def package(self):
        for header in ("sparsehs.h", "sparsehs_cl.h"):
            copy(self, header, self.source_folder, os.path.join(self.package_folder, "include"))
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.defines = ["SPARSEHS_" + switch.upper() for switch in SWITCHES if self.options.get_safe(switch)]
        if self.settings.os not in ("Windows", "baremetal"):
            self.cpp_info.system_libs = ["m"]
        self.cpp_info.set_property("cmake_target_name", "sparsehs::sparsehs")
        self.cpp_info.set_property("pkg_config_name", "sparsehs")
