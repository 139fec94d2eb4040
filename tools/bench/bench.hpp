#pragma once
#include <functional>
#include <string>
#include <vector>

namespace assay::bench {

/// Something that is timed: seconds per call are what Google Benchmark says of `work`.
struct Timed {
  std::string name;
  std::function<void()> work;
  double amount = 0;  // of `unit` that one call does; 0: none is reported
  std::string unit;   // "elements", "flops", "bytes", "calls"
};

/// A ratio of two timings of the same run, and what it must be.
struct Ratio {
  std::string name;
  std::string numerator, denominator;  // names of Timed; ratio = seconds / seconds
  double limit = 0;
  bool at_least = false;  // ratio >= limit, otherwise ratio <= limit
};

struct Group {
  std::string name;
  std::vector<Timed> timed;
  std::vector<Ratio> ratios;
};

Group matmul();     // against Eigen with the same instruction set, one thread each
Group rows();       // norms against a memory copy, softmax against its exponentials
Group bound();      // the Bound reading against an untiled loop in double
Group attention();  // the softmax-weighted mean against its products; its Bound against an untiled loop
Group threads();    // two threads against one
Group engine();     // cases per second of each op, worker round trip, growth of cost with work

/// Products by Eigen, compiled for the instruction set that the kernels use.
void eigen_product(const double* a, const double* b, double* c, long n);

}  // namespace assay::bench
