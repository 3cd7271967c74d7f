/* SPDX-License-Identifier: MIT */
/*
 * scope_probe.h: mark the regions of a C or C++ program for scope-bpf.
 *
 *     #include "scope_probe.h"
 *
 *     void solve(void)
 *     {
 *         SP_PROBE(solve);        // from here to the end of this block
 *         ...
 *     }
 *
 * Compile as always; there is nothing to link and nothing to start. While nobody watches, a region costs the
 * nops at its two ends: no branch, no load, no call. `scope-bpf -- ./program` finds the regions in the file and
 * records each call.
 *
 * THE MACROS
 *
 *   SP_PROBE(name)             A region from here to the end of the enclosing block, whichever way the block is
 *                              left: return, break, goto, a C++ exception, and in C what runs cleanup handlers
 *                              (pthread_exit with -fexceptions). It is a declaration: put it where a variable
 *                              could be declared; `if (x) SP_PROBE(a);` is an error.
 *   SP_BEGIN(name)             A region that is no block. Begin and end may stand in different functions; the
 *   SP_END(name)               end closes, among the open calls of that name on the same thread, the innermost
 *                              one whose stack pointer at begin was the one at the end, else the innermost one
 *                              whose was greater, else the innermost. A begin whose end is never reached
 *                              (return, longjmp, exception) is recorded as abandoned.
 *   SP_REGION("any text")      As SP_PROBE, SP_BEGIN and SP_END, for names that are no identifiers.
 *   SP_BEGIN_NAMED("any text")
 *   SP_END_NAMED("any text")
 *   SP_PROBE_DYNAMIC(string)   As SP_PROBE, SP_BEGIN and SP_END, for a name that only the running program knows:
 *   SP_BEGIN_DYNAMIC(string)   an expression of type `const char *`, evaluated once. SP_PROBE_DYNAMIC reads the
 *   SP_END_DYNAMIC(string)     string at its begin only and ends its own call exactly. SP_END_DYNAMIC reads it
 *                              again and closes a call of that *text* as SP_END does; the pointers may differ.
 *
 * NAMES
 *
 *   - An identifier is taken as it is written, also if it is a macro somewhere: SP_PROBE(linux) is "linux".
 *   - A literal may hold anything that can be typed without a backslash: blanks, `%`, braces, colons, UTF-8.
 *     Its bytes are the name exactly. What could become another name does not compile: escapes, prefixes
 *     (L"", u8"", R"()"), several literals in a row. A macro that stands for one literal works.
 *   - Names have 1 to 255 bytes; those that begin with two underscores are reserved and do not compile.
 *   - Of a dynamic name the first 255 bytes count, and the text has to be there only while the macro runs.
 *     A string that cannot be read (NULL) counts as "(other names)", and so does each new name after the
 *     first 65,536 of a recording.
 *   - One name may be used at many places. Recursion is fine.
 *
 * SWITCHES (define before the first inclusion, or with -D)
 *
 *   SCOPE_DISABLE   All macros compile to nothing; their arguments are not evaluated. Set automatically
 *                   where there is no ELF file or no GNU asm (Windows, Apple, device passes of CUDA, HIP
 *                   and SYCL).
 *   SCOPE_FILE      The file name to record instead of __FILE__: a literal. Needed only where __FILE__
 *                   holds `%`, `{`, `|`, `}`, `"` or `\`.
 *   SCOPE_NO_FAST   Keep every site at its nops. Today that is always so; the switch is reserved for the
 *                   fast path, which will add one predicted test to each end.
 *
 * LIMITS
 *
 *   - C: a case label needs braces of its own around a region (`case 1: { SP_PROBE(a); ... }`), and no goto
 *     or switch may jump into a region's block past the macro: gcc compiles that silently, and the end has
 *     no begin. C++ refuses both.
 *   - longjmp over a block runs no end: the call is recorded as abandoned, ended at the next event of its
 *     thread that shows that it was left.
 *   - No co_await or co_yield inside a region: the coroutine may go on on another thread.
 *   - A constexpr function cannot hold a region (C++); branch around it with
 *     __builtin_is_constant_evaluated().
 *   - Only inside functions, and not in naked ones. (C++ does take SP_PROBE outside of one: an object whose
 *     region lasts from the program's initialisation to its exit.)
 *   - The function around a region that is a block makes no tail calls inside it, as with any destructor,
 *     and its several returns become one. A compiler may load a value again behind a site, as behind any
 *     asm. Where something can throw, C++ adds landing pads, off the straight path.
 *   - The optimiser may move computations across the ends of a region, as across any code that does not
 *     depend on them; it never moves one site across another, or across a call that it cannot see into. A
 *     barrier here would change the program that is measured. The literal forms under gcc and all dynamic
 *     forms do act as one: there the compiler offers nothing else.
 *   - In C by clang on aarch64, a block's region computes the address of one byte of the frame (an add).
 *   - `strip` and `objcopy --strip-all` of GNU keep the regions; `llvm-strip` needs
 *     --keep-section=.note.stapsdt.
 *   - C from C11 (or an older GNU dialect whose compiler knows _Static_assert), C++ from C++11; x86-64 and
 *     aarch64. On other ELF machines everything but dynamic names, and C by others than gcc, works too.
 *
 * HOW IT WORKS (nobody needs it to use the macros)
 *
 *   Each end of a region is a site: a nop (on x86-64 and then one of 10 bytes, where newer kernels can
 *   place a call) with a SystemTap version-3 note in `.note.stapsdt`, provider "scope", names
 *   <region>__begin and <region>__end, which readelf -n, bpftrace, perf and gdb know too. A second note
 *   behind each begin, with an owner of our own, holds file and line. Notes are in the file only: they are
 *   never loaded, and nothing is relocated at run time. In C++ the end of a block is a destructor; in C by
 *   gcc a nested function as cleanup handler; both are inlined at every level. Other C compilers end all
 *   blocks at one shared probe, __scope__end, where begin and end name the same byte of the frame, which is
 *   never touched.
 */
#ifndef SCOPE_PROBE_H
#define SCOPE_PROBE_H

/* clang-format off: most of what follows is assembler text */

#if !defined(SCOPE_DISABLE)
#if !defined(__GNUC__) || !defined(__ELF__) || defined(__TINYC__) || defined(__wasm__) || \
    defined(__bpf__) || defined(__NVPTX__) || defined(__AMDGPU__) || defined(__CUDA_ARCH__) || \
    defined(__HIP_DEVICE_COMPILE__) || defined(__SYCL_DEVICE_ONLY__)
#define SCOPE_DISABLE 1
#elif defined(__cplusplus) && __cplusplus < 201103L
#error "scope_probe.h needs C++11 or newer: add -std=c++11, or -DSCOPE_DISABLE to build without regions"
#endif
#endif

#ifdef SCOPE_DISABLE

#define SP_PROBE(name) ((void)0)
#define SP_BEGIN(name) ((void)0)
#define SP_END(name) ((void)0)
#define SP_REGION(literal) ((void)0)
#define SP_BEGIN_NAMED(literal) ((void)0)
#define SP_END_NAMED(literal) ((void)0)
/* sizeof: the variable counts as used, the expression is not evaluated */
#define SP_PROBE_DYNAMIC(string) ((void)sizeof(string))
#define SP_BEGIN_DYNAMIC(string) ((void)sizeof(string))
#define SP_END_DYNAMIC(string) ((void)sizeof(string))

#else

#ifndef SCOPE_FILE
#define SCOPE_FILE __FILE__
#endif

#define SCOPE_STR_1(x) #x
#define SCOPE_STR_(x) SCOPE_STR_1(x)
#define SCOPE_CAT_1(a, b) a##b
#define SCOPE_CAT_(a, b) SCOPE_CAT_1(a, b)

/* nested functions exist in gcc alone, not in those that only say so */
#if !defined(__clang__) && !defined(__INTEL_COMPILER) && !defined(__NVCOMPILER) && !defined(__PGI) && \
    !defined(__LCC__)
#define SCOPE_IS_GCC_ 1
#else
#define SCOPE_IS_GCC_ 0
#endif

/* "inline": the asm weighs nothing when the compiler decides what to inline, so that it inlines as without */
#if (SCOPE_IS_GCC_ && __GNUC__ >= 9) || (defined(__clang__) && __clang_major__ >= 11)
#define SCOPE_ASM_ __asm__ __volatile__ __inline__
#else
#define SCOPE_ASM_ __asm__ __volatile__
#endif

#ifdef __cplusplus
#define SCOPE_ASSERT_(cond, text) static_assert(cond, text)
#else
#define SCOPE_ASSERT_(cond, text) __extension__ _Static_assert(cond, text)
#endif

#if defined(__has_attribute)
#if __has_attribute(nodebug)
/* the end of a block belongs to the block's lines, not to a line of this header */
#define SCOPE_ALWAYS_ __attribute__((always_inline, no_instrument_function, nodebug))
#endif
#endif
#ifndef SCOPE_ALWAYS_
#define SCOPE_ALWAYS_ __attribute__((always_inline, no_instrument_function))
#endif

/* ---- assembler text ---- */

#if defined(__x86_64__)
#define SCOPE_NOPS_ ".byte 0x90,0x66,0x2e,0x0f,0x1f,0x84,0x00,0x00,0x00,0x00,0x00"
#define SCOPE_RELOC_NONE_ "R_X86_64_NONE"
#elif defined(__aarch64__)
#define SCOPE_NOPS_ "nop"
#define SCOPE_RELOC_NONE_ "R_AARCH64_NONE"
#else
#define SCOPE_NOPS_ "nop"
#endif

#if __SIZEOF_POINTER__ == 8
#define SCOPE_ADDR_ ".8byte "
#else
#define SCOPE_ADDR_ ".4byte "
#endif

/* Relocations that change nothing. The first keeps the base wherever the code stays (--gc-sections), the second
 * keeps functions apart that differ in a region's name alone (--icf=all). The third makes the site a root for
 * gold, which otherwise refuses a note of a function that it dropped: the section's name is one that gold takes
 * for a root, and the "e" leaves the section itself out of the program. */
#ifdef SCOPE_RELOC_NONE_
#define SCOPE_TIES_ \
    "\t.reloc 990b, " SCOPE_RELOC_NONE_ ", _.stapsdt.base\n" \
    "\t.reloc 990b, " SCOPE_RELOC_NONE_ ", 991b\n" \
    "\t.pushsection .rodata.nptl_version.scope,\"ae?\",@progbits\n" \
    "\t.reloc ., " SCOPE_RELOC_NONE_ ", 990b\n\t.byte 0\n" \
    "\t.popsection\n"
#else
#define SCOPE_TIES_ ""
#endif

#if defined(__has_attribute)
#if __has_attribute(retain)
#define SCOPE_BASE_FLAGS_ "aGR"
#endif
#endif
#ifndef SCOPE_BASE_FLAGS_
#define SCOPE_BASE_FLAGS_ "aG"
#endif

/* one byte per module, shared by all object files: where the notes think that it was */
#define SCOPE_BASE_ \
    "\t.ifndef _.stapsdt.base\n" \
    "\t.pushsection .stapsdt.base,\"" SCOPE_BASE_FLAGS_ "\",@progbits,.stapsdt.base,comdat\n" \
    "\t.weak _.stapsdt.base\n" \
    "\t.hidden _.stapsdt.base\n" \
    "_.stapsdt.base:\n" \
    "\t.space 1\n" \
    "\t.size _.stapsdt.base,1\n" \
    "\t.popsection\n" \
    "\t.endif\n"

#define SCOPE_NOTES_OPEN_ "\t.pushsection .note.stapsdt,\"?\",@note\n\t.balign 4\n"
#define SCOPE_NOTES_CLOSE_ "\t.balign 4\n\t.popsection\n"

/* A site is its notes and then its code, which they find as 990f. name, suffix and args are string tokens. */
#define SCOPE_CODE_ "990:\t" SCOPE_NOPS_ "\n" SCOPE_TIES_
#define SCOPE_NOTE_(name, suffix, args) \
    SCOPE_NOTES_OPEN_ \
    "991:\t.4byte 8,993f-992f,3\n" \
    "\t.asciz \"stapsdt\"\n" \
    "992:\t" SCOPE_ADDR_ "990f,_.stapsdt.base,0\n" \
    "\t.asciz \"scope\"\n" \
    "\t.asciz \"" name suffix "\"\n" \
    "\t.asciz \"" args "\"\n" \
    "993:" SCOPE_NOTES_CLOSE_ SCOPE_BASE_

/* our own notes: source of a begin, and the frame byte of a literal's begin */
#define SCOPE_OWN_NOTE_(type, site, fields) \
    SCOPE_NOTES_OPEN_ \
    "\t.4byte 6,995f-994f," type "\n" \
    "\t.asciz \"scope\"\n" \
    "\t.balign 4\n" \
    "994:\t" SCOPE_ADDR_ site "\n" fields \
    "995:" SCOPE_NOTES_CLOSE_
#define SCOPE_SOURCE_ \
    SCOPE_OWN_NOTE_("0x5301", "990f", \
                    "\t.4byte " SCOPE_STR_(__LINE__) "\n\t.asciz \"" SCOPE_FILE "\"\n")

#define SCOPE_SITE_(name, suffix, args) SCOPE_NOTE_(name, suffix, args) SCOPE_CODE_
#define SCOPE_SOURCE_SITE_(name, suffix, args) SCOPE_NOTE_(name, suffix, args) SCOPE_SOURCE_ SCOPE_CODE_
#define SCOPE_BEGIN_SITE_(name, args) SCOPE_SOURCE_SITE_(name, "__begin", args)
#define SCOPE_END_SITE_(name) SCOPE_SITE_(name, "__end", "")

/* ---- checks of names ---- */

#define SCOPE_CHECK_NAME_(text) \
    SCOPE_ASSERT_(sizeof(text) > 1 && sizeof(text) <= 256, "a region's name has 1 to 255 bytes"); \
    SCOPE_ASSERT_(__builtin_strncmp(text, "__", 2) != 0, "region names that begin with __ are reserved")
/* The literal goes into the assembler's text as it is, where `\` and `"` would mean something else. As many bytes
 * as in its spelling: then it has no backslash (so no quote or line break either), no prefix, and is one. */
#define SCOPE_CHECK_LITERAL_(text) \
    SCOPE_CHECK_NAME_("" text); \
    SCOPE_ASSERT_(sizeof(SCOPE_STR_(text)) == sizeof(text) + 2 && sizeof((text)[0]) == 1 && \
                      __builtin_strlen(text) == sizeof(text) - 1, \
                  "a region's literal name is one plain literal without backslash: else use SP_PROBE_DYNAMIC")

/* ---- regions that are no block ---- */

/* `struct scope_region_##name;` declares nothing that anybody sees; it refuses what is no identifier */
#define SCOPE_POINT_(tag, text, site) \
    do { \
        struct tag; \
        SCOPE_CHECK_NAME_(text); \
        SCOPE_ASM_(site :); \
    } while (0)
/* Basic asm, without operands: only there `% { | }` pass untouched. */
#define SCOPE_POINT_LITERAL_(text, site) \
    do { \
        SCOPE_CHECK_LITERAL_(text); \
        SCOPE_ASM_(site); \
    } while (0)
/* "memory": the bytes of the name have to be there */
#define SCOPE_POINT_DYNAMIC_(string, site) \
    do { \
        const char *scope_name_ = (string); \
        SCOPE_ASM_(site : : "m"(scope_name_) : "memory"); \
    } while (0)

#define SP_BEGIN(name) SCOPE_POINT_(scope_region_##name, #name, SCOPE_BEGIN_SITE_(#name, ""))
#define SP_END(name) SCOPE_POINT_(scope_region_##name, #name, SCOPE_END_SITE_(#name))
#define SP_BEGIN_NAMED(literal) SCOPE_POINT_LITERAL_(literal, SCOPE_BEGIN_SITE_("" literal, ""))
#define SP_END_NAMED(literal) SCOPE_POINT_LITERAL_(literal, SCOPE_END_SITE_("" literal))
#define SP_BEGIN_DYNAMIC(string) \
    SCOPE_POINT_DYNAMIC_(string, SCOPE_SOURCE_SITE_("__dynamic", "__open", "8@%0"))
#define SP_END_DYNAMIC(string) \
    SCOPE_POINT_DYNAMIC_(string, SCOPE_SITE_("__dynamic", "__close", "8@%0"))

/* ---- blocks ---- */

#define SCOPE_DYNAMIC_BEGIN_ SCOPE_BEGIN_SITE_("__dynamic", "8@%0")
#define SCOPE_DYNAMIC_END_ SCOPE_SITE_("__dynamic", "__end", "8@%0")

#ifdef __cplusplus

/* Two declarations: as the body of an `if` without braces the second does not see the first's class. */
#define SCOPE_BLOCK_(type, begin, end) \
    struct type { \
        __inline__ SCOPE_ALWAYS_ type() { begin; } \
        __inline__ SCOPE_ALWAYS_ ~type() { end; } \
        type(const type &) = delete; \
        type &operator=(const type &) = delete; \
    }; \
    type SCOPE_CAT_(type, _v)

#define SCOPE_BLOCK_NAME_(tag, text) \
    SCOPE_BLOCK_(tag, SCOPE_CHECK_NAME_(text); SCOPE_ASM_(SCOPE_BEGIN_SITE_(text, "") :), \
                 SCOPE_ASM_(SCOPE_END_SITE_(text) :))
#define SCOPE_BLOCK_LITERAL_(tag, text) \
    SCOPE_BLOCK_(tag, SCOPE_CHECK_LITERAL_(text); SCOPE_ASM_(SCOPE_BEGIN_SITE_("" text, "")), \
                 SCOPE_ASM_(SCOPE_END_SITE_("" text)))
/* the variable's address is the call, so it has to be in memory: "+m" */
#define SCOPE_BLOCK_DYNAMIC_(type, string) \
    struct type { \
        const char *name; \
        __inline__ SCOPE_ALWAYS_ explicit type(const char *s) : name(s) \
        { \
            SCOPE_ASM_(SCOPE_DYNAMIC_BEGIN_ : "+m"(name) : : "memory"); \
        } \
        __inline__ SCOPE_ALWAYS_ ~type() { SCOPE_ASM_(SCOPE_DYNAMIC_END_ : "+m"(name)); } \
        type(const type &) = delete; \
        type &operator=(const type &) = delete; \
    }; \
    type SCOPE_CAT_(type, _v)(string)

#else /* C */

/* behind the name: an attribute in front would let gcc take the declaration as the body of an `if` */
#define SCOPE_CLEANUP_(f) __attribute__((cleanup(f), unused))

#if SCOPE_IS_GCC_

#define SCOPE_BLOCK_(tag, check, begin, end) \
    __extension__ __inline__ SCOPE_ALWAYS_ void SCOPE_CAT_(tag, _end)(char *scope_p_) \
    { \
        (void)scope_p_; \
        end; \
    } \
    char SCOPE_CAT_(tag, _v) SCOPE_CLEANUP_(SCOPE_CAT_(tag, _end)); \
    check; \
    begin
#define SCOPE_BLOCK_NAME_(tag, text) \
    SCOPE_BLOCK_(tag, SCOPE_CHECK_NAME_(text), SCOPE_ASM_(SCOPE_BEGIN_SITE_(text, "") :), \
                 SCOPE_ASM_(SCOPE_END_SITE_(text) :))
#define SCOPE_BLOCK_LITERAL_(tag, text) \
    SCOPE_BLOCK_(tag, SCOPE_CHECK_LITERAL_(text), SCOPE_ASM_(SCOPE_BEGIN_SITE_("" text, "")), \
                 SCOPE_ASM_(SCOPE_END_SITE_("" text)))

#else /* no nested functions: one shared end, found by the address of a byte that is never touched */

extern __inline__ __attribute__((gnu_inline)) SCOPE_ALWAYS_ void scope_block_end_(char *scope_p_)
{
    SCOPE_ASM_(SCOPE_SITE_("__scope", "__end", "1@%0") : "+m"(*scope_p_));
}

#define SCOPE_BLOCK_VAR_(tag) char SCOPE_CAT_(tag, _v) SCOPE_CLEANUP_(scope_block_end_)
#define SCOPE_BLOCK_NAME_(tag, text) \
    SCOPE_BLOCK_VAR_(tag); \
    SCOPE_CHECK_NAME_(text); \
    SCOPE_ASM_(SCOPE_BEGIN_SITE_(text, "1@%0") : "=m"(SCOPE_CAT_(tag, _v)))
/* The asm with the literal's name has no operands: it makes notes only. The site stands in a second one behind it,
 * which has the frame byte as operand, so that what the operand is computed from holds there. That one's text is
 * unique (the tag), so that two branches are never merged between the two. */
#define SCOPE_BLOCK_LITERAL_(tag, text) \
    SCOPE_BLOCK_VAR_(tag); \
    SCOPE_CHECK_LITERAL_(text); \
    SCOPE_ASM_(SCOPE_NOTE_("" text, "__begin", "") SCOPE_SOURCE_); \
    SCOPE_ASM_("# " SCOPE_STR_(tag) "\n" \
               SCOPE_CODE_ SCOPE_OWN_NOTE_("0x5302", "990b", "\t.asciz \"1@%0\"\n") \
               : "=m"(SCOPE_CAT_(tag, _v)))

#endif

extern __inline__ __attribute__((gnu_inline)) SCOPE_ALWAYS_ void scope_dynamic_end_(const char **scope_p_)
{
    SCOPE_ASM_(SCOPE_DYNAMIC_END_ : "+m"(*scope_p_));
}

#define SCOPE_BLOCK_DYNAMIC_(tag, string) \
    const char *SCOPE_CAT_(tag, _v) SCOPE_CLEANUP_(scope_dynamic_end_) = (string); \
    SCOPE_ASM_(SCOPE_DYNAMIC_BEGIN_ : "+m"(SCOPE_CAT_(tag, _v)) : : "memory")

#endif /* C */

/* the counter keeps two regions of one line, and -Wshadow, apart */
#define SCOPE_TAG_(stem) SCOPE_CAT_(stem, __COUNTER__)

#define SP_PROBE(name) SCOPE_BLOCK_NAME_2_(SCOPE_TAG_(scope_region_##name##_), #name)
#define SP_REGION(literal) SCOPE_BLOCK_LITERAL_2_(SCOPE_TAG_(scope_literal_), literal)
#define SP_PROBE_DYNAMIC(string) SCOPE_BLOCK_DYNAMIC_2_(SCOPE_TAG_(scope_dynamic_), string)
/* one more step, so that the counter is read once */
#define SCOPE_BLOCK_NAME_2_(tag, text) SCOPE_BLOCK_NAME_(tag, text)
#define SCOPE_BLOCK_LITERAL_2_(tag, text) SCOPE_BLOCK_LITERAL_(tag, text)
#define SCOPE_BLOCK_DYNAMIC_2_(tag, string) SCOPE_BLOCK_DYNAMIC_(tag, string)

#endif /* SCOPE_DISABLE */
#endif /* SCOPE_PROBE_H */
