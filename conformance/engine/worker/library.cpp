#include "conformance/engine/worker/library.hpp"

#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <map>

#include "reference/core/error.hpp"

namespace assay {
namespace {

void must_be_elf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  if (!file) throw Error("plugin cannot be read", "a shared library", "no readable file '" + path + "'");
  if (!file.read(magic, 4) || std::memcmp(magic, "\177ELF", 4) != 0)
    throw Error("plugin is not a shared library", "an ELF file", "'" + path + "'");
}

void* symbol(void* handle, const std::string& path, const char* name, bool required) {
  void* p = dlsym(handle, name);
  if (!p && required)
    throw Error("plugin '" + path + "' lacks a function of the ABI", std::string("symbol ") + name, "none");
  return p;
}

Library load(const std::string& path) {
  must_be_elf(path);
  // A slash keeps the dynamic linker from searching elsewhere.
  const std::string spelled = path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = dlopen(spelled.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = dlerror();
    throw Error("plugin cannot be loaded: " + std::string(why ? why : "no reason given"));
  }
  const auto abi = reinterpret_cast<std::uint32_t (*)()>(symbol(handle, path, "assay_plugin_abi", true));
  const std::uint32_t version = abi();
  if (version != ASSAY_ABI_VERSION)
    throw Error("plugin '" + path + "' has another ABI version", std::to_string(ASSAY_ABI_VERSION),
                std::to_string(version));
  Library lib;
  lib.run = reinterpret_cast<decltype(lib.run)>(symbol(handle, path, "assay_plugin_run", true));
  lib.offers = reinterpret_cast<decltype(lib.offers)>(symbol(handle, path, "assay_plugin_offers", false));
  const auto says = reinterpret_cast<const char* (*)()>(symbol(handle, path, "assay_plugin_version", false));
  if (says) {
    const char* text = says();
    lib.version = text ? std::string(text, strnlen(text, 200)) : "";
  }
  return lib;
}

}  // namespace

const Library& library(const std::string& path) {
  static std::map<std::string, Library> loaded;
  const auto found = loaded.find(path);
  return found != loaded.end() ? found->second : loaded.emplace(path, load(path)).first->second;
}

}  // namespace assay
