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
    # safetensors, npz and onnx: the components of these names, each with a library of its own.
    options = {"openmp": [True, False], "safetensors": [True, False], "npz": [True, False],
               "onnx": [True, False]}
    default_options = {"openmp": True, "safetensors": False, "npz": False, "onnx": False}
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
        if self.options.safetensors:
            self.requires("nlohmann_json/[>=3.10.0 <4]", transitive_headers=True)
        if self.options.npz:
            self.requires("libzip/[>=1.7.3 <2]", transitive_headers=True, transitive_libs=True)
        if self.options.onnx:
            self.requires("protozero/[>=1.7.1 <2]", transitive_headers=True)

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
        self.cpp_info.set_property("cmake_file_name", "sinter")
        core = self.add_component("sinter", ["eigen::eigen", "xsimd::xsimd"])
        core.set_property("pkg_config_name", "sinter")
        if self.options.openmp and self.settings.get_safe("compiler") in ("gcc", "clang"):
            core.cxxflags = ["-fopenmp"]
            core.exelinkflags = ["-fopenmp"]
            core.sharedlinkflags = ["-fopenmp"]
        if self.options.safetensors:
            self.add_component("safetensors", ["sinter", "nlohmann_json::nlohmann_json"])
        if self.options.npz:
            self.add_component("npz", ["sinter", "libzip::libzip"])
        if self.options.onnx:
            self.add_component("onnx", ["sinter", "protozero::protozero"])

    def add_component(self, name, requires):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"sinter::{name}")
        component.bindirs = []
        component.libdirs = []
        component.requires = requires
        return component
