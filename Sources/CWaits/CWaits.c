// librdkafka waits with C11's `cnd_timedwait`, until a wall-clock time: if that clock is set back by an hour, every
// wait in progress lasts an hour longer. An idle member sends no heartbeats and loses its partitions unawares; an
// outage of the brokers goes on after they are back. librdkafka, too, finds this definition before the C library's.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>

// glibc's types for C11 are its POSIX types under other names.
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t) && sizeof(mtx_t) == sizeof(pthread_mutex_t), "glibc");

/// Waits for the time left until `end`, by the monotonic clock, which is never set.
int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict end) {
    const long second = 1000000000;
    struct timespec day, clock;
    clock_gettime(CLOCK_REALTIME, &day);
    clock_gettime(CLOCK_MONOTONIC, &clock);
    // Seconds apart: an endless wait has more of them than a `long` can hold as nanoseconds.
    long rest = second + clock.tv_nsec + end->tv_nsec - day.tv_nsec;
    clock.tv_sec += end->tv_sec - day.tv_sec + rest / second - 1;
    clock.tv_nsec = rest % second;
    switch (pthread_cond_clockwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, CLOCK_MONOTONIC, &clock)) {
    case 0: return thrd_success;
    case ETIMEDOUT: return thrd_timedout;
    default: return thrd_error;
    }
}
