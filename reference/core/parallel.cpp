#include "reference/core/parallel.hpp"

#include <algorithm>
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
  Index n, grain;
  const std::function<void(Index, Index)>& body;
  Index next = 0;            // first element of the next range
  int running = 0;           // ranges begun and not ended
  std::exception_ptr error;  // the first one
};

/// The callers' helpers: threads that wait for a job and take ranges of it, as the caller does.
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
    std::unique_lock<std::mutex> lock(mutex_);
    if (job_) return false;
    job_ = &job;
    wake_.notify_all();
    take_ranges(job, lock);
    done_.wait(lock, [&] { return job.running == 0; });
    job_ = nullptr;
    return true;
  }

 private:
  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stop_ || (job_ && job_->next < job_->n); });
      if (stop_) return;
      take_ranges(*job_, lock);
    }
  }

  void take_ranges(Job& job, std::unique_lock<std::mutex>& lock) {
    while (job.next < job.n) {
      const Index first = job.next, last = job.n - first > job.grain ? first + job.grain : job.n;
      job.next = last;
      ++job.running;
      lock.unlock();
      std::exception_ptr error;
      inside_body = true;
      try {
        job.body(first, last);
      } catch (...) {
        error = std::current_exception();
      }
      inside_body = false;
      lock.lock();
      if (error) {
        if (!job.error) job.error = error;
        job.next = job.n;
      }
      if (--job.running == 0 && job.next >= job.n) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
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
  Job job{n, grain, body, 0, 0, nullptr};
  if (!pool.run(job)) {
    run_here(n, grain, body);
    return;
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace assay
