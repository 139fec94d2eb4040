#pragma once
#include <functional>
#include <vector>

#include "conformance/engine/target.hpp"
#include "distributed/communicator/communicator.hpp"

// A group of ranks as a target: a file per op says what each rank does with its share of a call, a file per back end
// what a group is.
namespace assay {

/// Runs a body on n ranks, and tells the bytes that each sent. Ranks are threads of this process, or processes that all
/// run the same op: then those that are none of the n do nothing, and what each rank of them wrote is put together.
using Group = std::function<std::vector<std::int64_t>(int n, const std::function<void(Communicator&)>& body)>;

/// Thrown before any rank begins: what a group does not have.
struct Unsupported {
  std::string what;
};

/// An op of groups of ranks.
struct RanksOp {
  const char* op;
  /// Whether it offers an option's value (as Target::offers_option).
  bool (*offers)(const OpSpec& op, std::size_t option, int value);
  /// Fills the answer's outputs and `sent`. Throws Error on a call that it refuses. What a rank computes it writes to
  /// tensors that hold NaN everywhere until then: processes that share no memory are told apart by it.
  void (*run)(const Call& call, const Group& group, Answer& answer);
  std::vector<const char*> contracts = {"fp32", "fp64"};
};
struct RegisterRanksOp {
  explicit RegisterRanksOp(const RanksOp& op);
};
/// nullptr if groups have no such op.
const RanksOp* ranks_op(const std::string& op);

/// The reduction of the library that moves the bytes, where it has one: MPI_Allreduce. Null otherwise, and the value
/// `library` of an option is not offered then.
using LibraryAllReduce = std::function<void(Communicator& ranks, View in, Buffer out, Op op)>;
LibraryAllReduce& library_all_reduce();

/// A group as a target: everything but how it runs a call.
class GroupTarget : public Target {
 public:
  std::vector<Contract> contracts(const OpSpec& op) const override;
  bool offers_output(const OpSpec&, const std::string&) const override { return true; }
  bool offers_option(const OpSpec& op, std::size_t option, int value) const override;
  bool sees_memory() const override { return false; }
  bool same_kernel() const override { return true; }
  bool is_group() const override { return true; }
  Answer run(const Call& call, const Layout& layout) final;

 protected:
  /// Whether its library has reductions of its own.
  virtual bool has_library() const { return false; }
  /// An Error that it throws is a refusal.
  virtual void ask(const RanksOp& op, const Call& call, const Layout& layout, Answer& answer) = 0;

 private:
  std::string not_offered(const Call& call) const;
};

/// Adds a kind of group: `name` is the target, "ranks:threads".
struct RegisterGroup {
  RegisterGroup(const char* name, std::unique_ptr<Target> (*make)());
};

}  // namespace assay
