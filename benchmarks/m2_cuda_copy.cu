// How fast the host's memory reaches the device, pinned and pageable: one copy after the other, each waited for, as ggml
// copies the inputs of a split.
//
//   m2_cuda_copy BYTES[xN]...   N slices of a host buffer, one behind the other, into one device buffer
//
// Prints one JSON object a line: the median of several rounds.

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void need(cudaError_t e) {
    if (e != cudaSuccess) {
        fprintf(stderr, "m2_cuda_copy: %s\n", cudaGetErrorString(e));
        exit(2);
    }
}

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void measure(bool pinned, size_t bytes, int n) {
    char * host = nullptr;
    void * dev  = nullptr;
    if (pinned) {
        need(cudaMallocHost((void **) &host, bytes*n));
    } else if (!(host = (char *) malloc(bytes*n))) {
        exit(2);
    }
    need(cudaMalloc(&dev, bytes));
    for (size_t i = 0; i < bytes*n; ++i) {
        host[i] = (char) (i*131 + (i >> 12));
    }
    std::vector<double> rounds;
    for (int r = 0; r < (pinned ? 13 : 6); ++r) {
        const double t = now();
        for (int i = 0; i < n; ++i) {
            need(cudaMemcpyAsync(dev, host + i*bytes, bytes, cudaMemcpyHostToDevice, cudaStreamPerThread));
            need(cudaStreamSynchronize(cudaStreamPerThread));
        }
        if (r > 0) {
            rounds.push_back(now() - t);
        }
    }
    std::sort(rounds.begin(), rounds.end());
    const double s = rounds[rounds.size()/2];
    printf("{\"what\": \"copy\", \"kind\": \"%s\", \"bytes\": %zu, \"n\": %d, \"ms\": %.4f, \"gbs\": %.2f}\n",
            pinned ? "pinned" : "pageable", bytes, n, s*1e3, bytes*n/s/1e9);
    need(cudaFree(dev));
    if (pinned) {
        need(cudaFreeHost(host));
    } else {
        free(host);
    }
}

int main(int argc, char ** argv) {
    for (int i = 1; i < argc; ++i) {
        const char * x = strchr(argv[i], 'x');
        for (bool pinned : { true, false }) {
            measure(pinned, strtoull(argv[i], nullptr, 10), x ? atoi(x + 1) : 1);
        }
    }
    return 0;
}
