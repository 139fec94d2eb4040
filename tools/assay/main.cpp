#include <fmt/format.h>
#include <malloc.h>

#include "reference/core/error.hpp"
#include "tools/assay/command.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  // Tensors are made and dropped all the time: keep their memory instead of handing it back page by page.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  CLI::App app{"assay: executable specification and conformance kit for the building blocks of large language models"};
  app.require_subcommand(1);
  app.footer("Exit codes: 0 pass, 1 a verdict failed, 2 usage, 3 nothing ran or the target is broken.");
  int exit_code = command::passed;
  command::add_list(app);
  command::add_explain(app);
  command::add_run(app, exit_code);
  command::add_gen(app);
  command::add_judge(app, exit_code);
  command::add_status(app, exit_code);
  command::add_new(app);
  command::add_mutate(app, exit_code);
  command::add_bench(app, exit_code);
  command::add_vectors(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    app.exit(e);
    return command::usage;
  } catch (const Error& e) {
    fmt::print(stderr, "assay: {}\n", e.what());
    return command::usage;
  } catch (const std::exception& e) {
    fmt::print(stderr, "assay: {}\n", e.what());
    return command::nothing_ran;
  }
  return exit_code;
}
