#define _GNU_SOURCE
#include "CAllocations.h"
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
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

// The runtime's own hook for this (_swift_allocObject) sends retains of small strings astray, so its import is redirected.

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

// Callers may count on their registers being kept.
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

static void redirect_imports(
    uintptr_t base, const ElfW(Rela) *entry, size_t bytes, const ElfW(Sym) *symbols, const char *names) {
    for (const ElfW(Rela) *end = entry + bytes / sizeof *entry; entry < end; entry++) {
        unsigned type = ELF64_R_TYPE(entry->r_info);
        if (type != JUMP_SLOT && type != GLOBAL_DATA) continue;
        const char *name = names + symbols[ELF64_R_SYM(entry->r_info)].st_name;
        if (strcmp(name, "malloc") == 0) redirect_slot(base + entry->r_offset, (uintptr_t)counting_malloc);
        if (strcmp(name, "posix_memalign") == 0)
            redirect_slot(base + entry->r_offset, (uintptr_t)counting_posix_memalign);
        if (strcmp(name, "swift_retain") == 0) redirect_slot(base + entry->r_offset, (uintptr_t)counting_retain);
        if (strcmp(name, "swift_release") == 0) redirect_slot(base + entry->r_offset, (uintptr_t)counting_release);
    }
}

// Called once for every loaded object: the runtime's libraries count, and the program, which may hold the runtime itself.
static int redirect_object(struct dl_phdr_info *object, size_t size, void *context) {
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
    redirect_imports(object->dlpi_addr, data, data_bytes, symbols, names);
    redirect_imports(object->dlpi_addr, functions, function_bytes, symbols, names);
    return 0;
}

static void redirect(void) {
    allocate = dlsym(RTLD_DEFAULT, "malloc");
    allocate_aligned = dlsym(RTLD_DEFAULT, "posix_memalign");
    retain = dlsym(RTLD_DEFAULT, "swift_retain");
    release = dlsym(RTLD_DEFAULT, "swift_release");
    if (allocate && allocate_aligned) dl_iterate_phdr(redirect_object, NULL);
}

void pushmill_allocations_start(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, redirect);
}

uint64_t pushmill_allocations_of_this_thread(void) { return count; }

uint64_t pushmill_references_of_this_thread(void) { return references; }

// jemalloc's, where the program is linked with it.
extern int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));

void pushmill_allocations_give_back(void) {
    // 4096 stands for all arenas.
    if (mallctl)
        mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
    else
        malloc_trim(0);
}
