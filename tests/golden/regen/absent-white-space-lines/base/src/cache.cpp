#include "cache.h"

cache::cache(const model & m, int n_layer, bool offload) {
    for (int il = 0; il < n_layer; il++) {
        const char * dev_name = "CPU";

        buffer_type buft = cpu_buffer_type();

        if (offload) {
            auto * dev = m.dev_layer(il);
            buft = dev_buffer_type(dev);

            dev_name = dev_name_of(dev);
        }

        log_debug("layer %3d: dev = %s\n", il, dev_name);

        context * ctx = ctx_for(buft);
        if (!ctx) {
            throw std::runtime_error("no context");
        }
        k.push_back(ctx->tensor(il));
        v.push_back(ctx->tensor(il));
    }
}

void cache::split(int n_stream, int gpu_heads) {
    for (int s = 0; s < n_stream; ++s) {
        // nothing to do for a head
        // that is not split

        if (gpu_heads > 0) {
            context * ctx_cpu = ctx_for(cpu_buffer_type(), s);
            if (!ctx_cpu) {
                throw std::runtime_error("no cpu context");
            }
            cpu_k.push_back(ctx_cpu->tensor(s));
        }
    }
}
