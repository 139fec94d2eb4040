#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/engine/call_file.hpp"
#include "conformance/engine/case_list.hpp"
#include "conformance/engine/fingerprint.hpp"
#include "conformance/engine/run.hpp"

// Answers that somebody else computed, off line: `assay gen` writes calls, `assay judge` and the target files:DIR judge
// what came back.
namespace assay {

struct GenerateOptions {
  std::string op, concept_id;  // concept_id "": the page of the op
  Contract contract;
  int cases = 0;  // random ones, after the corners
  std::uint64_t seed = 1;
  std::string only_case;
};

/// The calls, in order, as files: call_file's keys and `concept`, `case`, `number` (from 1), `of`. `write` is given the
/// number and the file. Throws Error if the op or the concept does not exist or they do not belong together.
void generate_calls(const GenerateOptions& options,
                    const std::function<void(long long, long long, const SafetensorsFile&)>& write);

/// Judges answers one by one: outputs within the bound of the definition, element by element and in aggregate.
class Answers {
 public:
  /// `source` is what the answers are called: "files:DIR", "stream".
  Answers(std::string source, const RunOptions& options) : source_(std::move(source)), options_(options) {}

  /// An answer from the stream: metadata as generated, and out.N. Its inputs are generated again, and have to have the
  /// digest that was written; inputs that it carries have to be the same. Throws Error if it is no answer to a call of
  /// `assay gen`, or one that came already.
  void take(const SafetensorsFile& answer, const std::string& origin);

  /// A call as it lies in a file, and the answer to it. Throws Error if the call is none.
  void take(const SafetensorsFile& call, const SafetensorsFile& answer, const std::string& origin);
  /// A call that nobody answered.
  void unanswered(const SafetensorsFile& call, const std::string& origin);

  /// One result per concept and contract. A call without an answer breaks it.
  std::vector<Result> results();
  /// Outputs that no answer had, and files without an answer.
  std::vector<std::string> not_offered() const;

 private:
  struct Group {
    Result result;
    std::vector<Observed> failing;
    long long smallest = 0;                // elements of the smallest failing call
    std::map<std::string, bool> answered;  // per output: whether some answer had it
    std::map<long long, bool> numbers;     // of the stream
    long long of = 0;
    std::vector<std::string> missing;
  };
  Group& group(const Page& page, const Call& call);
  void judge(Group& group, const Page& page, const Call& call, const SafetensorsFile& answer,
             const std::string& case_text, const std::string& again, const std::string& origin);

  std::string source_;
  RunOptions options_;
  std::map<std::string, Group> groups_;
};

/// Judges a folder: every NAME.safetensors is a call, NAME.out.safetensors the answer to it; or one call, named by its
/// file. Throws Error if there is
/// no call, or an answer without a call.
void judge_folder(Answers& answers, const std::string& path);

}  // namespace assay
