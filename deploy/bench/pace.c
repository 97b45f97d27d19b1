// pace BOOTSTRAP IN OUT RATE SECONDS WARMUP_SECONDS DEADLINE_SECONDS EVERY URL [KEY]
//
// Produces notifications to IN at RATE per second, of which one in EVERY (0: none) has a media-url (URL with %ld for its
// number) and its own key, or KEY, and reads OUT until all have come out. Prints latencies after the warm-up as JSON:
// from the producer through the service to this consumer. For a best-attempt it prints how much later than the deadline
// it came.
// cc -O2 -o pace pace.c -lrdkafka -lpthread
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *servers, *input, *output, *url, *marked;
static double rate, seconds, warmup, deadline;
static long every, total;
static volatile int started;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static rd_kafka_t *client(rd_kafka_type_t type) {
    char error[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", servers, error, sizeof error);
    if (type == RD_KAFKA_PRODUCER) {
        rd_kafka_conf_set(conf, "linger.ms", "5", error, sizeof error);
    } else {
        rd_kafka_conf_set(conf, "group.id", "pace", error, sizeof error);
        rd_kafka_conf_set(conf, "enable.auto.commit", "false", error, sizeof error);
        rd_kafka_conf_set(conf, "fetch.wait.max.ms", "20", error, sizeof error);
    }
    rd_kafka_t *made = rd_kafka_new(type, conf, error, sizeof error);
    if (!made) exit((fprintf(stderr, "pace: %s\n", error), 1));
    return made;
}

static void *produce(void *unused) {
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER);
    while (!started) rd_kafka_poll(producer, 5);
    int64_t begin = now();
    for (long n = 0; n < total; n++) {
        int64_t due = begin + (int64_t)(n / rate * 1e9), time = now();
        if (time < due) {
            struct timespec wait = {0, due - time};
            nanosleep(&wait, NULL);
        }
        char key[32], member[256] = "", value[512], place[200];
        int isMarked = every > 0 && n % every == 0;
        snprintf(place, sizeof place, url, n);
        if (isMarked) snprintf(member, sizeof member, ",\"media-url\":\"%s\"", place);
        int keyLength = snprintf(key, sizeof key, isMarked ? marked : "user-%ld", isMarked ? n : n % 50000);
        int length = snprintf(value, sizeof value,
                              "{\"aps\":{\"alert\":{\"title\":\"Title\",\"body\":\"Body of %ld\"},"
                              "\"mutable-content\":1}%s}", n, member);
        rd_kafka_headers_t *headers = rd_kafka_headers_new(1);
        time = now();
        if (time < due) time = due;
        rd_kafka_header_add(headers, "t0", 2, &time, sizeof time);
        if (rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(input), RD_KAFKA_V_KEY(key, keyLength),
                              RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_VALUE(value, length),
                              RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_BLOCK), RD_KAFKA_V_END))
            exit((fprintf(stderr, "pace: cannot produce\n"), 1));
        if (!(n & 63)) rd_kafka_poll(producer, 0);
    }
    rd_kafka_flush(producer, 10000);
    return unused;
}

static rd_kafka_t *reader(void) {
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER);
    rd_kafka_poll_set_consumer(consumer);
    const struct rd_kafka_metadata *metadata;
    if (rd_kafka_metadata(consumer, 0, rd_kafka_topic_new(consumer, output, NULL), &metadata, 10000))
        exit((fprintf(stderr, "pace: no topic %s\n", output), 1));
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
    for (int i = 0; i < metadata->topics[0].partition_cnt; i++)
        rd_kafka_topic_partition_list_add(list, output, i)->offset = RD_KAFKA_OFFSET_END;
    rd_kafka_assign(consumer, list);
    for (int64_t begin = now(); now() - begin < 1000000000LL;) rd_kafka_consumer_poll(consumer, 100);
    return consumer;
}

struct times {
    int64_t *values, first, last;
    long count;
};

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double part(struct times *times, double share) {
    return times->count ? times->values[(long)((times->count - 1) * share)] / 1e6 : 0;
}

int main(int count, char **words) {
    if (count < 10) return fprintf(stderr, "usage: pace BOOTSTRAP IN OUT RATE SECONDS WARMUP DEADLINE EVERY URL [KEY]\n"), 2;
    servers = words[1], input = words[2], output = words[3], url = words[9];
    marked = count > 10 ? words[10] : "media-%ld";
    rate = atof(words[4]), seconds = atof(words[5]), warmup = atof(words[6]), deadline = atof(words[7]);
    every = atol(words[8]), total = (long)((warmup + seconds) * rate);
    struct times on = {calloc(total, sizeof(int64_t)), 0, 0, 0}, late = {calloc(total, sizeof(int64_t)), 0, 0, 0};
    rd_kafka_t *consumer = reader();
    pthread_t thread;
    pthread_create(&thread, NULL, produce, NULL);
    int64_t from = now() + (int64_t)(warmup * 1e9), last = now();
    started = 1;
    long seen = 0;
    while (seen < total && now() - last < 15000000000LL) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, 100);
        if (!message) continue;
        rd_kafka_headers_t *headers;
        const void *value;
        size_t size;
        if (!message->err && !rd_kafka_message_headers(message, &headers) &&
            !rd_kafka_header_get_last(headers, "t0", &value, &size) && size == sizeof(int64_t)) {
            int64_t sent;
            memcpy(&sent, value, sizeof sent);
            last = now();
            seen++;
            int isLate = !rd_kafka_header_get_last(headers, "pushmill-outcome", &value, &size) && size == 12 &&
                         !memcmp(value, "best-attempt", 12);
            struct times *times = isLate ? &late : &on;
            if (sent >= from && times->count < total) {
                if (!times->first) times->first = last;
                times->last = last;
                times->values[times->count++] = last - sent - (isLate ? (int64_t)(deadline * 1e9) : 0);
            }
        }
        rd_kafka_message_destroy(message);
    }
    qsort(on.values, on.count, sizeof(int64_t), compare);
    qsort(late.values, late.count, sizeof(int64_t), compare);
    printf("{\"seen\": %ld, \"total\": %ld, \"on\": %ld, \"per_second\": %.1f, \"p50\": %.2f, \"p99\": %.2f, \"max\": %.2f, "
           "\"late\": %ld, \"late_least\": %.2f, \"late_p50\": %.2f, \"late_p99\": %.2f, \"late_max\": %.2f}\n",
           seen, total, on.count, on.last > on.first ? (on.count - 1) / ((on.last - on.first) / 1e9) : 0, part(&on, .5),
           part(&on, .99), part(&on, 1), late.count, part(&late, 0), part(&late, .5), part(&late, .99), part(&late, 1));
    return seen < total;
}
