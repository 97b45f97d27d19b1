// flow SERVERS POOL RECIPIENTS WINDOW
//
// Produces events to `in` and checks what comes out of them on `out` and `dead`, until told to end. POOL has a ciphertext
// a line, of "Secret 0", "Secret 1" and so on. Lines on standard input: `rate N` (events a second; 0 for as many as come
// out again), `end`. No more than WINDOW events are on their way at a time, a tenth of it with rate 0. Badges have to be
// the count of their recipient's events; one that comes again shows the count of now. Prints figures each second, as
// JSON: percentiles and `seen` are of that second, the rest of the whole time; the last line has `ended`.
#define _GNU_SOURCE
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// What one event says of itself in a header that goes along.
struct mark {
    int64_t number, sent;
    int32_t recipient, rank;
};

enum kind { MODIFIED, PASSED, EXPIRED, BROKEN, KINDS };
static const char *outcomes[KINDS] = {"modified", "passed", "expired", "dead-letter"};

static const char *servers;
static char *pool[1024];
static long pooled, recipients, window;
static _Atomic double rate = 1;
static atomic_long sent, acknowledged, arrived, held;
static atomic_int ending, produced;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void die(const char *what) {
    fprintf(stderr, "flow: %s\n", what);
    exit(1);
}

static enum kind kind_of(int64_t number) {
    return number % 200 == 0 ? BROKEN : number % 100 == 1 ? PASSED : number % 100 == 2 ? EXPIRED : MODIFIED;
}

static int compose(char *value, size_t size, int64_t number) {
    enum kind kind = kind_of(number);
    if (kind == BROKEN) return snprintf(value, size, "broken %ld", (long)number);
    if (kind == PASSED)
        return snprintf(value, size, "{\"aps\":{\"alert\":\"Only text\",\"sound\":\"a\"},\"number\":%ld}", (long)number);
    return snprintf(value, size,
                    "{\"aps\":{\"alert\":{\"title-loc-key\":\"SENT\",\"title-loc-args\":[\"{contact:c1}\"],"
                    "\"body\":\"-\"},\"badge\":1,\"mutable-content\":1},\"ENCRYPTED_DATA\":\"%s\",\"number\":%ld}",
                    pool[number % pooled], (long)number);
}

static void delivered(rd_kafka_t *producer, const rd_kafka_message_t *message, void *opaque) {
    if (message->err) die(rd_kafka_err2str(message->err));
    acknowledged++;
}

static rd_kafka_t *client(rd_kafka_type_t type, char *settings[][2]) {
    char error[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", servers, error, sizeof error);
    for (; (*settings)[0]; settings++)
        if (rd_kafka_conf_set(conf, (*settings)[0], (*settings)[1], error, sizeof error)) die(error);
    if (type == RD_KAFKA_PRODUCER) rd_kafka_conf_set_dr_msg_cb(conf, delivered);
    rd_kafka_t *made = rd_kafka_new(type, conf, error, sizeof error);
    if (!made) die(error);
    return made;
}

// The producer's thread.

static void send_one(rd_kafka_t *producer, int32_t *ranks, uint64_t *chance, int64_t number) {
    *chance = *chance * 6364136223846793005u + 1442695040888963407u;
    struct mark mark = {number, now(), (int32_t)((*chance >> 33) % recipients), 0};
    enum kind kind = kind_of(number);
    mark.rank = ranks[mark.recipient] += kind == MODIFIED || kind == EXPIRED;
    char key[32], value[4096];
    int keyLength = snprintf(key, sizeof key, "user-%d", mark.recipient);
    int length = compose(value, sizeof value, number);
    rd_kafka_headers_t *headers = rd_kafka_headers_new(2);
    rd_kafka_header_add(headers, "mark", 4, &mark, sizeof mark);
    if (kind == EXPIRED) rd_kafka_header_add(headers, "apns-expiration", 15, "1000000000", 10);
    rd_kafka_resp_err_t error;
    while ((error = rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("in"), RD_KAFKA_V_KEY(key, keyLength),
                                      RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_VALUE(value, length),
                                      RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END)) ==
           RD_KAFKA_RESP_ERR__QUEUE_FULL)
        rd_kafka_poll(producer, 10);
    if (error) die(rd_kafka_err2str(error));
}

static void *produce(void *unused) {
    char *settings[][2] = {{"linger.ms", "5"}, {"enable.idempotence", "true"}, {"partitioner", "murmur2"}, {0}};
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, settings);
    int32_t *ranks = calloc(recipients, sizeof *ranks);
    uint64_t chance = 1;
    double due = 0;
    for (int64_t last = now(), time; !ending; last = time) {
        time = now();
        due = rate > 0 ? due + (time - last) / 1e9 * rate : 1e9;
        long most = rate > 0 ? window : window / 10;
        for (; due >= 1 && sent - arrived < most; due--) send_one(producer, ranks, &chance, sent++);
        // What could not be sent for want of room is sent later, and said.
        if (rate <= 0) due = 0;
        held = (long)due;
        rd_kafka_poll(producer, 0);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    if (rd_kafka_flush(producer, 60000)) die("not all was acknowledged");
    produced = 1;
    return unused;
}

static void *obey(void *unused) {
    char line[64];
    while (fgets(line, sizeof line, stdin) && strncmp(line, "end", 3))
        if (!strncmp(line, "rate ", 5)) rate = atof(line + 5);
    ending = 1;
    return unused;
}

// What has arrived.

#define STEPS 64  // of a doubling
static struct {
    long times[40 * STEPS], count;
} second;

static long outcome[KINDS], repeats, strangers, disorder, wrong, miscounted, edition;
static uint8_t *seen;
static int64_t (*lasts)[2];

static void take_time(int64_t nanoseconds) {
    uint64_t value = nanoseconds < STEPS ? STEPS : nanoseconds;
    int doublings = 63 - __builtin_clzll(value) - 6;
    second.times[doublings * STEPS + (int)(value >> doublings) - STEPS]++;
    second.count++;
}

static double part(double share) {
    if (!second.count) return 0;
    long rank = (long)(second.count * share), index = 0;
    while (index < 40 * STEPS - 1 && (rank -= second.times[index]) >= 0) index++;
    return (double)((uint64_t)(STEPS + index % STEPS) << (index / STEPS)) / 1e6;
}

static long after(const char *text, const char *name) {
    const char *found = strstr(text, name);
    return found ? atol(found + strlen(name)) : -1;
}

// Whether it is what should come of its event.
static int is_right(const struct mark *mark, enum kind kind, const char *value, int isRepeat) {
    char text[4096];
    if (kind == BROKEN || kind == PASSED) return compose(text, sizeof text, mark->number), !strcmp(text, value);
    long badge = after(value, "\"badge\":");
    if (badge < mark->rank || (badge > mark->rank && !isRepeat)) miscounted++;
    if (after(value, "\"number\":") != mark->number) return 0;
    if (kind == EXPIRED) return strstr(value, pool[mark->number % pooled]) && strstr(value, "\"SENT\"");
    snprintf(text, sizeof text, "\"title\":\"Friend of %d, edition ", mark->recipient);
    long known = after(value, text);
    if (known > edition) edition = known;
    snprintf(text, sizeof text, "\"body\":\"Secret %ld\"", (long)(mark->number % pooled));
    return known >= 0 && strstr(value, text) && !strstr(value, "loc-key") && !strstr(value, "ENCRYPTED_DATA");
}

static void check(rd_kafka_message_t *message, int isLetter) {
    rd_kafka_headers_t *headers;
    const void *bytes;
    size_t size;
    struct mark mark;
    if (rd_kafka_message_headers(message, &headers) || rd_kafka_header_get_last(headers, "mark", &bytes, &size) ||
        size != sizeof mark)
        return (void)strangers++;
    memcpy(&mark, bytes, size);
    take_time(now() - mark.sent);
    enum kind kind = kind_of(mark.number);
    outcome[kind]++;
    char key[32], value[8192];
    int length = snprintf(key, sizeof key, "user-%d", mark.recipient);
    snprintf(value, sizeof value, "%.*s", (int)message->len, (const char *)message->payload);
    int isRepeat = (seen[mark.number / 8] & 1 << mark.number % 8) != 0;
    int isTold = isLetter || (!rd_kafka_header_get_last(headers, "pushmill-outcome", &bytes, &size) &&
                              size == strlen(outcomes[kind]) && !memcmp(bytes, outcomes[kind], size));
    if (isLetter != (kind == BROKEN) || !isTold || message->key_len != (size_t)length ||
        memcmp(message->key, key, length) || !is_right(&mark, kind, value, isRepeat)) {
        if (wrong++ < 3) fprintf(stderr, "flow: not what event %ld should become: %s\n", (long)mark.number, value);
    }
    if (isRepeat) return (void)repeats++;
    seen[mark.number / 8] |= 1 << mark.number % 8;
    arrived++;
    int64_t *last = &lasts[mark.recipient][isLetter];
    if (mark.number < *last) disorder++;
    *last = mark.number;
}

static rd_kafka_t *reader(void) {
    char *settings[][2] = {{"group.id", "flow"}, {"enable.auto.commit", "false"}, {"fetch.wait.max.ms", "20"},
                           {"isolation.level", "read_committed"}, {0}};
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, settings);
    rd_kafka_poll_set_consumer(consumer);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
    for (int n = 0; n < 2; n++) {
        const char *topic = n ? "dead" : "out";
        const struct rd_kafka_metadata *metadata;
        if (rd_kafka_metadata(consumer, 0, rd_kafka_topic_new(consumer, topic, NULL), &metadata, 10000)) die(topic);
        for (int i = 0; i < metadata->topics[0].partition_cnt; i++)
            rd_kafka_topic_partition_list_add(list, topic, i)->offset = 0;
    }
    rd_kafka_assign(consumer, list);
    return consumer;
}

static void report(int ended) {
    printf("{\"ended\": %d, \"sent\": %ld, \"acknowledged\": %ld, \"arrived\": %ld, \"seen\": %ld, \"held\": %ld, "
           "\"p50\": %.2f, \"p99\": %.2f, \"edition\": %ld, \"repeats\": %ld, \"strangers\": %ld, \"disorder\": %ld, "
           "\"wrong\": %ld, \"miscounted\": %ld, \"outcomes\": {",
           ended, sent, acknowledged, arrived, second.count, held, part(.5), part(.99), edition, repeats, strangers,
           disorder, wrong, miscounted);
    for (int n = 0; n < KINDS; n++) printf("%s\"%s\": %ld", n ? ", " : "", outcomes[n], outcome[n]);
    printf("}}\n");
    fflush(stdout);
    memset(&second, 0, sizeof second);
}

int main(int count, char **words) {
    if (count != 5) die("usage: flow SERVERS POOL RECIPIENTS WINDOW");
    servers = words[1], recipients = atol(words[3]), window = atol(words[4]);
    FILE *file = fopen(words[2], "r");
    size_t room = 0;
    for (ssize_t n; file && pooled < 1024 && (n = getline(&pool[pooled], &room, file)) > 0; room = 0)
        pool[pooled++][n - 1] = 0;
    if (!pooled || recipients < 1) die("no ciphertexts or recipients");
    // One bit for each of four billion events; memory is taken as they come.
    seen = calloc(1u << 29, 1);
    lasts = calloc(recipients, sizeof *lasts);
    rd_kafka_t *consumer = reader();
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, obey, NULL);
    pthread_create(&threads[1], NULL, produce, NULL);
    int64_t told = now(), last = told;
    while (!produced || (arrived < sent && now() - last < 60000000000LL)) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, 100);
        int64_t time = now();
        if (message && !message->err) last = time, check(message, !strcmp(rd_kafka_topic_name(message->rkt), "dead"));
        if (message) rd_kafka_message_destroy(message);
        if (time - told >= 1000000000LL) report(0), told = time;
    }
    report(1);
    return 0;
}
