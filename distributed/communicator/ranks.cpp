#include "distributed/communicator/ranks.hpp"

#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "distributed/communicator/in_process.hpp"
#include "reference/core/error.hpp"

namespace assay {

void run_body(Transport& transport, const std::function<void(Communicator&)>& body) {
  try {
    Communicator communicator(transport);
    body(communicator);
  } catch (const std::exception& e) {
    transport.fail(e.what());
  } catch (...) {
    transport.fail("an exception that is no std::exception");
  }
}

void run_ranks(int n, const std::function<void(Communicator&)>& body, RanksOptions options) {
  InProcess meeting(n, options.deadline);
  const auto run = [&](int rank) {
    InProcessTransport transport(meeting, rank);
    run_body(transport, body);
    meeting.finish(rank);
  };
  std::vector<std::thread> threads;
  try {
    for (int r = 0; r < n; ++r) threads.emplace_back(run, r);
  } catch (const std::system_error& e) {
    meeting.fail(static_cast<int>(threads.size()), std::string("its thread does not start: ") + e.what());
  }
  for (std::thread& t : threads) t.join();
  if (meeting.failure()) throw Error(meeting.failure()->text());
}

}  // namespace assay
