#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/runtime/kernels.hpp"
#include "gpu/target/launch/expression.hpp"
#include "spec/page.hpp"

// A launch file: how somebody's kernel is called for an op. YAML; its schema is gpu/target/launch/launch.schema.json.
namespace assay {

/// One parameter of a kernel: the address of a tensor or of scratch memory, or a number.
struct LaunchParam {
  std::string type;                 ///< "tensor", "scratch", "i32", "i64", "f32" or "f64"
  std::string name;                 ///< of the tensor or scratch memory
  std::optional<Expression> value;  ///< of a number
};

/// One launch. Sizes that are not given are 1.
struct LaunchStep {
  std::string entry;
  std::vector<Expression> grid, block, cluster;
  std::optional<Expression> shared, when;  ///< bytes of dynamic shared memory; 0: the launch is left out
  std::vector<LaunchParam> params;
};

struct LaunchFile {
  std::string path;
  const OpSpec* op = nullptr;
  std::string arch;  ///< "": that of the PTX
  std::vector<std::string> contracts, outputs;
  std::map<std::string, std::vector<std::string>> options;  ///< offered values as spelled; none listed: any
  bool strided = false;                                     ///< rows may be further apart than they are long
  bool tensor_cores = false;
  std::vector<Expression> require;            ///< calls for which one is 0 are not offered
  std::map<std::string, Expression> scratch;  ///< bytes
  std::vector<LaunchStep> steps;
};

/// Throws Error with every mistake and its line.
LaunchFile read_launch_file(const std::string& path);
/// The same from text; `path` is what messages call it.
LaunchFile parse_launch_file(const std::string& text, const std::string& path);

/// The kernel that a launch file describes.
gpu::Kernel kernel_of(const LaunchFile& file);

}  // namespace assay
