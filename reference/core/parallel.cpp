#include "reference/core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace assay {
namespace {

thread_local bool inside_body = false;

int wanted_threads() {
  const char* text = std::getenv("ASSAY_THREADS");
  if (!text || !*text) return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  char* end = nullptr;
  const long n = std::strtol(text, &end, 10);
  if (*end != '\0' || n < 1 || n > 1024) {
    throw Error("ASSAY_THREADS", "a number of threads in 1..1024", "'" + std::string(text) + "'");
  }
  return static_cast<int>(n);
}

/// A run of blocks of one grain each. Every thread has one, the same whenever the same job comes again: what it touches
/// is still in its cache. Who has done with his helps the others.
struct alignas(64) Share {
  std::atomic<Index> next{0};  // block
  Index end = 0;
};

struct Job {
  const Index n, grain;
  const std::function<void(Index, Index)>& body;
  std::vector<Share> shares{};
  std::atomic<int> guests{0};  // pool threads that take ranges of it
  std::mutex mutex{};
  std::exception_ptr error{};  // the first one
};

/// Whether `ready` holds within about 20 us, less than it takes to sleep and be woken.
template <class F>
bool soon(const F& ready) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

/// The callers' helpers: threads that wait for a job and take ranges of it, as the caller does. A range costs one
/// atomic addition; only coming and going take the mutex.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this, i] { serve(static_cast<std::size_t>(i)); });
  }
  ~Pool() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  /// False, and nothing done, if another job is under way.
  bool run(Job& job) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (job_) return false;
      job_ = &job;
      ++posted_;
    }
    wake_.notify_all();
    take_ranges(job, 0);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      job_ = nullptr;  // no more guests
    }
    const auto alone = [&] { return job.guests == 0; };
    if (!soon(alone)) {
      std::unique_lock<std::mutex> lock(mutex_);
      done_.wait(lock, alone);
    }
    return true;
  }

 private:
  void serve(std::size_t self) {
    unsigned seen = 0;
    for (;;) {
      soon([&] { return posted_ != seen; });
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || (job_ && posted_ != seen); });
      if (stop_) return;
      seen = posted_;
      Job& job = *job_;
      ++job.guests;
      lock.unlock();
      take_ranges(job, self);
      lock.lock();
      if (--job.guests == 0) done_.notify_all();  // the job may be gone from here on
    }
  }

  static void take_ranges(Job& job, std::size_t self) {
    inside_body = true;
    for (std::size_t k = 0; k < job.shares.size(); ++k) take_share(job, job.shares[(self + k) % job.shares.size()]);
    inside_body = false;
  }
  static void take_share(Job& job, Share& share) {
    for (Index block = share.next++; block < share.end; block = share.next++) {
      const Index first = block * job.grain;
      try {
        job.body(first, job.n - first > job.grain ? first + job.grain : job.n);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(job.mutex);
        if (!job.error) job.error = std::current_exception();
        for (Share& s : job.shares) s.next = s.end;
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  std::atomic<unsigned> posted_{0};  // jobs so far
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

void run_here(Index n, Index grain, const std::function<void(Index, Index)>& body) {
  for (Index first = 0; first < n;) {
    const Index last = n - first > grain ? first + grain : n;
    body(first, last);
    first = last;
  }
}

}  // namespace

int thread_count() {
  static const int threads = wanted_threads();
  return threads;
}

void parallel_for(Index n, Index grain, const std::function<void(Index first, Index last)>& body) {
  grain = std::max<Index>(grain, 1);
  if (n <= grain || inside_body || thread_count() == 1) {
    run_here(n, grain, body);
    return;
  }
  static Pool pool(thread_count());
  Job job{n, grain, body};
  const Index blocks = (n - 1) / grain + 1, threads = thread_count();
  job.shares = std::vector<Share>(static_cast<std::size_t>(threads));
  for (Index t = 0; t < threads; ++t) {
    Share& share = job.shares[static_cast<std::size_t>(t)];
    share.next = t * blocks / threads;
    share.end = (t + 1) * blocks / threads;
  }
  if (!pool.run(job)) {
    run_here(n, grain, body);
    return;
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace assay
