// librdkafka waits with C11's `cnd_timedwait`, until a time of day: where that is set back by an hour, every wait that
// has begun lasts an hour longer. An idle member sends no heartbeats, and loses its partitions unawares; an outage of the
// brokers goes on when they are back. Defined here, the function is found before the C library's own, by librdkafka too.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>

// The C library's types for C11 are those for POSIX under other names.
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t) && sizeof(mtx_t) == sizeof(pthread_mutex_t), "glibc");

/// Waits as long as it is from now until then, by the clock that nobody sets.
int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict end) {
    const long second = 1000000000;
    struct timespec day, clock;
    clock_gettime(CLOCK_REALTIME, &day);
    clock_gettime(CLOCK_MONOTONIC, &clock);
    // Seconds for themselves: who waits for ever gives more of them than a number takes nanoseconds.
    long rest = second + clock.tv_nsec + end->tv_nsec - day.tv_nsec;
    clock.tv_sec += end->tv_sec - day.tv_sec + rest / second - 1;
    clock.tv_nsec = rest % second;
    switch (pthread_cond_clockwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, CLOCK_MONOTONIC, &clock)) {
    case 0: return thrd_success;
    case ETIMEDOUT: return thrd_timedout;
    default: return thrd_error;
    }
}
