// What is refused, which heads go where, and where the scheduler puts the work.

#pragma once

#include "m2_driver.h"

static std::vector<std::string> logged(ggml_log_level level, const std::string & part = "") {
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
