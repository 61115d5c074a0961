# SPDX-License-Identifier: MIT
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"

CMAKE_MODULES = os.path.join("share", "cmake", "sinter")


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
    exports_sources = "LICENSE", "include/*", "cmake/sinter-dispatch*"
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
        copy(self, "sinter-dispatch*", os.path.join(self.source_folder, "cmake"),
             os.path.join(self.package_folder, CMAKE_MODULES))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "sinter")
        # Not sinter::sinter, which is a component: this target is all of them, sinter::native with its flag, too.
        self.cpp_info.set_property("cmake_target_name", "sinter::all")
        self.cpp_info.set_property(
            "cmake_build_modules", [os.path.join(CMAKE_MODULES, "sinter-dispatch.cmake")])
        core = self.add_component("sinter", ["eigen", "xsimd"])
        core.set_property("pkg_config_name", "sinter")
        if self.settings.get_safe("compiler") in ("gcc", "clang"):
            if self.options.openmp:
                core.cxxflags = ["-fopenmp"]
                core.exelinkflags = ["-fopenmp"]
                core.sharedlinkflags = ["-fopenmp"]
            self.add_component("native", []).cxxflags = ["-march=native"]
        if self.options.safetensors:
            self.add_component("safetensors", ["nlohmann_json"]).requires.append("sinter")
        if self.options.npz:
            self.add_component("npz", ["libzip"]).requires.append("sinter")
        if self.options.onnx:
            self.add_component("onnx", ["protozero"]).requires.append("sinter")

    def add_component(self, name, packages):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"sinter::{name}")
        component.bindirs = []
        component.libdirs = []
        # A package that the profile says the platform has ([platform_requires]) has nothing to be linked.
        of_conan = [dependency.ref.name for dependency in self.dependencies.direct_host.values()]
        component.requires = [f"{package}::{package}" for package in packages if package in of_conan]
        return component
