#include "distributed/communicator/nccl_transport.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <thread>
#include <utility>
#include <vector>

#include "reference/core/error.hpp"

namespace assay {
namespace {

void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw Error(call, "success", cudaGetErrorString(status));
}

void check(ncclResult_t status, const char* call) {
  if (status != ncclSuccess && status != ncclInProgress) throw Error(call, "success", ncclGetErrorString(status));
}

/// Device memory for the time of one exchange.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t size) {
    if (size > 0) check(cudaMalloc(&data_, size), "cudaMalloc");
  }
  ~DeviceBytes() { cudaFree(data_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

class NcclTransport : public Transport {
 public:
  NcclTransport(Transport& control, std::chrono::milliseconds deadline) : control_(control), deadline_(deadline) {}
  ~NcclTransport() override {
    if (communicator_ != nullptr) ncclCommAbort(communicator_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  void open() {
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    if (devices == 0) throw Error("ranks over NCCL", "a CUDA device", "none");
    check(cudaSetDevice(rank() % devices), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    const ncclUniqueId id = share_id();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // so that the deadline holds for NCCL's own waits
    check(ncclCommInitRankConfig(&communicator_, size(), id, rank(), &config), "ncclCommInitRankConfig");
    settle("ncclCommInitRankConfig");
  }
  /// When all went well; otherwise the destructor aborts what is under way.
  void close() {
    check(ncclCommFinalize(communicator_), "ncclCommFinalize");
    settle("ncclCommFinalize");
    check(ncclCommDestroy(std::exchange(communicator_, nullptr)), "ncclCommDestroy");
  }

  int rank() const override { return control_.rank(); }
  int size() const override { return control_.size(); }
  void fail(const std::string& why) override { control_.fail(why); }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override {
    std::vector<Outgoing> announced(out.begin(), out.end());
    std::vector<Incoming> expected(in.begin(), in.end());
    std::size_t total = 0;
    for (Outgoing& o : announced) {
      total += o.bytes.size();
      o.bytes = {};
    }
    for (Incoming& i : expected) {
      total += i.bytes.size();
      i.bytes = {};
    }
    control_.exchange(announced, expected);  // what follows matches: equal envelopes mean equal sizes
    const DeviceBytes memory(total);
    std::byte* at = memory.data();
    for (const Outgoing& o : out) at = copy(at, o.bytes.data(), o.bytes.size(), at, cudaMemcpyHostToDevice);
    at = memory.data();
    check(ncclGroupStart(), "ncclGroupStart");
    for (const Outgoing& o : out) {
      if (!o.bytes.empty()) check(ncclSend(at, o.bytes.size(), ncclUint8, o.to, communicator_, stream_), "ncclSend");
      at += o.bytes.size();
    }
    std::byte* const received = at;
    for (const Incoming& i : in) {
      if (!i.bytes.empty()) check(ncclRecv(at, i.bytes.size(), ncclUint8, i.from, communicator_, stream_), "ncclRecv");
      at += i.bytes.size();
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
    settle("ncclGroupEnd");
    at = received;
    for (const Incoming& i : in) at = copy(i.bytes.data(), at, i.bytes.size(), at, cudaMemcpyDeviceToHost);
    finish();
  }

 private:
  /// Rank 0's id of the communicator, on all ranks.
  ncclUniqueId share_id() {
    ncclUniqueId id{};
    Envelope call;
    call.call = RanksCall::broadcast;
    call.from = 0;
    call.count = sizeof id;
    call.format = format_name(formats::uint8);
    const std::span<std::byte> bytes(reinterpret_cast<std::byte*>(&id), sizeof id);
    if (rank() != 0) {
      control_.exchange({}, std::vector<Incoming>{{0, call, bytes}});
      return id;
    }
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    std::vector<Outgoing> out;
    for (int r = 1; r < size(); ++r) out.push_back({r, call, bytes});
    control_.exchange(out, {});
    return id;
  }

  /// Where the next part lies on the device.
  std::byte* copy(void* to, const void* from, std::size_t size, std::byte* device, cudaMemcpyKind kind) {
    if (size > 0) check(cudaMemcpyAsync(to, from, size, kind, stream_), "cudaMemcpyAsync");
    return device + size;
  }

  /// Calls `done` until it is true. @throws Error at the deadline, when NCCL has been told to stop.
  template <class F>
  void poll(const char* call, F done) {
    const auto until = std::chrono::steady_clock::now() + deadline_;
    while (!done()) {
      if (std::chrono::steady_clock::now() >= until) {
        if (communicator_ != nullptr) ncclCommAbort(std::exchange(communicator_, nullptr));
        throw Error(call, "an end within the deadline of " + std::to_string(deadline_.count()) + " ms", "none");
      }
      std::this_thread::yield();
    }
  }

  /// Waits until NCCL has taken the last call.
  void settle(const char* call) {
    poll(call, [&] {
      ncclResult_t state = ncclSuccess;
      check(ncclCommGetAsyncError(communicator_, &state), "ncclCommGetAsyncError");
      check(state, call);
      return state == ncclSuccess;
    });
  }

  /// Waits until the stream has done everything.
  void finish() {
    poll("transfer by NCCL", [&] {
      const cudaError_t state = cudaStreamQuery(stream_);
      if (state != cudaErrorNotReady) check(state, "cudaStreamQuery");
      return state == cudaSuccess;
    });
  }

  Transport& control_;
  std::chrono::milliseconds deadline_;
  cudaStream_t stream_ = nullptr;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace

std::function<void(Communicator&)> over_nccl(std::function<void(Communicator&)> body, RanksOptions options) {
  return [body = std::move(body), options](Communicator& started) {
    NcclTransport transport(started.transport(), options.deadline);
    transport.open();
    Communicator communicator(transport);
    body(communicator);
    transport.close();
  };
}

}  // namespace assay
