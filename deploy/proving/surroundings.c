// The clock and the network of one process, as a test wants them. To be preloaded; SURROUNDINGS names a file
// that begins with `struct surroundings`, whoever writes to it moves them at once.
//
// The wall clock is off by some time; what waits until a time of that clock waits as the kernel would when somebody sets
// it. The monotonic clock is left alone. A connection to a port of this machine is made to another one.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "not glibc's mtx_t");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "not glibc's cnd_t");

struct surroundings {
    int64_t ahead;
    struct {
        uint16_t from, to;
    } ports[16];
};

static const struct surroundings real;
static const volatile struct surroundings *here = &real;

__attribute__((constructor)) static void enter(void) {
    const char *path = getenv("SURROUNDINGS");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *found = file < 0 ? MAP_FAILED : mmap(NULL, sizeof real, PROT_READ, MAP_SHARED, file, 0);
    if (found == MAP_FAILED) abort();
    here = found;
    close(file);
}

static int64_t count(const struct timespec *time) { return time->tv_sec * SECOND + time->tv_nsec; }

static struct timespec spec(int64_t count) { return (struct timespec){count / SECOND, count % SECOND}; }

static int64_t wall(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return count(&now) + here->ahead;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int code = (int)syscall(SYS_clock_gettime, clock, time);
    if (!code && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) *time = spec(count(time) + here->ahead);
    return code;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now = spec(wall());
    *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *place) {
    time_t now = wall() / SECOND;
    if (place) *place = now;
    return now;
}

int timespec_get(struct timespec *time, int base) {
    if (base != TIME_UTC) return 0;
    *time = spec(wall());
    return base;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    // The condition does not tell which clock is its own. A machine's monotonic one is not 30 years old.
    if (until->tv_sec < 1000000000) return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, until);
    for (;;) {
        int64_t left = count(until) - wall();
        if (left <= 0) return ETIMEDOUT;
        // So soon it notices that the clock was set.
        if (left > SECOND / 50) left = SECOND / 50;
        struct timespec slice;
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &slice);
        slice = spec(count(&slice) + left);
        int code = pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &slice);
        if (code != ETIMEDOUT) return code;
    }
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict until) {
    int code = pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, until);
    return code == 0 ? thrd_success : code == ETIMEDOUT ? thrd_timedout : thrd_error;
}

int connect(int socket, const struct sockaddr *address, socklen_t size) {
    struct sockaddr_in other;
    if (address->sa_family == AF_INET && size >= sizeof other) {
        other = *(const struct sockaddr_in *)address;
        for (int n = 0; n < 16 && other.sin_addr.s_addr == htonl(INADDR_LOOPBACK); n++)
            if (here->ports[n].from && htons(here->ports[n].from) == other.sin_port) {
                other.sin_port = htons(here->ports[n].to);
                address = (struct sockaddr *)&other;
                break;
            }
    }
    return (int)syscall(SYS_connect, socket, address, size);
}
