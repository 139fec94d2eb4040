#pragma once
#include <string>
#include <vector>

#include "conformance/engine/planted.hpp"
#include "conformance/engine/run.hpp"
#include "conformance/engine/suite.hpp"
#include "conformance/engine/waivers.hpp"

// What a run has to say, as text for a person, as JSON (schema: conformance/engine/report.schema.json) and as JUnit
// XML. Nothing here prints.
namespace assay {

struct Report {
  SuiteOptions options;
  std::vector<Result> results;
  std::vector<Kill> kills;  // of planted:all
  std::vector<WaiverState> waivers;
  std::vector<std::string> not_offered;  // what the target lacks, a line each
  double seconds = 0;
};

struct Counts {
  long long passed = 0, failed = 0, waived = 0, not_offered = 0, broken = 0;
  long long cases = 0, compared = 0;
  double largest_z = 0, seconds = 0;
};
Counts count(const std::vector<Result>& results);
Counts count(const std::vector<Result>& results, const std::string& concept_id);

/// 0: at least one claim passed or failed as waived, none failed. 1: one failed, a planted bug survives, or a waiver is
/// stale. 3: nothing ran, a claim is broken, or a planted bug changes no output bit.
int exit_code(const Report& report);

/// What the target does not offer of the ops of the pages that match, and what it says this machine cannot do.
std::vector<std::string> not_offered(const SuiteOptions& options, const Target& target);

/// The command that runs just the failing case of a result.
std::string again(const Report& report, const Result& result);
/// A word as the shell reads it back.
std::string shell_quoted(const std::string& word);

// ---- text
std::string verdict_word(Result::Verdict v);
/// One line of the table of claims, and of the kill table; without a newline at the end.
std::string claim_line(const Result& result, std::size_t done, std::size_t all);
std::string kill_heading();
std::string kill_line(const Kill& kill);
/// What is wrong, where, expected, got, allowed, fingerprint, shrunk case, command: in that order.
std::string failure_text(const Report& report, const Result& result);
/// All below the table: failures, per concept, what is not offered, waivers, the elements judged, the last line.
/// `verbose`: how often each option value was drawn, too.
std::string summary_text(const Report& report, bool verbose);

// ---- files
std::string json_text(const Report& report);
std::string junit_text(const Report& report);

}  // namespace assay
