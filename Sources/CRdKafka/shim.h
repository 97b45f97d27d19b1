#pragma once
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

/// Produces one record, because Swift cannot make the variadic call. Copies value and key; on success `headers` (may be
/// NULL) belongs to librdkafka, on failure still to the caller.
static inline rd_kafka_resp_err_t pushmill_produce(rd_kafka_t *client, rd_kafka_topic_t *topic, int32_t partition,
                                                   const void *key, size_t key_size, const void *value,
                                                   size_t value_size, int64_t timestamp, rd_kafka_headers_t *headers,
                                                   uint64_t opaque) {
    return rd_kafka_producev(client, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(partition),
                             RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, key_size),
                             RD_KAFKA_V_VALUE((void *)value, value_size), RD_KAFKA_V_TIMESTAMP(timestamp),
                             RD_KAFKA_V_OPAQUE((void *)(uintptr_t)opaque), RD_KAFKA_V_HEADERS(headers),
                             RD_KAFKA_V_END);
}

/// Makes the next `count` requests of this kind to one broker of a mock cluster fail: another variadic call.
static inline void pushmill_mock_fail(rd_kafka_mock_cluster_t *cluster, int32_t broker, int16_t request,
                                      rd_kafka_resp_err_t error, int count) {
    while (count-- > 0) rd_kafka_mock_broker_push_request_error_rtts(cluster, broker, request, 1, error, 0);
}
