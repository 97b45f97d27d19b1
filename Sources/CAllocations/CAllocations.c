#define _GNU_SOURCE
#include "CAllocations.h"
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOBAL_DATA R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOBAL_DATA R_AARCH64_GLOB_DAT
#endif

// The runtime's own hook (_swift_allocObject) misdirects retains of small strings, so imports are redirected instead.

static void *(*allocate)(size_t);
static int (*allocate_aligned)(void **, size_t, size_t);
static void *(*retain)(void *);
static void (*release)(void *);
static _Thread_local uint64_t count;
static _Thread_local uint64_t references;

static void *counting_malloc(size_t size) {
    count += 1;
    return allocate(size);
}

static int counting_posix_memalign(void **memory, size_t alignment, size_t size) {
    count += 1;
    return allocate_aligned(memory, alignment, size);
}

// Callers may rely on their registers being preserved.
__attribute__((preserve_most)) static void *counting_retain(void *object) {
    references += 1;
    return retain(object);
}

__attribute__((preserve_most)) static void counting_release(void *object) {
    references += 1;
    release(object);
}

static void redirect_slot(uintptr_t slot, uintptr_t function) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)(slot / page * page);
    if (mprotect(start, page, PROT_READ | PROT_WRITE) == 0)
        __atomic_store_n((uintptr_t *)slot, function, __ATOMIC_RELEASE);
}

static const struct {
    const char *name;
    uintptr_t counting;
    uintptr_t *plain;
} imports[] = {
    {"malloc", (uintptr_t)counting_malloc, (uintptr_t *)&allocate},
    {"posix_memalign", (uintptr_t)counting_posix_memalign, (uintptr_t *)&allocate_aligned},
    {"swift_retain", (uintptr_t)counting_retain, (uintptr_t *)&retain},
    {"swift_release", (uintptr_t)counting_release, (uintptr_t *)&release},
};

static void redirect_imports(
    uintptr_t base, const ElfW(Rela) *entry, size_t bytes, const ElfW(Sym) *symbols, const char *names, bool counts) {
    for (const ElfW(Rela) *end = entry + bytes / sizeof *entry; entry < end; entry++) {
        unsigned type = ELF64_R_TYPE(entry->r_info);
        if (type != JUMP_SLOT && type != GLOBAL_DATA) continue;
        const char *name = names + symbols[ELF64_R_SYM(entry->r_info)].st_name;
        for (size_t i = 0; i < sizeof imports / sizeof *imports; i++)
            if (strcmp(name, imports[i].name) == 0)
                redirect_slot(base + entry->r_offset, counts ? imports[i].counting : *imports[i].plain);
    }
}

// Called once for every loaded object. Only the runtime's libraries and the program, which may contain them, count.
static int redirect_object(struct dl_phdr_info *object, size_t size, void *counts) {
    if (object->dlpi_name[0] != 0 && !strstr(object->dlpi_name, "/libswift")) return 0;
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    const ElfW(Rela) *data = NULL, *functions = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    size_t data_bytes = 0, function_bytes = 0;
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        switch (dynamic->d_tag) {
        case DT_RELA: data = (const ElfW(Rela) *)dynamic->d_un.d_ptr; break;
        case DT_RELASZ: data_bytes = dynamic->d_un.d_val; break;
        case DT_JMPREL: functions = (const ElfW(Rela) *)dynamic->d_un.d_ptr; break;
        case DT_PLTRELSZ: function_bytes = dynamic->d_un.d_val; break;
        case DT_SYMTAB: symbols = (const ElfW(Sym) *)dynamic->d_un.d_ptr; break;
        case DT_STRTAB: names = (const char *)dynamic->d_un.d_ptr; break;
        }
    }
    if (!symbols || !names) return 0;
    redirect_imports(object->dlpi_addr, data, data_bytes, symbols, names, *(bool *)counts);
    redirect_imports(object->dlpi_addr, functions, function_bytes, symbols, names, *(bool *)counts);
    return 0;
}

// The number of starts without their stop. At 0 the imports are the original ones.
static int counters;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void redirect(bool counts) {
    for (size_t i = 0; i < sizeof imports / sizeof *imports; i++) {
        if (!*imports[i].plain) *imports[i].plain = (uintptr_t)dlsym(RTLD_DEFAULT, imports[i].name);
        if (!*imports[i].plain) return;
    }
    dl_iterate_phdr(redirect_object, &counts);
}

void pushmill_allocations_start(void) {
    pthread_mutex_lock(&lock);
    if (counters++ == 0) redirect(true);
    pthread_mutex_unlock(&lock);
}

void pushmill_allocations_stop(void) {
    pthread_mutex_lock(&lock);
    if (--counters == 0) redirect(false);
    pthread_mutex_unlock(&lock);
}

uint64_t pushmill_allocations_of_this_thread(void) { return count; }

uint64_t pushmill_references_of_this_thread(void) { return references; }

// From jemalloc; null unless the program is linked with it.
extern int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));

void pushmill_allocations_give_back(void) {
    // 4096 stands for all arenas.
    if (mallctl)
        mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
    else
        malloc_trim(0);
}
