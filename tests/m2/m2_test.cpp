// Drives libllama with fixed batches and compares KV caches that are split by heads with caches that are not.
//
//   m2_test equal  MODEL...          for each configuration: fractions 0.25, 0.5, 0.75 against 1, bit for bit
//   m2_test digest MODEL...          for each configuration: a digest of all results without a split, one line each.
//                                    also builds and runs with a tree that does not have the split
//   m2_test place  MODEL...          with --rpc: where the scheduler puts the attention and the stores
//   m2_test auto   MODEL...          automatic flash attention
//   m2_test streams MODEL...         16 sequences, each with its own stream
//   m2_test long   MODEL...          a state that is read and written in several batches
//   m2_test refuse DIR               every refusal, and caches without anything to split. DIR has the models by name
//                                    (tensor split: only with --rpc, a model needs a device for it)
//   m2_test heads  DIR               ties of fraction x KV heads
//   m2_test blocks DIR               block sizes that do not divide a head
//
// options, in front of the command: --rpc HOST:PORT  offload all layers to this device
//                                   --ngl N          offload N layers only
//                                   --quick          fewer configurations
//                                   --no-window-on-device  a sliding window makes no round trip on the device
//                                   --tolerance T    compare logits with this absolute tolerance, and no state bytes
//
// Prints one line for each check and "N passed, N failed" at the end; exits with 1 if a check failed.

#include "m2_cases.h"

static uint64_t fnv(uint64_t h, const void * data, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        h = (h ^ ((const uint8_t *) data)[i])*1099511628211ull;
    }
    return h;
}

static bool all_finite(const result & r) {
    for (const auto & s : r.steps) {
        for (float l : s.logits) {
            if (!std::isfinite(l)) {
                return false;
            }
        }
    }
    return true;
}

// K and V in MiB as the log has them: total, and in the buffers of single streams
static void kv_sizes(double & total, double & host) {
    total = host = 0.0;
    for (const auto & [level, text] : log_lines) {
        const size_t p = text.find("KV buffer size = ");
        if (p != std::string::npos) {
            const double x = atof(text.c_str() + p + 17);
            total += x;
            host  += text.find("host half") != std::string::npos ? x : 0.0;
        }
    }
}

static void cmd_equal(const std::string & path) {
    const auto model = load(path);
    const auto name  = stem(path);

    for (const auto & c : configs()) {
        const result off = run(model.get(), c, 1.0f);
        double size_off, host_off;
        kv_sizes(size_off, host_off);

        // a comparison of equal nonsense proves nothing
        std::set<float> distinct(off.steps[0].logits.begin(), off.steps[0].logits.end());
        check(all_finite(off) && distinct.size() > 100 && host_off == 0.0, fmt("%-7s %s off: sane", name.c_str(), c.str().c_str()));

        for (float frac : { 0.25f, 0.5f, 0.75f }) {
            const auto label = fmt("%-7s %s frac %.2f", name.c_str(), c.str().c_str(), frac);

            const result split = run(model.get(), c, frac);
            double size_split, host_split;
            kv_sizes(size_split, host_split);

            auto diff = differs(off, split);
            check(diff.empty(), label + ": equal to off" + (diff.empty() ? "" : " - " + diff));
            check(std::fabs(size_off - size_split) < 0.05 && std::fabs(host_split - (1.0 - frac)*size_off) < 0.03,
                    label + fmt(": %.2f of %.2f MiB in the host half", host_split, size_split));

            if (tolerance == 0.0f) {
                diff = differs(off, run(model.get(), c, frac, &off));
                check(diff.empty(), label + ": state saved unsplit, restored split" + (diff.empty() ? "" : " - " + diff));
                diff = differs(off, run(model.get(), c, 1.0f, &split));
                check(diff.empty(), label + ": state saved split, restored unsplit" + (diff.empty() ? "" : " - " + diff));
            }
        }
    }
}

static void cmd_digest(const std::string & path) {
    const auto model = load(path);

    for (const auto & c : configs()) {
        const result r = run(model.get(), c, 1.0f);
        uint64_t h_logits = 14695981039346656037ull;
        uint64_t h_states = h_logits;
        for (const auto & s : r.steps) {
            h_logits = fnv(h_logits, s.logits.data(), s.logits.size()*sizeof(float));
            h_states = fnv(h_states, s.bytes.data(), s.bytes.size());
        }
        std::string graph;
        for (const auto & [level, text] : log_lines) {
            for (const char * key : { "graph nodes", "graph splits", "KV buffer size", "compute buffer size =" }) {
                const size_t p = text.find(key);
                if (p != std::string::npos && level == GGML_LOG_LEVEL_INFO) {
                    graph += " " + text.substr(p, text.size() - p - 1);
                }
            }
        }
        printf("digest %-7s %s logits %016llx states %016llx%s\n", stem(path).c_str(), c.str().c_str(),
                (unsigned long long) h_logits, (unsigned long long) h_states, graph.c_str());
        n_passed++;
    }
}

// automatic flash attention compares the device of the attention with that of the layer
static void cmd_auto(const std::string & path) {
    const auto model = load(path);
    llama_context_params p = small_params(0.5f);
    log_lines.clear();
    context_ptr ctx(llama_init_from_model(model.get(), p), llama_free);
    size_t n_enabled = 0; // as older trees say it, and newer ones
    for (const char * text : { "Flash Attention was auto, set to enabled", "Flash Attention enabled" }) {
        n_enabled += logged(GGML_LOG_LEVEL_INFO, text).size();
    }
    check(ctx && n_enabled == 1,
            fmt("%-7s automatic flash attention is enabled", stem(path).c_str()));
}

static void cmd_streams(const std::string & path) {
    const auto model = load(path);
    for (const bool fa : { true, false }) {
        if (!fa && stem(path) == "deci") {
            continue; // its layers differ in KV heads
        }
        for (const ggml_type type : { GGML_TYPE_F16, GGML_TYPE_Q8_0 }) {
            const config c = { fa, type, fa ? type : GGML_TYPE_F16, 16, false, 24 };
            std::vector<result> res(2);
            for (int i = 0; i < 2; ++i) {
                context_ptr ctx = context(model.get(), c, i == 0 ? 1.0f : 0.5f);
                if (!ctx) {
                    die("no context");
                }
                driver d(ctx.get(), c, res[i]);
                d.decode("prompt", d.all(), c.n_prompt, 0);
                d.decode("some streams", { 2, 3, 4, 5, 6, 7, 8, 9, 10 }, 2, 1);
                d.decode("one stream", { 13 }, 1, 2);
                llama_memory_seq_rm(d.mem, 15, -1, -1);
                llama_memory_seq_cp(d.mem, 2, 15, -1, -1);
                d.pos[15] = d.pos[2];
                d.decode("copy", d.all(), 1, 3);
                for (int s : d.all()) {
                    llama_memory_seq_rm (d.mem, s, 2, 6);
                    llama_memory_seq_add(d.mem, s, 6, -1, -4);
                    d.pos[s] -= 4;
                }
                d.decode("shift", d.all(), 1, 4);
                for (int s : d.all()) {
                    d.bytes(fmt("state %d", s), d.get_seq(s));
                }
            }
            const auto diff = differs(res[0], res[1]);
            check(diff.empty(), fmt("%-7s %s frac 0.50: equal to off", stem(path).c_str(), c.str().c_str()) + (diff.empty() ? "" : " - " + diff));
        }
    }
}

// rows are moved in batches of 1 MiB: the state of a long prompt takes several of them
static void cmd_long(const std::string & path) {
    const auto model = load(path);
    const config c = { true, GGML_TYPE_F16, GGML_TYPE_F16, 1, false, 3000 };
    std::vector<result> res(2);
    std::vector<uint8_t> state;
    for (int i = 0; i < 2; ++i) {
        context_ptr ctx = context(model.get(), c, i == 0 ? 1.0f : 0.25f);
        if (!ctx) {
            die("no context");
        }
        driver d(ctx.get(), c, res[i]);
        for (int k = 0; k < 3; ++k) {
            d.decode(fmt("part %d of the prompt", k), { 0 }, 1000, k);
        }
        const auto own = d.get_seq(0);
        d.bytes("state", own);
        if (i == 0) {
            state = own;
        }
        // shifted by a few cells, which are in use by then
        llama_memory_clear(d.mem, true);
        d.pos[0] = 0;
        d.decode("other tokens", { 0 }, 5, 9);
        d.set_seq(0, state);
        d.pos[0] = 3000;
        d.decode("after a restore", { 0 }, 1, 10);

        const char * file = "m2_test.long.state";
        llama_token tok = 300; size_t n = 0;
        if (!llama_state_save_file(ctx.get(), file, &tok, 1)) {
            die("saving failed");
        }
        llama_memory_clear(d.mem, true);
        if (!llama_state_load_file(ctx.get(), file, &tok, 1, &n)) {
            die("loading failed");
        }
        remove(file);
        d.decode("after loading a file", { 0 }, 1, 11);
    }
    const auto diff = differs(res[0], res[1]);
    check(state.size() > 4*1024*1024 && diff.empty(), fmt("%-7s %s frac 0.25: equal to off, state of %zu bytes", stem(path).c_str(), c.str().c_str(), state.size()) +
            (diff.empty() ? "" : " - " + diff));
}

int main(int argc, char ** argv) {
    std::vector<std::string> args(argv + 1, argv + argc);
    std::string rpc;
    size_t i = 0;
    for (; i < args.size() && args[i].rfind("--", 0) == 0; ++i) {
        if (args[i] == "--quick") {
            quick = true;
        } else if (args[i] == "--no-window-on-device") {
            window_on_device = false;
        } else if (args[i] == "--rpc" && i + 1 < args.size()) {
            rpc = args[++i];
        } else if (args[i] == "--ngl" && i + 1 < args.size()) {
            ngl = std::stoi(args[++i]);
        } else if (args[i] == "--tolerance" && i + 1 < args.size()) {
            tolerance = std::stof(args[++i]);
        } else {
            die("unknown option " + args[i]);
        }
    }
    if (i + 1 >= args.size()) {
        die("usage: m2_test [--rpc HOST:PORT] [--ngl N] [--quick] [--no-window-on-device] [--tolerance T] equal|digest|place|auto|streams|long|refuse|heads|blocks PATH...");
    }

    llama_log_set(log_callback, nullptr);
    llama_backend_init();

    if (!rpc.empty()) {
        auto * reg = ggml_backend_reg_by_name("RPC");
        auto * add = reg ? (ggml_backend_reg_t (*)(const char *)) ggml_backend_reg_get_proc_address(reg, "ggml_backend_rpc_add_server") : nullptr;
        auto * srv = add ? add(rpc.c_str()) : nullptr;
        if (!srv) {
            die("no RPC device at " + rpc);
        }
        ggml_backend_register(srv);
    }
    for (size_t j = 0; j < ggml_backend_dev_count(); ++j) {
        const auto type = ggml_backend_dev_type(ggml_backend_dev_get(j));
        has_device = has_device || type == GGML_BACKEND_DEVICE_TYPE_GPU || type == GGML_BACKEND_DEVICE_TYPE_IGPU;
    }

    const std::map<std::string, void (*)(const std::string &)> commands = {
        { "equal", cmd_equal }, { "digest", cmd_digest }, { "place",  cmd_place  }, { "streams", cmd_streams },
        { "long",   cmd_long  }, { "auto",   cmd_auto   }, { "refuse", cmd_refuse }, { "heads", cmd_heads }, { "blocks", cmd_blocks },
    };
    const auto it = commands.find(args[i]);
    if (it == commands.end()) {
        die("unknown command " + args[i]);
    }
    for (++i; i < args.size(); ++i) {
        it->second(args[i]);
    }

    printf("%d passed, %d failed\n", n_passed, n_failed);
    llama_backend_free();
    return n_failed != 0;
}
