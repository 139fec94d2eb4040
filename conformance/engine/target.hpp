#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "conformance/engine/call.hpp"
#include "conformance/engine/capability/waiver.hpp"
#include "conformance/engine/machine.hpp"

namespace assay {

/// How the tensors of one call lie in memory, for targets that see memory.
struct Layout {
  bool guard_before = false;  // the inaccessible page comes before each tensor instead of after it
  bool strided = false;       // rows further apart than they are long, garbage strides on sizes of 1
  bool other_poison = false;  // outputs are filled with another pattern before the call
  std::uint32_t delays =
      0;  // for a group of ranks: messages start late, by times drawn from this number; 0: they do not
};

/// What came back from a target.
struct Answer {
  enum class Kind {
    ok,
    unsupported,  // the target does not offer this op, option, contract or output; message says which
    broken,       // crashed, hung, wrote where it must not, refused a valid call; message says what happened
    refused       // the target returned an error text
  };
  Kind kind = Kind::ok;
  std::string message;
  Tensors outputs;
  std::vector<std::string> unwritten;   // outputs with an element that still holds the poison
  std::vector<std::string> bugs_asked;  // of a subject: the planted bugs whose switches it came by
  std::vector<std::int64_t> sent;       // of a group of ranks that counts: the bytes that each rank sent to others
};

/// Something that can be asked to run an op.
class Target {
 public:
  virtual ~Target() = default;
  virtual std::string name() const = 0;
  /// The contracts under which it offers an op; none if it does not offer it.
  virtual std::vector<Contract> contracts(const OpSpec& op) const = 0;
  /// Whether it offers an output, and an option's value (its index; for a number, of the page's list).
  virtual bool offers_output(const OpSpec& op, const std::string& output) const = 0;
  virtual bool offers_option(const OpSpec& op, std::size_t option, int value) const = 0;
  /// Cases of an op in which this target has edges of its own (tiles, splits), as `--case` spells them, with sizes that
  /// may be larger than the page's. The claim accuracy and the universal ones are asked of them.
  virtual std::vector<std::string> corners(const OpSpec&) const { return {}; }
  /// What this machine could not do, a line each.
  virtual std::vector<std::string> remarks() const { return {}; }
  /// Its known failures.
  virtual std::vector<Waiver> waivers() const { return {}; }
  /// Whether what it runs sees memory (layouts, poison and guards mean something).
  virtual bool sees_memory() const = 0;
  /// Declares that an element's arithmetic does not depend on the sizes of the other dimensions (batch invariance).
  virtual bool same_kernel() const { return false; }
  /// Whether it is a group of ranks that exchange messages: claims on: process are asked of those alone.
  virtual bool is_group() const { return false; }
  /// What runs PTX, if it does: claims on: machine are asked of those alone.
  virtual ProgramMachine* machine() { return nullptr; }
  virtual Answer run(const Call& call, const Layout& layout) = 0;
};

/// Makes the target a name on the command line means: "reference", "subject:bf16", "planted:softmax.finite_mask@fp32",
/// "plugin:libonednn.so", ... Throws Error naming the forms.
std::unique_ptr<Target> make_target(const std::string& name);

/// Thrown by make_target for a target that is known, and that this machine or this build does not have.
struct TargetMissing : Error {
  using Error::Error;
};

/// A kind of target that is linked into the program beside the engine: `make(name)` for names KIND:REST, and for KIND
/// alone where that is a form.
struct RegisterTarget {
  using Make = std::unique_ptr<Target> (*)(const std::string& name);
  /// `form`: how such names are written, "ranks:threads".
  RegisterTarget(const char* kind, const char* form, Make make);
};

}  // namespace assay
