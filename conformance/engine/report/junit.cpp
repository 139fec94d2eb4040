#include <fmt/format.h>

#include <map>

#include "conformance/engine/report/report.hpp"

namespace assay {
namespace {

/// Bytes of a well-formed UTF-8 character at `at`, 0 if there is none.
std::size_t utf8_length(const std::string& s, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U; };
  const unsigned first = byte(at);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned second = byte(at + 1);  // overlong forms, surrogates, beyond U+10FFFF
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
      (first == 0xF4 && second > 0x8F))
    return 0;
  if (first == 0xEF && second == 0xBF && byte(at + 2) >= 0xBE) return 0;  // U+FFFE, U+FFFF are not XML
  return length;
}

/// Text as XML 1.0 allows it; what it does not have becomes "?".
std::string escaped(const std::string& s) {
  std::string out;
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t n = utf8_length(s, i);
    const auto ch = static_cast<unsigned char>(s[i]);
    if (n == 0 || (ch < 0x20 && ch != '\n' && ch != '\t'))
      out += '?';
    else if (ch == '&')
      out += "&amp;";
    else if (ch == '<')
      out += "&lt;";
    else if (ch == '>')
      out += "&gt;";
    else if (ch == '"')
      out += "&quot;";
    else if (ch == '\n')
      out += "&#10;";
    else
      out.append(s, i, n);
    i += n == 0 ? 1 : n;
  }
  return out;
}

struct Suite {
  std::string cases;
  long long tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;
};

void open_case(Suite& s, const std::string& concept_id, const std::string& name, double seconds) {
  s.cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">", escaped(concept_id),
                         escaped(name), seconds);
  ++s.tests;
  s.seconds += seconds;
}

void inside(Suite& s, const char* tag, const std::string& message, const std::string& text) {
  s.cases += fmt::format("<{0} message=\"{1}\">{2}</{0}>", tag, escaped(message), escaped(text));
}

void add(Suite& s, const Report& report, const Result& r) {
  open_case(s, r.concept_id, r.claim + " [" + r.contract + "]", r.seconds);
  if (r.verdict == Result::Verdict::failed) {
    ++s.failures;
    inside(s, "failure", r.failure.what, failure_text(report, r));
  } else if (r.verdict == Result::Verdict::broken) {
    ++s.errors;
    inside(s, "error", r.reason, "");
  } else if (r.verdict == Result::Verdict::waived) {
    ++s.skipped;
    inside(s, "skipped", "waived: " + r.waiver, failure_text(report, r));
  } else if (r.verdict == Result::Verdict::not_offered) {
    ++s.skipped;
    inside(s, "skipped", "not offered: " + r.reason, "");
  }
  s.cases += "</testcase>\n";
}

void add(Suite& s, const Kill& k) {
  open_case(s, k.concept_id, "planted " + k.op + "." + k.bug + "@" + k.contract, k.seconds);
  if (k.inert) {
    ++s.errors;
    inside(s, "error", "the planted bug changes no output bit", kill_line(k));
  } else if (!k.dead) {
    ++s.failures;
    inside(s, "failure", "the planted bug survives", kill_line(k));
  }
  s.cases += "</testcase>\n";
}

}  // namespace

std::string junit_text(const Report& report) {
  std::map<std::string, Suite> suites;
  for (const Result& r : report.results) add(suites[r.concept_id], report, r);
  for (const Kill& k : report.kills) add(suites[k.concept_id], k);
  for (const WaiverState& w : report.waivers) {
    if (w.problem.empty()) continue;
    Suite& s = suites["waivers"];
    open_case(s, "waivers", w.waiver.tracker + " " + w.waiver.claim, 0);
    ++s.failures;
    inside(s, "failure", w.problem, "");
    s.cases += "</testcase>\n";
  }
  Suite all;
  std::string body;
  for (const auto& [name, s] : suites) {
    body += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n{}"
        "  </testsuite>\n",
        escaped(name), s.tests, s.failures, s.errors, s.skipped, s.seconds, s.cases);
    all.tests += s.tests;
    all.failures += s.failures;
    all.errors += s.errors;
    all.skipped += s.skipped;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"assay run --target {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n{}</testsuites>\n",
      escaped(report.options.target), all.tests, all.failures, all.errors, all.skipped, report.seconds, body);
}

}  // namespace assay
