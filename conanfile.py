# SPDX-License-Identifier: MIT
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class SinterConan(ConanFile):
    name = "sinter"
    description = "Fuses tensor expressions into CPU loop nests: header-only C++20"
    license = "MIT"
    topics = ("tensor", "expression-templates", "equality-saturation", "simd", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"openmp": [True, False]}
    default_options = {"openmp": True}
    exports_sources = "LICENSE", "include/*"
    no_copy_source = True

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "include/sinter/support/version.hpp"))
        self.version = ".".join(
            re.search(rf"SINTER_VERSION_{part} (\d+)", text).group(1)
            for part in ("MAJOR", "MINOR", "PATCH"))

    def layout(self):
        basic_layout(self)

    def requirements(self):
        self.requires("eigen/[>=3.4.0 <6]", transitive_headers=True)
        self.requires("xsimd/[>=8.1.0 <15]", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        # Headers are the same on every platform and in every build type.
        self.info.clear()

    def package(self):
        # Copied rather than installed with CMake: nothing has to be found to package headers.
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"),
             os.path.join(self.package_folder, "include"))

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "sinter")
        self.cpp_info.set_property("cmake_target_name", "sinter::sinter")
        self.cpp_info.set_property("pkg_config_name", "sinter")
        self.cpp_info.requires = ["eigen::eigen", "xsimd::xsimd"]
        if self.options.openmp and self.settings.get_safe("compiler") in ("gcc", "clang"):
            self.cpp_info.cxxflags = ["-fopenmp"]
            self.cpp_info.exelinkflags = ["-fopenmp"]
            self.cpp_info.sharedlinkflags = ["-fopenmp"]
