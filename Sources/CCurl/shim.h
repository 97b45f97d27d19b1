#pragma once
#include <curl/curl.h>
// For watching libcurl's sockets; Swift's Glibc module does not contain it.
#include <sys/epoll.h>

// Swift cannot call variadic functions: wrappers for those that transfers need.

static inline CURLcode curl_set_number(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

/// All callbacks get `context`, and `curl_context` returns it.
static inline void curl_set_callbacks(CURL *easy, curl_write_callback write, curl_write_callback header,
                                      curl_resolver_start_callback ask, curl_opensocket_callback open,
                                      curl_prereq_callback request, void *context) {
    curl_easy_setopt(easy, CURLOPT_PRIVATE, context);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
    curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, ask);
    curl_easy_setopt(easy, CURLOPT_RESOLVER_START_DATA, context);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, request);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
}

static inline void *curl_context(CURL *easy) {
    char *context = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context);
    return context;
}

static inline long curl_status(CURL *easy) {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/// A number of bytes or of seconds; -1 if there is none.
static inline curl_off_t curl_amount(CURL *easy, CURLINFO info) {
    curl_off_t amount = -1;
    return curl_easy_getinfo(easy, info, &amount) == CURLE_OK ? amount : -1;
}

/// The target of a redirect, as an absolute URL; valid for as long as the handle.
static inline const char *curl_redirect(CURL *easy) {
    char *url = NULL;
    curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &url);
    return url;
}

static inline CURLMcode curl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline void curl_multi_set_callbacks(CURLM *multi, curl_socket_callback socket,
                                            curl_multi_timer_callback timer, void *context) {
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

/// The next transfer that has ended, with its result; NULL if there is none.
static inline CURL *curl_multi_next_ended(CURLM *multi, CURLcode *result) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)))
        if (message->msg == CURLMSG_DONE) {
            *result = message->data.result;
            return message->easy_handle;
        }
    return NULL;
}

/// Must be called before any other function; calling it again is harmless.
static inline CURLcode curl_start(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }
