#pragma once
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

/// One record through rd_kafka_produceva, whose tagged union is awkward and slow to fill from Swift. The value and key
/// are copied; on success `headers` (may be NULL) belongs to librdkafka, on failure still to the caller.
static inline rd_kafka_resp_err_t pushmill_produce(rd_kafka_t *client, rd_kafka_topic_t *topic, int32_t partition,
                                                   const void *key, size_t key_size, const void *value,
                                                   size_t value_size, int64_t timestamp, rd_kafka_headers_t *headers,
                                                   uint64_t opaque) {
    rd_kafka_vu_t field[8];
    field[0].vtype = RD_KAFKA_VTYPE_RKT;
    field[0].u.rkt = topic;
    field[1].vtype = RD_KAFKA_VTYPE_PARTITION;
    field[1].u.i32 = partition;
    field[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    field[2].u.i = RD_KAFKA_MSG_F_COPY;
    field[3].vtype = RD_KAFKA_VTYPE_KEY;
    field[3].u.mem.ptr = (void *)key;
    field[3].u.mem.size = key_size;
    field[4].vtype = RD_KAFKA_VTYPE_VALUE;
    field[4].u.mem.ptr = (void *)value;
    field[4].u.mem.size = value_size;
    field[5].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
    field[5].u.i64 = timestamp;
    field[6].vtype = RD_KAFKA_VTYPE_OPAQUE;
    field[6].u.ptr = (void *)(uintptr_t)opaque;
    field[7].vtype = RD_KAFKA_VTYPE_HEADERS;
    field[7].u.headers = headers;
    rd_kafka_error_t *error = rd_kafka_produceva(client, field, headers ? 8 : 7);
    if (!error) return RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_resp_err_t code = rd_kafka_error_code(error);
    rd_kafka_error_destroy(error);
    return code;
}

/// The next requests of this kind to one broker of a mock cluster fail: the variadic call cannot be made from Swift.
static inline void pushmill_mock_fail(rd_kafka_mock_cluster_t *cluster, int32_t broker, int16_t request,
                                      rd_kafka_resp_err_t error, int count) {
    while (count-- > 0) rd_kafka_mock_broker_push_request_error_rtts(cluster, broker, request, 1, error, 0);
}
