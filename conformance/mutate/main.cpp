#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>

#include "conformance/mutate/instrument.hpp"
#include "reference/core/error.hpp"

// assay_mutate SOURCE NAME OP OUTPUT: the build step that writes the instrumented form of a subject. NAME is the path
// that diagnostics and the table of mutants show.
int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: assay_mutate SOURCE NAME OP OUTPUT\n");
    return 2;
  }
  try {
    std::ifstream in(argv[1], std::ios::binary);
    std::stringstream text;
    if (!(text << in.rdbuf())) throw assay::Error("the subject cannot be read", "a C++ source", argv[1]);
    const assay::mutate::Instrumented made = assay::mutate::instrument(text.str(), argv[3], argv[2]);
    const std::string output = argv[4], temporary = output + ".tmp";
    std::ofstream out(temporary, std::ios::binary);
    out << made.text;
    out.close();
    if (!out || std::rename(temporary.c_str(), output.c_str()) != 0)
      throw assay::Error("the instrumented subject cannot be written", "a writable path", output);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "assay_mutate: %s: %s\n", argv[2], e.what());
    return 1;
  }
  return 0;
}
