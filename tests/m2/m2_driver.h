// A KV cache and what can be done to it: the parts that the tests in m2_test.cpp share.

#pragma once

#include "llama.h"
#include "ggml-backend.h"

#include <unistd.h>

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

static bool has_device = false;
static int  ngl        = 99;

static int n_passed = 0;
static int n_failed = 0;

static float tolerance = 0.0f;
static bool  quick     = false;
static bool  window_on_device = true;

static std::vector<std::pair<ggml_log_level, std::string>> log_lines;

static void log_callback(ggml_log_level level, const char * text, void *) {
    if (level == GGML_LOG_LEVEL_CONT && !log_lines.empty()) {
        log_lines.back().second += text;
        return;
    }
    log_lines.push_back({ level, text });
}

static std::string fmt(const char * f, ...) {
    char buf[1024];
    va_list ap;
    va_start(ap, f);
    vsnprintf(buf, sizeof(buf), f, ap);
    va_end(ap);
    return buf;
}

static void check(bool ok, const std::string & what) {
    (ok ? n_passed : n_failed)++;
    printf("%s %s\n", ok ? "ok  " : "FAIL", what.c_str());
    fflush(stdout);
}

[[noreturn]] static void die(const std::string & what) {
    for (const auto & [level, text] : log_lines) {
        if (level == GGML_LOG_LEVEL_ERROR) {
            fputs(text.c_str(), stderr);
        }
    }
    fprintf(stderr, "%s\n", what.c_str());
    exit(2);
}

// the parameter exists in a patched tree only
template <typename T> static auto set_frac(T & p, float frac, int) -> decltype(p.kv_gpu_head_frac = frac, bool()) {
    p.kv_gpu_head_frac = frac;
    return true;
}
template <typename T> static bool set_frac(T &, float frac, long) {
    return frac == 1.0f;
}

// older trees have a field for mmap alone, newer ones a mode
template <typename T> static auto no_mmap(T & p, int) -> decltype(p.use_mmap = false, void()) {
    p.use_mmap = false;
}
template <typename T> static auto no_mmap(T & p, long) -> decltype(p.load_mode, void()) {
    p.load_mode = decltype(p.load_mode)(0);
}

static std::string stem(const std::string & path) {
    const size_t a = path.find_last_of('/') + 1;
    return path.substr(a, path.find_last_of('.') - a);
}

using model_ptr   = std::unique_ptr<llama_model,   decltype(&llama_model_free)>;
using context_ptr = std::unique_ptr<llama_context, decltype(&llama_free)>;

static model_ptr load(const std::string & path, llama_split_mode split_mode = LLAMA_SPLIT_MODE_LAYER, const char * on_cpu = nullptr) {
    const llama_model_tensor_buft_override overrides[] = { { on_cpu, ggml_backend_cpu_buffer_type() }, { nullptr, nullptr } };
    llama_model_params mp = llama_model_default_params();
    mp.n_gpu_layers = has_device ? ngl : 0;
    mp.split_mode   = split_mode;
    no_mmap(mp, 0);
    mp.tensor_buft_overrides = on_cpu ? overrides : nullptr;
    model_ptr model(llama_model_load_from_file(path.c_str(), mp), llama_model_free);
    if (!model) {
        die("no model: " + path);
    }
    return model;
}

struct config {
    bool      fa;
    ggml_type k;
    ggml_type v;
    int       n_seq;
    bool      unified;
    int       n_prompt; // tokens of each sequence

    std::string str() const {
        return fmt("fa %d K %-4s V %-4s seqs %d %-10s prompt %3d", fa, ggml_type_name(k), ggml_type_name(v), n_seq,
                unified ? "unified" : "per-stream", n_prompt);
    }
};

static std::vector<config> configs() {
    std::vector<config> res;
    const struct { bool fa; ggml_type k, v; } types[] = {
        { true,  GGML_TYPE_F16,  GGML_TYPE_F16  },
        { true,  GGML_TYPE_Q8_0, GGML_TYPE_Q8_0 },
        { true,  GGML_TYPE_Q4_0, GGML_TYPE_Q4_0 },
        { false, GGML_TYPE_F16,  GGML_TYPE_F16  },
        { false, GGML_TYPE_Q8_0, GGML_TYPE_F16  },
        { false, GGML_TYPE_Q4_0, GGML_TYPE_F16  },
    };
    for (const auto & t : types) {
        res.push_back({ t.fa, t.k, t.v, 1, false, 72 });
        res.push_back({ t.fa, t.k, t.v, 3, true,  72 });
        res.push_back({ t.fa, t.k, t.v, 3, false, 72 });
    }
    // more than 512 cells in use: another path of flash attention, and a sliding window that has moved on
    if (!quick) {
        res.push_back({ true,  GGML_TYPE_F16,  GGML_TYPE_F16,  3, false, 540 });
        res.push_back({ false, GGML_TYPE_F16,  GGML_TYPE_F16,  1, false, 540 });
    }
    return res;
}

static context_ptr context(llama_model * model, const config & c, float frac, ggml_backend_sched_eval_callback cb = nullptr, void * cb_data = nullptr) {
    llama_context_params p = llama_context_default_params();
    p.n_seq_max         = c.n_seq;
    p.n_ctx             = (c.n_prompt > 1000 ? 3328 : c.n_prompt > 200 ? 768 : 256)*c.n_seq;
    p.n_batch           = 2048;
    p.n_ubatch          = 64;
    p.n_threads         = 1; // a result of several threads can depend on how they share the work
    p.n_threads_batch   = 1;
    p.flash_attn_type   = c.fa ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    p.type_k            = c.k;
    p.type_v            = c.v;
    p.kv_unified        = c.unified;
    p.swa_full          = c.n_prompt != 540; // that prompt is for a window that slides
    p.cb_eval           = cb;
    p.cb_eval_user_data = cb_data;

    if (!set_frac(p, frac, 0)) {
        die("this build does not have kv_gpu_head_frac");
    }

    log_lines.clear();
    return context_ptr(llama_init_from_model(model, p), llama_free);
}

// what a run did, step by step
struct step {
    std::string          name;
    std::vector<float>   logits;
    std::vector<uint8_t> bytes;
};

struct result {
    std::vector<step> steps;

    std::vector<std::vector<uint8_t>> seqs; // the state of each sequence
    std::vector<uint8_t>              all;  // the whole state
};

struct driver {
    llama_context  * ctx;
    llama_memory_t   mem;
    const config   & c;
    int              n_vocab;
    result         & res;

    std::vector<int> pos; // next position of each sequence

    driver(llama_context * ctx, const config & c, result & res) :
        ctx(ctx), mem(llama_get_memory(ctx)), c(c),
        n_vocab(llama_vocab_n_tokens(llama_model_get_vocab(llama_get_model(ctx)))), res(res), pos(c.n_seq) {}

    // n tokens for each of the sequences. they alternate on the CPU, and so do their cells in a unified cache
    void decode(const std::string & name, const std::vector<int> & seqs, int n, int salt) {
        llama_batch b = llama_batch_init(n*seqs.size(), 0, 1);
        const int n_seq = seqs.size();
        for (int j = 0; j < n*n_seq; ++j) {
            // one after the other on a device, where each run of cells is a call when a state is saved
            const int i = has_device ? j % n : j/n_seq;
            const int s = has_device ? seqs[j/n] : seqs[j % n_seq];
            const int k = b.n_tokens++;
            b.token[k]     = 260 + (i*131 + s*977 + salt*389 + i*i*7) % (n_vocab - 260);
            b.pos[k]       = pos[s] + i;
            b.n_seq_id[k]  = 1;
            b.seq_id[k][0] = s;
            b.logits[k]    = i == n - 1 || i % 16 == 3;
        }
        if (llama_decode(ctx, b) != 0) {
            die("decode failed: " + c.str() + " " + name);
        }
        step st { name, {}, {} };
        for (int k = 0; k < b.n_tokens; ++k) {
            if (b.logits[k]) {
                const float * l = llama_get_logits_ith(ctx, k);
                st.logits.insert(st.logits.end(), l, l + n_vocab);
            }
        }
        llama_batch_free(b);
        for (int s : seqs) {
            pos[s] += n;
        }
        res.steps.push_back(std::move(st));
    }

    void bytes(const std::string & name, const std::vector<uint8_t> & data) {
        res.steps.push_back({ name, {}, data });
    }

    std::vector<int> all() const {
        std::vector<int> r;
        for (int s = 0; s < c.n_seq; ++s) {
            r.push_back(s);
        }
        return r;
    }

    std::vector<uint8_t> get_seq(int s) {
        std::vector<uint8_t> b(llama_state_seq_get_size(ctx, s));
        if (llama_state_seq_get_data(ctx, b.data(), b.size(), s) != b.size()) {
            die("state of a sequence: size");
        }
        return b;
    }

    void set_seq(int s, const std::vector<uint8_t> & b) {
        if (llama_state_seq_set_data(ctx, b.data(), b.size(), s) != b.size()) {
            die("restore of a sequence failed: " + c.str());
        }
    }
};

// the same calls for every fraction. if other is given, its states are restored instead of the own ones
static result run(llama_model * model, const config & c, float frac, const result * other = nullptr) {
    result res;
    context_ptr ctx = context(model, c, frac);
    if (!ctx) {
        die("no context: " + c.str());
    }

    driver d(ctx.get(), c, res);
    const auto seqs = d.all();

    d.decode("prompt", seqs, c.n_prompt, 0);
    for (int i = 0; i < 3; ++i) {
        d.decode(fmt("token %d", i), seqs, 1, 10 + i);
    }

    if (c.n_seq > 1) {
        const int last = c.n_seq - 1;
        llama_memory_seq_rm(d.mem, last, -1, -1);
        llama_memory_seq_cp(d.mem, 0, last, -1, -1);
        d.pos[last] = d.pos[0];
        d.decode("after copying a sequence", seqs, 1, 20);
    }

    const bool slides = c.n_prompt == 540; // with a window that slides, old cells are gone
    if (!slides) {
        for (int s : seqs) {
            llama_memory_seq_rm (d.mem, s, 10 + s, 30);
            llama_memory_seq_add(d.mem, s, 30, -1, -(20 - s));
            d.pos[s] -= 20 - s;
        }
        d.decode("after a shift", seqs, 1, 30);
    }

    // the state of each sequence out, then back in
    for (int s : seqs) {
        res.seqs.push_back(d.get_seq(s));
        d.bytes(fmt("state of sequence %d", s), res.seqs.back());
    }
    {
        const auto size = llama_state_get_size(ctx.get());
        res.all.resize(size);
        if (llama_state_get_data(ctx.get(), res.all.data(), size) != size) {
            die("whole state: size");
        }
        d.bytes("whole state", res.all);
    }
    const auto pos = d.pos;

    const auto & from = other ? *other : res;

    llama_memory_clear(d.mem, true);
    for (int s : seqs) {
        d.set_seq(s, from.seqs[s]);
    }
    d.decode("after restoring sequences", seqs, 1, 40);

    // one sequence into the holes that another one leaves, and under another id
    if (c.n_seq > 1) {
        llama_memory_seq_rm(d.mem, 1, -1, -1);
        d.set_seq(1, from.seqs[0]);
        d.pos[1] = pos[0];
        d.decode("after restoring a sequence under another id", seqs, 1, 41);
    }

    // through a file
    {
        const std::string path = fmt("m2_test.%d.%p.state", (int) getpid(), (void *) ctx.get());
        const llama_token tok = 300;
        const int p0 = d.pos[0];
        if (!llama_state_seq_save_file(ctx.get(), path.c_str(), 0, &tok, 1)) {
            die("saving a sequence failed");
        }
        FILE * f = fopen(path.c_str(), "rb");
        fseek(f, 0, SEEK_END);
        std::vector<uint8_t> b(ftell(f));
        rewind(f);
        if (fread(b.data(), 1, b.size(), f) != b.size()) {
            die("reading a file failed");
        }
        fclose(f);
        d.bytes("file of a sequence", b);

        llama_memory_clear(d.mem, true);
        llama_token tok_in; size_t n_in = 0;
        if (!llama_state_seq_load_file(ctx.get(), path.c_str(), c.n_seq - 1, &tok_in, 1, &n_in)) {
            die("loading a sequence failed");
        }
        remove(path.c_str());
        d.pos[c.n_seq - 1] = p0;
        d.decode("after loading a sequence from a file", { c.n_seq - 1 }, 1, 50);
    }

    // without leaving the device
    // note: upstream copies too little of a quantized cache, and a later one aborts where a window slides
    if (c.k == GGML_TYPE_F16 && (window_on_device || !slides)) {
        const auto flags = LLAMA_STATE_SEQ_FLAGS_ON_DEVICE;
        const int  s     = c.n_seq - 1;
        std::vector<uint8_t> b(llama_state_seq_get_size_ext(ctx.get(), s, flags));
        llama_state_seq_get_data_ext(ctx.get(), b.data(), b.size(), s, flags);
        llama_memory_clear(d.mem, true);
        llama_state_seq_set_data_ext(ctx.get(), b.data(), b.size(), s, flags);
        d.decode("after a round trip on the device", { s }, 1, 55);
    }

    // whole state out and in
    // note: upstream clears the cache for each stream that it restores, so only the last stream is there afterwards
    llama_memory_clear(d.mem, true);
    if (llama_state_set_data(ctx.get(), from.all.data(), from.all.size()) != from.all.size()) {
        die("restore of the whole state failed: " + c.str());
    }
    d.pos = pos;
    if (c.unified || c.n_seq == 1) {
        d.decode("after restoring the whole state", seqs, 1, 60);
    } else {
        d.decode("after restoring the whole state, last stream", { c.n_seq - 1 }, 1, 60);
    }

    return res;
}

// the first step that differs, or an empty string
static std::string differs(const result & a, const result & b) {
    if (a.steps.size() != b.steps.size()) {
        return "number of steps";
    }
    for (size_t i = 0; i < a.steps.size(); ++i) {
        const auto & x = a.steps[i];
        const auto & y = b.steps[i];
        if (x.name != y.name || x.logits.size() != y.logits.size() || x.bytes.size() != y.bytes.size()) {
            return x.name + ": size";
        }
        if (tolerance == 0.0f) {
            if (memcmp(x.logits.data(), y.logits.data(), x.logits.size()*sizeof(float)) != 0) {
                double d = 0.0;
                for (size_t j = 0; j < x.logits.size(); ++j) {
                    d = std::max(d, (double) std::fabs(x.logits[j] - y.logits[j]));
                }
                return fmt("%s: logits by %g", x.name.c_str(), d);
            }
            if (x.bytes != y.bytes) {
                return x.name + ": bytes";
            }
            continue;
        }
        for (size_t j = 0; j < x.logits.size(); ++j) {
            if (!(std::fabs(x.logits[j] - y.logits[j]) <= tolerance)) {
                return fmt("%s: logits by %g", x.name.c_str(), std::fabs(x.logits[j] - y.logits[j]));
            }
        }
    }
    return "";
}
