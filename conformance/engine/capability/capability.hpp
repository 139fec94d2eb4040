#pragma once
#include <map>
#include <string>
#include <vector>

#include "conformance/engine/capability/waiver.hpp"
#include "conformance/engine/worker/worker.hpp"

// The capability file of a kernel library: what it offers, so that what it lacks is reported as not supported and what
// it offers is judged. YAML beside the plugin; its schema is tools/plugins/capability.schema.json.
namespace assay {

/// How the elements of a tensor may lie.
enum class StrideClass : std::uint8_t {
  dense,        ///< row-major without gaps (the default)
  row_strided,  ///< last dimension contiguous, the others at least as far apart as they must be
  any
};

struct ContractOffer {
  std::string contract;  ///< as spelled in the file
  bool ask = false;      ///< the library says at load time whether this machine has it
};

/// The values of one option that are offered: spelled values, or for a number any within [min, max].
struct OptionOffer {
  std::vector<std::string> values;
  bool range = false;
  double min = 0, max = 0;
};

struct OpOffer {
  std::string op;
  int line = 0;
  std::vector<ContractOffer> contracts;
  std::vector<std::string> outputs;
  std::map<std::string, OptionOffer> options;  ///< an option that is not here: its default only
  StrideClass strides = StrideClass::dense;
  std::size_t alignment = 0;               ///< bytes, of every tensor; 0: of the element
  std::map<std::string, Index> max_sizes;  ///< of the op's symbolic sizes
  bool deterministic = true;               ///< the same call gives the same bits
  std::string order;                       ///< contiguous, oblivious, any; "": as the contracts say
  std::string note;

  bool offers_output(const std::string& name) const;
  /// `value` as spelled in a call ("given", "1e-05"), `is_default`: whether it is the page's default.
  bool offers_option(const std::string& name, const std::string& value, double number, bool is_default) const;
};

struct Capability {
  std::string path;     ///< of the file, as given
  std::string plugin;   ///< of the library, resolved against the folder of the file
  std::string library;  ///< what it is called
  std::string version, vendor, url;
  std::vector<OpOffer> ops;
  std::vector<Waiver> waivers;
  const OpOffer* find(const std::string& op) const;
};

/// Reads a capability file. Throws Error with every mistake and its line: unknown, repeated, missing keys, wrong types,
/// values outside the lists; and refuses files that are not meant to be read (over 1 MiB, nested deeper than 8, more
/// than 20,000 values, anchors, aliases, several documents, bytes that are no text).
Capability read_capability(const std::string& path);
/// The same from text; `path` is what messages call it and what `plugin` is resolved against.
Capability parse_capability(const std::string& text, const std::string& path);

/// The file that belongs to a plugin: `onednn.so` -> `onednn.yaml`, `libfoo.so.1` -> `libfoo.yaml`.
std::string capability_path(const std::string& plugin);

/// What a library offers on this machine.
struct Offered {
  std::string op, contract;
  bool offered = true;
  std::string reason;  ///< why not
};
/// All contracts of the file, those marked `ask` put to the plugin. Throws Error if it cannot be loaded, or dies of it.
std::vector<Offered> ask(const Capability& capability, Worker& worker);

}  // namespace assay
