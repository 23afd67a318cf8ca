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
//                                   --tolerance T    compare logits with this absolute tolerance, and no state bytes
//
// Prints one line for each check and "N passed, N failed" at the end; exits with 1 if a check failed.

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
    mp.use_mmap     = false;
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

static uint64_t fnv(uint64_t h, const void * data, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        h = (h ^ ((const uint8_t *) data)[i])*1099511628211ull;
    }
    return h;
}

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
    // note: upstream copies too little of a quantized cache
    if (c.k == GGML_TYPE_F16) {
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

static std::vector<std::string> logged(ggml_log_level level, const std::string & part = "");
static llama_context_params     small_params(float frac);

struct place_counts {
    int attn_dev = 0, attn_cpu = 0, concat_dev = 0, concat_cpu = 0, store_dev = 0, store_host = 0, store_wrong = 0;
};

static bool place_callback(ggml_tensor * t, bool ask, void * data) {
    auto & n = *(place_counts *) data;

    const std::string name = t->name;
    const bool attn   = t->op == GGML_OP_FLASH_ATTN_EXT || (t->op == GGML_OP_SOFT_MAX && name.rfind("kq_soft_max-", 0) == 0) ||
        (t->op == GGML_OP_MUL_MAT && (name.rfind("kq-", 0) == 0 || name.rfind("kqv-", 0) == 0));
    const bool concat = t->op == GGML_OP_CONCAT;
    const bool store  = t->op == GGML_OP_SET_ROWS;

    if (ask) {
        return attn || concat || store;
    }

    // pinned memory is the host's as well
    const bool on_dev = !ggml_backend_buffer_is_host(t->view_src ? t->view_src->buffer : t->buffer);

    if (store) {
        const bool host = std::string(t->view_src->name).find("_host_") != std::string::npos;
        (host != on_dev ? (host ? n.store_host : n.store_dev) : n.store_wrong)++;
    } else if (attn) {
        (on_dev ? n.attn_dev : n.attn_cpu)++;
    } else if (concat) {
        (on_dev ? n.concat_dev : n.concat_cpu)++;
    }

    return true;
}

static void cmd_place(const std::string & path) {
    if (!has_device) {
        die("place needs a device");
    }
    const auto model = load(path);
    const int n_layer = llama_model_n_layer(model.get());

    for (const auto & c : configs()) {
        if (c.n_prompt > 200) {
            continue;
        }
        const auto label = fmt("%-7s %s", stem(path).c_str(), c.str().c_str());

        place_counts n;
        result res;
        context_ptr ctx = context(model.get(), c, 0.5f, place_callback, &n);
        if (!ctx) {
            die("no context");
        }

        std::string splits;
        for (const auto & [level, text] : log_lines) {
            const size_t p = text.find("graph splits = ");
            splits = p != std::string::npos ? text.substr(p) : splits;
        }
        // the device, then for each layer the stores on the CPU and the rest of the layer, and the inputs
        check(atoi(splits.c_str() + 15) == 2 + 2*n_layer, label + fmt(": %d splits", atoi(splits.c_str() + 15)));

        driver d(ctx.get(), c, res);
        d.decode("prompt", d.all(), 8, 0);

        const int n_stream = c.unified ? 1 : c.n_seq;
        const int n_nodes  = c.fa ? 1 : 3;
        check(n.attn_cpu == 0 && n.attn_dev == n_layer*n_nodes*(1 + n_stream), label + fmt(": %d attention nodes on the device, %d elsewhere", n.attn_dev, n.attn_cpu));
        check(n.concat_cpu == 0 && n.concat_dev == n_layer*n_stream,           label + fmt(": %d concatenations on the device, %d elsewhere", n.concat_dev, n.concat_cpu));
        check(n.store_wrong == 0 && n.store_dev == 2*n_layer && n.store_host == 2*n_layer*n_stream,
                label + fmt(": %d stores on the device, %d in host memory, %d in the wrong place", n.store_dev, n.store_host, n.store_wrong));
    }

    // with the output projections on the CPU, nothing in the neighbourhood of the host half is on the device. its attention
    // has to be there nevertheless
    const auto model_cpu = load(path, LLAMA_SPLIT_MODE_LAYER, "attn_output");
    for (const bool fa : { true, false }) {
        const config c = { fa, GGML_TYPE_F16, GGML_TYPE_F16, 3, false, 72 };

        place_counts n;
        result res;
        context_ptr ctx = context(model_cpu.get(), c, 0.5f, place_callback, &n);
        if (!ctx) {
            die("no context");
        }
        driver d(ctx.get(), c, res);
        d.decode("prompt", d.all(), 8, 0);

        check(n.attn_cpu == 0 && n.attn_dev == n_layer*(fa ? 1 : 3)*4 && n.concat_cpu == 0 && n.concat_dev == n_layer*3,
                fmt("%-7s fa %d, attn_output on the CPU: %d attention nodes and %d concatenations on the device, %d and %d elsewhere", stem(path).c_str(), fa,
                    n.attn_dev, n.concat_dev, n.attn_cpu, n.concat_cpu));
    }
}

// automatic flash attention compares the device of the attention with that of the layer
static void cmd_auto(const std::string & path) {
    const auto model = load(path);
    llama_context_params p = small_params(0.5f);
    log_lines.clear();
    context_ptr ctx(llama_init_from_model(model.get(), p), llama_free);
    check(ctx && logged(GGML_LOG_LEVEL_INFO, "Flash Attention was auto, set to enabled").size() == 1,
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

static std::vector<std::string> logged(ggml_log_level level, const std::string & part) {
    std::vector<std::string> r;
    for (const auto & [l, text] : log_lines) {
        if (l == level && text.find(part) != std::string::npos) {
            r.push_back(text.substr(0, text.find_last_not_of('\n') + 1));
        }
    }
    return r;
}

static llama_context_params small_params(float frac) {
    llama_context_params p = llama_context_default_params();
    p.n_ctx = 256;
    p.n_threads = p.n_threads_batch = 1;
    if (!set_frac(p, frac, 0)) {
        die("this build does not have kv_gpu_head_frac");
    }
    return p;
}

static void cmd_refuse(const std::string & dir) {
    const auto refused = [&](const std::string & model, llama_context_params p, const std::string & text, llama_split_mode sm = LLAMA_SPLIT_MODE_LAYER) {
        const auto m = load(dir + "/" + model + ".gguf", sm);
        log_lines.clear();
        context_ptr ctx(llama_init_from_model(m.get(), p), llama_free);
        const auto errors = logged(GGML_LOG_LEVEL_ERROR);
        check(!ctx && errors.size() == 1 && errors[0].find("kv_gpu_head_frac = ") != std::string::npos && errors[0].find(text) != std::string::npos,
                fmt("%-9s refused: ", model.c_str()) + (errors.empty() ? "no error line" : errors[0]));
    };

    for (float frac : { 0.0f, -0.5f, 1.25f, (float) NAN, (float) INFINITY, (float) -INFINITY }) {
        refused("llama", small_params(frac), "range");
    }
    {
        auto p = small_params(0.5f);
        p.offload_kqv = false;
        refused("llama", p, "without KV offload");
    }
    if (has_device) {
        auto p = small_params(0.5f);
        p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
        refused("llama", p, "SPLIT_MODE_TENSOR", LLAMA_SPLIT_MODE_TENSOR);
    }
    refused("deepseek2", small_params(0.5f), "MLA");
    refused("refact",    small_params(0.5f), "ALiBi");
    refused("mamba",     small_params(0.5f), "recurrent");
    refused("lfm2",      small_params(0.5f), "hybrid");
    refused("t5",        small_params(0.5f), "position bias");
    {
        auto p = small_params(0.5f);
        p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
        const auto m = load(dir + "/deci.gguf");
        log_lines.clear();
        context_ptr ctx(llama_init_from_model(m.get(), p), llama_free);
        const auto errors = logged(GGML_LOG_LEVEL_ERROR);
        check(!ctx && errors.size() == 1 && errors[0].find("without flash attention, the KV head split needs") != std::string::npos,
                "deci      refused: " + (errors.empty() ? "no error line" : errors[0]));
    }

    // nothing to split: a warning, and a context that has no split
    for (const std::string model : { "llama-mqa", "llada" }) {
        const auto m = load(dir + "/" + model + ".gguf");
        log_lines.clear();
        context_ptr ctx(llama_init_from_model(m.get(), small_params(0.5f)), llama_free);
        const auto warnings = logged(GGML_LOG_LEVEL_WARN, "nothing to split");
        check(ctx && warnings.size() == 1 && logged(GGML_LOG_LEVEL_INFO, "host half").empty(),
                fmt("%-9s unsplit: ", model.c_str()) + (warnings.empty() ? "no warning" : warnings[0]));
    }

    // models that are refused do work without a split
    for (const std::string model : { "llama", "deepseek2", "refact", "mamba", "lfm2", "llada", "t5", "deci" }) {
        const auto m = load(dir + "/" + model + ".gguf");
        context_ptr ctx(llama_init_from_model(m.get(), small_params(1.0f)), llama_free);
        check(!!ctx, fmt("%-9s works with 1.0", model.c_str()));
    }
}

static void cmd_heads(const std::string & dir) {
    const auto heads = [&](const std::string & model, float frac) {
        const auto m = load(dir + "/" + model + ".gguf");
        log_lines.clear();
        context_ptr ctx(llama_init_from_model(m.get(), small_params(frac)), llama_free);
        std::set<std::string> r;
        for (const auto & line : logged(GGML_LOG_LEVEL_DEBUG, "head split, ")) {
            r.insert(line.substr(line.find("head split, ") + 12));
        }
        return ctx && r.size() == 1 ? *r.begin() : std::string("?");
    };
    const struct { const char * model; float frac; const char * want; } cases[] = {
        { "llama-kv5", 0.5f, "3 of 5" }, // 2.5
        { "llama-kv5", 0.3f, "2 of 5" }, // 1.5, and a fraction that a float can't hold exactly
        { "llama-kv5", 0.7f, "4 of 5" }, // 3.5
        { "llama-kv5", 0.1f, "1 of 5" }, // 0.5
        { "llama-kv5", 0.9f, "4 of 5" }, // 4.5, but each half has a head
        { "llama-kv5", 0.29f, "1 of 5" },
        { "llama-kv5", 0.49f, "2 of 5" },
        { "llama-kv5", 0.69f, "3 of 5" },
        { "llama-kv5", 0.001f, "1 of 5" },
        { "llama-kv5", 0.999f, "4 of 5" },
        { "llama", 0.125f, "1 of 4" }, // 0.5
        { "llama", 0.375f, "2 of 4" }, // 1.5
        { "llama", 0.625f, "3 of 4" }, // 2.5
        { "llama", 0.62f, "2 of 4" },
    };
    for (const auto & t : cases) {
        const auto got = heads(t.model, t.frac);
        check(got.rfind(t.want, 0) == 0, fmt("%-9s frac %-5g: %s KV heads on the device (want %s)", t.model, t.frac, got.substr(0, 6).c_str(), t.want));
    }
}

static void cmd_blocks(const std::string & dir) {
    const auto m = load(dir + "/llama-hd48.gguf");

    for (float frac : { 1.0f, 0.5f }) {
        for (bool is_v : { false, true }) {
            auto p = small_params(frac);
            p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
            (is_v ? p.type_v : p.type_k) = GGML_TYPE_Q8_0;
            log_lines.clear();
            context_ptr ctx(llama_init_from_model(m.get(), p), llama_free);
            const auto errors = logged(GGML_LOG_LEVEL_ERROR);
            check(!ctx && errors.size() == 1 && errors[0].find("does not divide n_embd_head_") != std::string::npos,
                    fmt("heads of 48, %s q8_0, fa 1, frac %g: refused upstream: ", is_v ? "V" : "K", frac) + (errors.empty() ? "no error line" : errors[0]));
        }
    }
    {
        // upstream does not look at K without flash attention
        auto p = small_params(0.5f);
        p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
        p.type_k = GGML_TYPE_Q8_0;
        log_lines.clear();
        context_ptr ctx(llama_init_from_model(m.get(), p), llama_free);
        const auto errors = logged(GGML_LOG_LEVEL_ERROR);
        check(!ctx && errors.size() == 1 && errors[0].find("kv_gpu_head_frac") != std::string::npos && errors[0].find("block") != std::string::npos,
                "heads of 48, K q8_0, fa 0, frac 0.5: refused: " + (errors.empty() ? "no error line" : errors[0]));
    }
    {
        auto p = small_params(0.5f);
        p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
        context_ptr ctx(llama_init_from_model(m.get(), p), llama_free);
        check(!!ctx, "heads of 48, f16, fa 1, frac 0.5: works");
    }
}

int main(int argc, char ** argv) {
    std::vector<std::string> args(argv + 1, argv + argc);
    std::string rpc;
    size_t i = 0;
    for (; i < args.size() && args[i].rfind("--", 0) == 0; ++i) {
        if (args[i] == "--quick") {
            quick = true;
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
        die("usage: m2_test [--rpc HOST:PORT] [--ngl N] [--quick] [--tolerance T] equal|digest|place|auto|streams|long|refuse|heads|blocks PATH...");
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
