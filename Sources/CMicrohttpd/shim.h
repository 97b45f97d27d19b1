#pragma once
#include <microhttpd.h>
#include <stddef.h>

// Swift cannot call variadic functions: wrappers for those that the admin endpoint needs.

/// Called for each path, and each name and value of a query. What follows an escaped NUL would be cut off, so that other
/// text is taken for a known path.
static inline size_t mhd_unescape(void *context, struct MHD_Connection *connection, char *text) {
    size_t length = MHD_http_unescape(text);
    for (size_t at = 0; at < length; at++) if (text[at] == 0) text[at] = 1;
    return length;
}

/// A daemon without a thread, driven by `MHD_run`, that can suspend connections. It owns the listening socket.
static inline struct MHD_Daemon *mhd_start(int listening, unsigned int connections,
                                           unsigned int idle_seconds, size_t connection_bytes, MHD_AccessHandlerCallback handler,
                                           MHD_RequestCompletedCallback completed,
                                           MHD_NotifyConnectionCallback connection, void *context) {
    return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handler, context,
                            MHD_OPTION_LISTEN_SOCKET, listening,
                            MHD_OPTION_CONNECTION_LIMIT, connections,
                            MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_bytes,
                            MHD_OPTION_STRICT_FOR_CLIENT, 1,
                            MHD_OPTION_UNESCAPE_CALLBACK, mhd_unescape, NULL,
                            MHD_OPTION_NOTIFY_COMPLETED, completed, context,
                            MHD_OPTION_NOTIFY_CONNECTION, connection, context,
                            MHD_OPTION_END);
}

/// The socket of a connection, or -1.
static inline int mhd_connection_descriptor(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

/// Readable when `MHD_run` has something to do.
static inline int mhd_descriptor(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info == NULL ? -1 : info->epoll_fd;
}
