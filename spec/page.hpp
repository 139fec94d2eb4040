#pragma once
#include <string>
#include <vector>

// A page of the specification as data. The pages (spec/CHAPTER/CONCEPT.md) are compiled into tables of these records by
// spec/compiler, one table per chapter; nothing in a page is written a second time in C++.
namespace assay {

/// One option of an op. `names` for an enumeration, `numbers` for a number (the values that cases draw from; a call may
/// carry any). The first value is the default.
struct OptionSpec {
  std::string name, says;
  std::vector<std::string> names;
  std::vector<double> numbers;
  bool numeric() const { return names.empty(); }
  int count() const { return static_cast<int>(numeric() ? numbers.size() : names.size()); }
};

/// One tensor of an op: symbolic shape, and its type: `in`, `out`, `acc` (the contract's formats) or a fixed one
/// (`bool`, `int32`). `when_option`/`when_value`: the tensor exists only in calls whose option has that value.
/// `decision`: of an output that says what was chosen, the rule by which a choice is admissible ("" if it is none).
/// `fill`: what the integers of an input mean, and so which are valid ("lengths", "page_table", "cu_seqlens"), with
/// what that depends on in `fill_of`: sizes, and earlier inputs.
struct TensorSpec {
  std::string name, says, dtype;
  std::vector<std::string> shape;
  std::string when_option, when_value;
  std::string decision;
  std::string fill;
  std::vector<std::string> fill_of;
};

struct OpSpec {
  std::string name;
  std::string rows;  // the size along which rows are independent of each other ("" if there is none)
  // The op's error model has met a million honest elements: min(w, b + z sigma) judges. Until then only the worst case
  // w rejects, and what lies beyond b + z sigma is reported as suspect.
  bool validated = true;
  std::vector<TensorSpec> inputs, outputs;
  std::vector<OptionSpec> options;
};

struct ClaimSpec {
  std::string id, kind, on, says;  // id is the full one: "softmax.safe.sum1"
  std::string extra;               // why the page has it although spec/claims.tsv does not; otherwise empty
};

/// Where a planted bug must die: under this contract, in this tier of inputs (`structured` or `generic`).
struct DiesAt {
  std::string contract, tier;
};

struct BugSpec {
  std::string name, says, effect, caught_by;
  std::vector<std::string> seen;
  std::vector<DiesAt> dies;
  std::string extra;  // why the page has it although spec/traps.tsv does not; otherwise empty
};

struct Range {
  std::string name;
  long long low, high;  // inclusive
};

/// A size of the op that is a product of sizes of the case, options of whole numbers, and numbers, H = Hkv g,
/// S = 2 ranks c, or a sum of them, S = past + n; what is written before it may be a part.
struct Product {
  std::string name;
  std::vector<std::string> of;
  bool sum = false;
};

/// What cases of this page's claims are made of, beside the op's options: sizes, further parameters, value profiles of
/// the floating-point inputs, and the corner list, spelled like `--case`.
struct CaseSpec {
  std::vector<Range> sizes, also;
  std::vector<Product> products;
  std::vector<std::string> profiles, corners;
};

struct Page {
  std::string id, chapter, title, path;  // path: "spec/softmax/safe.md"
  std::vector<std::string> source, wings;
  bool has_op = false;
  OpSpec op;         // if has_op
  std::string uses;  // otherwise the op of another page that the claims of this one run on; may be empty
  CaseSpec cases;
  std::vector<ClaimSpec> claims;
  std::vector<BugSpec> bugs;
  std::string body;  // the text below the front matter
};

/// Every page, in order of id.
const std::vector<Page>& pages();
/// The page of a concept, or of an op. Throws Error naming the nearest ids.
const Page& page(const std::string& id);
const Page& page_of_op(const std::string& op);

}  // namespace assay
