// Drives libllama for benchmarks/m2_cuda.py: decodes with a KV cache that is split by heads, beside one that is not.
//
//   m2_cuda decode MODEL [options]   for each fraction: a prompt, then single steps with the same tokens. Logits, and the
//                                    best token of each step, are compared with those of the first fraction
//                                    --text T: T is the prompt, and the first fraction's greedy text follows
//   m2_cuda leak   MODEL [options]   memory before and after many steps, and before and after many contexts
//
// options: --type f16|q8_0  --fracs 1,0.5,…  --depth N  --tokens N  --seqs N  --ctx N  --threads N  --ubatch N
//          --noise: the first fraction once more, its prompt in micro-batches of half the size; and a control that has
//                   another token in sixteen of its prompt
//
// Prints one JSON object a line.

#include "llama.h"
#include "ggml-backend.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

struct options {
    ggml_type          type    = GGML_TYPE_F16;
    std::vector<float> fracs   = { 1.0f, 0.5f, 0.25f };
    int                depth   = 1000;
    int                tokens  = 16;
    int                seqs    = 1;
    int                ctx     = 0;
    int                threads = 1;
    int                ubatch  = 1024;
    bool               noise   = false;
    std::string        text;
};

static std::string host_half; // the log's line about it

static void on_log(ggml_log_level level, const char * text, void *) {
    const std::string line = text;
    const size_t p = line.find("KV buffer size");
    if (p != std::string::npos && line.find("host half") != std::string::npos) {
        const size_t a = line.find_last_of(' ', p - 2);
        host_half = line.substr(a + 1, p - a - 2);
    }
    if (level == GGML_LOG_LEVEL_ERROR) {
        fputs(text, stderr);
    }
}

[[noreturn]] static void die(const std::string & what) {
    fprintf(stderr, "m2_cuda: %s\n", what.c_str());
    exit(2);
}

using context_ptr = std::unique_ptr<llama_context, decltype(&llama_free)>;

static double now() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double device_mib() {
    double used = 0.0;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        auto * dev = ggml_backend_dev_get(i);
        if (ggml_backend_dev_type(dev) == GGML_BACKEND_DEVICE_TYPE_GPU) {
            size_t free, total;
            ggml_backend_dev_memory(dev, &free, &total);
            used += (total - free)/1048576.0;
        }
    }
    return used;
}

static double rss_mib() {
    long size = 0, rss = 0;
    FILE * f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &size, &rss) != 2) {
        die("no /proc/self/statm");
    }
    fclose(f);
    return rss*(sysconf(_SC_PAGESIZE)/1048576.0);
}

static context_ptr make(llama_model * model, const options & o, float frac, int ubatch) {
    llama_context_params p = llama_context_default_params();
    p.n_seq_max        = o.seqs;
    p.n_ctx            = (o.ctx ? o.ctx : (o.depth + o.tokens + 256)/256*256)*o.seqs;
    p.n_batch          = 2048;
    p.n_ubatch         = ubatch;
    p.n_threads        = o.threads;
    p.n_threads_batch  = o.threads;
    p.flash_attn_type  = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    p.type_k           = o.type;
    p.type_v           = o.type;
    p.kv_gpu_head_frac = frac;
    host_half.clear();
    context_ptr ctx(llama_init_from_model(model, p), llama_free);
    if (!ctx) {
        die("no context");
    }
    return ctx;
}

// tokens[i] for sequence i % seqs, at the positions that follow pos; the last one of each gives logits
static void decode(llama_context * ctx, const std::vector<llama_token> & tokens, int seq, int n_seq, int pos) {
    const int n = tokens.size();
    llama_batch b = llama_batch_init(n, 0, 1);
    for (int i = 0; i < n; ++i) {
        b.token[i]     = tokens[i];
        b.pos[i]       = pos + i/n_seq;
        b.n_seq_id[i]  = 1;
        b.seq_id[i][0] = seq + i % n_seq;
        b.logits[i]    = i + n_seq >= n;
    }
    b.n_tokens = n;
    if (llama_decode(ctx, b) != 0) {
        die("decode failed");
    }
    llama_batch_free(b);
}

static std::vector<llama_token> tokenize(const llama_model * model, const std::string & text) {
    std::vector<llama_token> tokens(text.size() + 8);
    tokens.resize(llama_tokenize(llama_model_get_vocab(model), text.c_str(), text.size(), tokens.data(), tokens.size(), true, false));
    return tokens;
}

static void prompt(llama_context * ctx, int n_vocab, const options & o, bool control = false) {
    if (!o.text.empty()) {
        decode(ctx, tokenize(llama_get_model(ctx), o.text), 0, 1, 0);
        return llama_synchronize(ctx);
    }
    for (int s = 0; s < o.seqs; ++s) {
        for (int pos = 0; pos < o.depth; pos += 2048) {
            std::vector<llama_token> tokens;
            for (int i = pos; i < std::min(pos + 2048, o.depth); ++i) {
                tokens.push_back(260 + (i*131LL + s*977 + i*(long long) i % 8191*7 + (control && i % 16 == 3)) % (n_vocab - 260));
            }
            decode(ctx, tokens, s, 1, pos);
        }
    }
    llama_synchronize(ctx);
}

static llama_token best(const std::vector<float> & logits, size_t at, int n_vocab) {
    const auto x = logits.begin() + at;
    return std::max_element(x, x + n_vocab) - x;
}

struct result {
    std::vector<float> logits; // of each step and sequence
    std::vector<double> ms;
    std::vector<uint8_t> state; // after the prompt, with --text
    double init_ms, prompt_ms, device;
    std::string host_name;
};

static result run(llama_model * model, const options & o, float frac, int ubatch, const std::vector<float> * lead, bool control = false) {
    const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    result r;

    const double dev0 = device_mib();
    double t = now();
    auto ctx = make(model, o, frac, ubatch);
    r.init_ms   = now() - t;
    r.host_name = host_half;

    t = now();
    prompt(ctx.get(), n_vocab, o, control);
    r.prompt_ms = now() - t;
    r.device    = device_mib() - dev0;
    if (!o.text.empty()) {
        r.state.resize(llama_state_seq_get_size(ctx.get(), 0));
        llama_state_seq_get_data(ctx.get(), r.state.data(), r.state.size(), 0);
    }

    std::vector<llama_token> next(o.seqs, 260);
    for (int i = 0; i < o.tokens; ++i) {
        t = now();
        decode(ctx.get(), next, 0, o.seqs, o.depth + i);
        const float * l = llama_get_logits(ctx.get()); // waits for the device
        r.ms.push_back(now() - t);
        const size_t at = r.logits.size();
        r.logits.insert(r.logits.end(), l, l + o.seqs*(size_t) n_vocab);
        // a random model soon repeats itself, so it's given other tokens than its best ones
        for (int s = 0; s < o.seqs; ++s) {
            next[s] = o.text.empty() ? 260 + (i*89 + s*53 + i*i*7) % (n_vocab - 260) : best(lead ? *lead : r.logits, at, n_vocab);
        }
    }
    return r;
}

static uint64_t digest(const std::vector<float> & x) {
    uint64_t h = 14695981039346656037ull;
    for (size_t i = 0; i < x.size()*sizeof(float); ++i) {
        h = (h ^ ((const uint8_t *) x.data())[i])*1099511628211ull;
    }
    return h;
}

static double median(std::vector<double> x) {
    std::sort(x.begin(), x.end());
    return x[x.size()/2];
}

static void report(const options & o, const char * name, float frac, int n_vocab, const result & r, const result & off) {
    // the steps at which another token would have come, and how far the first two tokens of off are apart there at most
    int    other = 0;
    double diff = 0.0, gap = 0.0, mean = 0.0, var = 0.0;
    bool   finite = true;
    std::set<long> words;
    for (size_t i = 0; i < r.logits.size(); ++i) {
        diff   = std::max(diff, (double) std::fabs(r.logits[i] - off.logits[i]));
        finite = finite && std::isfinite(r.logits[i]);
        mean  += off.logits[i]/off.logits.size();
    }
    for (float x : off.logits) {
        var += (x - mean)*(x - mean)/off.logits.size();
    }
    for (size_t at = 0; at < r.logits.size(); at += n_vocab) {
        const llama_token want = best(off.logits, at, n_vocab);
        const llama_token mine = best(r.logits,   at, n_vocab);
        words.insert(want);
        if (want != mine) {
            other++;
            gap = std::max(gap, (double) off.logits[at + want] - off.logits[at + mine]);
        }
    }
    size_t bytes = 0, first = 0;
    for (size_t i = std::min(r.state.size(), off.state.size()); i-- > 0;) {
        if (r.state[i] != off.state[i]) {
            bytes++;
            first = i;
        }
    }
    const size_t warm = std::min<size_t>(4, r.ms.size() - 1);
    const std::vector<double> ms(r.ms.begin() + warm, r.ms.end());
    printf("{\"what\": \"decode\", \"name\": \"%s\", \"type\": \"%s\", \"frac\": %g, \"seqs\": %d, \"depth\": %d, \"cells\": %d, \"threads\": %d, "
            "\"ms\": %.4f, \"ms_min\": %.4f, \"ms_max\": %.4f, \"init_ms\": %.1f, \"prompt_ms\": %.1f, \"device_mib\": %.1f, \"host_name\": \"%s\", "
            "\"texts\": %d, \"words\": %zu, \"other\": %d, \"gap\": %g, \"diff\": %g, \"spread\": %g, \"finite\": %s, \"digest\": \"%016llx\", "
            "\"state\": %zu, \"state_other\": %zu, \"state_first\": %zu}\n",
            name, ggml_type_name(o.type), frac, o.seqs, o.depth, (o.depth + o.tokens/2 + 256)/256*256, o.threads,
            median(ms), *std::min_element(ms.begin(), ms.end()), *std::max_element(ms.begin(), ms.end()), r.init_ms, r.prompt_ms, r.device,
            r.host_name.c_str(), o.tokens*o.seqs, words.size(), other, gap, diff, std::sqrt(var), finite ? "true" : "false", (unsigned long long) digest(r.logits),
            r.state.size(), bytes, first);
    fflush(stdout);
}

static void cmd_decode(llama_model * model, const options & o) {
    const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    const result off = run(model, o, o.fracs[0], o.ubatch, nullptr);
    report(o, "off", o.fracs[0], n_vocab, off, off);
    if (o.noise) {
        report(o, "noise",   o.fracs[0], n_vocab, run(model, o, o.fracs[0], o.ubatch/2, &off.logits), off);
        report(o, "control", o.fracs[0], n_vocab, run(model, o, o.fracs[0], o.ubatch,   &off.logits, true), off);
    }
    for (size_t i = 1; i < o.fracs.size(); ++i) {
        report(o, "split", o.fracs[i], n_vocab, run(model, o, o.fracs[i], o.ubatch, &off.logits), off);
    }
}

static void memory(const char * when, int n) {
    printf("{\"what\": \"memory\", \"when\": \"%s\", \"n\": %d, \"device_mib\": %.2f, \"rss_mib\": %.2f}\n", when, n, device_mib(), rss_mib());
    fflush(stdout);
}

static void cmd_leak(llama_model * model, options o) {
    const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    const float frac = o.fracs.back();
    o.ctx = o.depth + 512;
    {
        auto ctx = make(model, o, frac, o.ubatch);
        auto mem = llama_get_memory(ctx.get());
        prompt(ctx.get(), n_vocab, o);
        int pos = o.depth;
        for (int i = 0; i < 100 + o.tokens; ++i) {
            if (i % 100 == 0) {
                if (i >= 100 && (i == 100 || i % 500 == 100)) {
                    memory("steps", i - 100);
                }
                // what a server does when its context is full, and a copy of a sequence
                for (int s = 0; s < o.seqs; ++s) {
                    llama_memory_seq_rm (mem, s, 10, 110);
                    llama_memory_seq_add(mem, s, 110, -1, -100);
                }
                pos -= 100;
                if (o.seqs > 1) {
                    llama_memory_seq_rm(mem, 1, -1, -1);
                    llama_memory_seq_cp(mem, 0, 1, -1, -1);
                }
            }
            std::vector<llama_token> next;
            for (int s = 0; s < o.seqs; ++s) {
                next.push_back(260 + (i*7 + s*31) % (n_vocab - 260));
            }
            decode(ctx.get(), next, 0, o.seqs, pos++);
            if (!std::isfinite(llama_get_logits(ctx.get())[0])) {
                die("not a number");
            }
        }
        memory("steps", o.tokens);
    }
    for (int i = 0; i <= 20; ++i) {
        if (i == 1 || i == 20) {
            memory("contexts", i);
        }
        auto ctx = make(model, o, frac, o.ubatch);
        decode(ctx.get(), { 260 }, 0, 1, 0);
    }
}

int main(int argc, char ** argv) {
    if (argc < 3) {
        die("usage: m2_cuda decode|leak MODEL [options]");
    }
    options o;
    for (int i = 3; i < argc; ++i) {
        const std::string arg = argv[i];
        if (arg == "--noise") {
            o.noise = true;
            continue;
        }
        if (i + 1 == argc) {
            die("no value for " + arg);
        }
        const std::string value = argv[++i];
        if (arg == "--type") {
            o.type = value == "f16" ? GGML_TYPE_F16 : value == "q8_0" ? GGML_TYPE_Q8_0 : GGML_TYPE_COUNT;
        } else if (arg == "--fracs") {
            o.fracs.clear();
            std::stringstream list(value);
            for (std::string x; std::getline(list, x, ',');) {
                o.fracs.push_back(std::stof(x));
            }
        } else if (arg == "--text") {
            o.text = value;
        } else if (arg == "--depth") {
            o.depth = std::stoi(value);
        } else if (arg == "--tokens") {
            o.tokens = std::stoi(value);
        } else if (arg == "--seqs") {
            o.seqs = std::stoi(value);
        } else if (arg == "--ctx") {
            o.ctx = std::stoi(value);
        } else if (arg == "--threads") {
            o.threads = std::stoi(value);
        } else if (arg == "--ubatch") {
            o.ubatch = std::stoi(value);
        } else {
            die("unknown option " + arg);
        }
    }
    if (o.type == GGML_TYPE_COUNT || o.fracs.empty() || o.tokens < 1) {
        die("a value that is none");
    }

    llama_log_set(on_log, nullptr);
    llama_backend_init();
    llama_model_params mp = llama_model_default_params();
    mp.n_gpu_layers = 99;
    std::unique_ptr<llama_model, decltype(&llama_model_free)> model(llama_model_load_from_file(argv[2], mp), llama_model_free);
    if (!model) {
        die("no model");
    }
    if (!o.text.empty()) {
        o.depth = tokenize(model.get(), o.text).size();
    }
    if (std::string(argv[1]) == "leak") {
        cmd_leak(model.get(), o);
    } else {
        cmd_decode(model.get(), o);
    }
    llama_backend_free();
    return 0;
}
