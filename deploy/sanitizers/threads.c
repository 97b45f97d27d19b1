// What the thread sanitizer does not see of our threads, told to it. To be preloaded; built by Swift's clang.
//
// It knows POSIX threads only, and librdkafka uses C11's, which glibc keeps to itself: a thread that it does not know ends
// the process at its first intercepted call. So each C11 call is made the POSIX one that glibc has beneath it; the types
// are the same there. And Swift's Mutex, when it has to wait, leaves locking to the kernel, so that all it guards would
// look unguarded.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "not glibc's mtx_t");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "not glibc's cnd_t");

typedef struct {
    thrd_start_t work;
    void *argument;
} start_t;

static void *run(void *pointer) {
    start_t start = *(start_t *)pointer;
    free(pointer);
    return (void *)(intptr_t)start.work(start.argument);
}

static int result(int code) {
    switch (code) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ENOMEM: return thrd_nomem;
    case ETIMEDOUT: return thrd_timedout;
    default: return thrd_error;
    }
}

int thrd_create(thrd_t *thread, thrd_start_t work, void *argument) {
    start_t *start = malloc(sizeof *start);
    if (!start) return thrd_nomem;
    *start = (start_t){work, argument};
    int code = pthread_create((pthread_t *)thread, NULL, run, start);
    if (code) free(start);
    return result(code);
}

int thrd_join(thrd_t thread, int *value) {
    void *ended;
    int code = pthread_join((pthread_t)thread, &ended);
    if (!code && value) *value = (int)(intptr_t)ended;
    return result(code);
}

int mtx_init(mtx_t *mutex, int type) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
    int code = pthread_mutex_init((pthread_mutex_t *)mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return result(code);
}

int mtx_lock(mtx_t *mutex) { return result(pthread_mutex_lock((pthread_mutex_t *)mutex)); }
int mtx_unlock(mtx_t *mutex) { return result(pthread_mutex_unlock((pthread_mutex_t *)mutex)); }
void mtx_destroy(mtx_t *mutex) { pthread_mutex_destroy((pthread_mutex_t *)mutex); }

int cnd_init(cnd_t *condition) { return result(pthread_cond_init((pthread_cond_t *)condition, NULL)); }
int cnd_signal(cnd_t *condition) { return result(pthread_cond_signal((pthread_cond_t *)condition)); }
int cnd_broadcast(cnd_t *condition) { return result(pthread_cond_broadcast((pthread_cond_t *)condition)); }
void cnd_destroy(cnd_t *condition) { pthread_cond_destroy((pthread_cond_t *)condition); }

int cnd_wait(cnd_t *condition, mtx_t *mutex) {
    return result(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex));
}

int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *limit) {
    return result(pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, limit));
}

void call_once(once_flag *flag, void (*work)(void)) { pthread_once((pthread_once_t *)flag, work); }

void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slowly(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void unlock_slowly(SELF) __asm__(UNLOCK);

SWIFT void lock_slowly(uint32_t thread, SELF) {
    static SWIFT void (*original)(uint32_t, SELF);
    if (!original) original = (SWIFT void (*)(uint32_t, SELF))dlsym(RTLD_NEXT, LOCK);
    original(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slowly(SELF) {
    static SWIFT void (*original)(SELF);
    if (!original) original = (SWIFT void (*)(SELF))dlsym(RTLD_NEXT, UNLOCK);
    if (__tsan_release) __tsan_release(mutex);
    original(mutex);
}
