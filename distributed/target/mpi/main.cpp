// One process of the group ranks:mpi, started by mpirun: it connects to the engine's socket, and runs what is asked
// there as its own rank until the engine closes it.
#include <mpi.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "distributed/communicator/mpi_ranks.hpp"
#include "distributed/communicator/mpi_transport.hpp"
#include "distributed/communicator/watched.hpp"
#include "distributed/target/mpi/wire.hpp"
#include "distributed/target/ranks.hpp"
#include "reference/core/vocabulary.hpp"

namespace assay {
namespace {

int connected_to(const char* path) {
  const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = socket_address(path);
  if (s < 0 || connect(s, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw Error("a rank cannot reach the engine", "a socket at " + std::string(path), std::strerror(errno));
  return s;
}

/// MPI's own reductions know the formats that C++ has.
MPI_Datatype type_of(const Format& f) {
  if (f.name == formats::fp32.name) return MPI_FLOAT;
  if (f.name == formats::fp64.name) return MPI_DOUBLE;
  if (f.name == formats::int32.name) return MPI_INT32_T;
  throw Error("MPI_Allreduce", "fp32, fp64 or int32", std::string(f.name));
}
MPI_Op op_of(Op op) {
  const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN};
  if (static_cast<std::size_t>(op) >= std::size(ops))
    throw Error("MPI_Allreduce", "sum, prod, max or min", std::string(name(op)));
  return ops[static_cast<std::size_t>(op)];
}

/// Runs a body as this process's rank of n, and tells all of them what each has sent.
std::vector<std::int64_t> run_as_rank(MpiSession& session, int n, std::uint32_t delays,
                                      const std::function<void(Communicator&)>& body) {
  std::vector<std::int64_t> sent(static_cast<std::size_t>(n));
  session.run(n, [&](Communicator& of) {
    auto& mpi = dynamic_cast<MpiTransport&>(of.transport());
    library_all_reduce() = [&mpi](Communicator&, View in, Buffer out, Op op) {
      const bool in_place = in.data == out.data;
      MPI_Allreduce(in_place ? MPI_IN_PLACE : in.data, out.data, static_cast<int>(in.count), type_of(*in.format),
                    op_of(op), mpi.communicator());
    };
    WatchedTransport watched(mpi, delays);
    Communicator ranks(watched);
    body(ranks);
    const std::vector<std::int64_t> own{watched.sent()};
    of.all_gather(own, sent);
  });
  return sent;
}

/// What the ranks wrote, each its share, on rank 0: of every element the one that is a number, if any is.
void put_together(MpiSession& session, const Tensors& outputs) {
  session.run(session.size(), [&](Communicator& of) {
    for (const Named& t : outputs.all()) {
      const Index n = t.value.size();
      std::vector<double> all(of.rank() == 0 ? static_cast<std::size_t>(n * of.size()) : 0);
      of.gather(t.value, all, 0);
      for (std::size_t i = 0; i < all.size(); ++i)
        if (!std::isnan(all[i])) t.value.data()[static_cast<Index>(i) % n] = all[i];
    }
  });
}

Answer run(MpiSession& session, const SafetensorsFile& request) {
  Answer answer;
  try {
    const Call call = call_from_file(request, "call");
    const auto delays = static_cast<std::uint32_t>(std::stoul(request.metadata.at("delays")));
    const Group group = [&](int n, const std::function<void(Communicator&)>& body) {
      if (n > session.size()) throw Unsupported{std::to_string(n) + " ranks, more than there are processes"};
      return run_as_rank(session, n, delays, body);
    };
    ranks_op(call.op->name)->run(call, group, answer);
    if (answer.kind == Answer::Kind::ok) put_together(session, answer.outputs);
  } catch (const Unsupported& e) {
    answer = {Answer::Kind::unsupported, e.what, {}, {}, {}, {}};
  } catch (const Error& e) {
    answer = {Answer::Kind::refused, e.what(), {}, {}, {}, {}};
  }
  return answer;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  using namespace assay;
  try {
    MpiSession session(argc, argv);
    if (argc != 2) throw Error("arguments of a rank", "the path of the engine's socket", std::to_string(argc - 1));
    const int engine = connected_to(argv[1]);
    const std::int32_t rank = session.rank();
    if (send(engine, &rank, sizeof rank, MSG_NOSIGNAL) != sizeof rank) return 1;
    while (const auto request = receive_file(engine)) {
      const Answer answer = run(session, *request);
      if (rank == 0 && !send_file(engine, answer_to_file(answer))) break;
    }
    close(engine);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
