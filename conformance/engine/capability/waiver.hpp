#pragma once
#include <string>

namespace assay {

/// A known failure that is not to be reported as one: it fails the run when its case passes, or when it has expired.
struct Waiver {
  int line = 0;
  std::string claim;            ///< id or glob: "softmax.safe.nan_isolation", "softmax.safe.*"
  std::string contract, cases;  ///< both may be empty: every contract, every case; `case` in the file
  std::string tracker, reason;  ///< "oneDNN#1234" or an URL
  std::string expires;          ///< "2027-06-30" or ""
  /// Dates as year-month-day; a waiver holds on its last day.
  bool expired(const std::string& today) const { return !expires.empty() && today > expires; }
};

}  // namespace assay
