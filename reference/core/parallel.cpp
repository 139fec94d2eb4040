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

struct Job {
  const Index n, grain;
  const std::function<void(Index, Index)>& body;
  std::atomic<Index> next{0};  // first element of the next range
  std::atomic<int> guests{0};  // pool threads that take ranges of it
  std::exception_ptr error{};  // the first one, under the pool's mutex
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
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
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
    take_ranges(job);
    soon([&] { return job.guests == 0; });
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return job.guests == 0; });
    job_ = nullptr;
    return true;
  }

 private:
  void serve() {
    unsigned seen = 0;
    for (;;) {
      soon([&] { return posted_ != seen; });
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || (job_ && job_->next < job_->n); });
      if (stop_) return;
      seen = posted_;
      Job& job = *job_;
      ++job.guests;
      lock.unlock();
      take_ranges(job);
      lock.lock();
      if (--job.guests == 0) done_.notify_all();
    }
  }

  void take_ranges(Job& job) {
    inside_body = true;
    for (Index first = job.next.fetch_add(job.grain); first < job.n; first = job.next.fetch_add(job.grain)) {
      try {
        job.body(first, job.n - first > job.grain ? first + job.grain : job.n);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!job.error) job.error = std::current_exception();
        job.next = job.n;
      }
    }
    inside_body = false;
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
  if (!pool.run(job)) {
    run_here(n, grain, body);
    return;
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace assay
