// An example of somebody's kernel: RMSNorm in fp32, a block of 128 threads to a row, which adds the squares in a tree
// in shared memory. Compiled with -DNO_BARRIER it lacks the barrier between two levels of the tree.
//   nvcc -arch=compute_80 -lineinfo -ptx rms_norm.cu
extern "C" __global__ void rms_norm(const float* x, const float* w, float* y, int d, float eps) {
  __shared__ float sums[128];
  const int t = threadIdx.x;
  const float* row = x + (long long)blockIdx.x * d;
  float sum = 0;
#pragma unroll 1
  for (int i = t; i < d; i += 128) sum += row[i] * row[i];
  sums[t] = sum;
  __syncthreads();
#pragma unroll 1
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
#ifndef NO_BARRIER
    __syncthreads();
#endif
  }
#ifdef NO_BARRIER
  __syncthreads();
#endif
  const float r = rsqrtf(sums[0] / d + eps);
#pragma unroll 1
  for (int i = t; i < d; i += 128) y[(long long)blockIdx.x * d + i] = row[i] * r * w[i];
}
