#ifndef NEWSWIRE_CCURL_SHIM_H
#define NEWSWIRE_CCURL_SHIM_H

#include <curl/curl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Swift cannot call C variadic functions. Each wrapper fixes the type that its group of options takes, so that a
   wrong pairing of option and value is a compile error in Swift instead of a corrupted stack. */

typedef size_t (*ccurl_data_callback)(char *bytes, size_t size, size_t count, void *context);
typedef curl_socket_t (*ccurl_socket_callback)(void *context, curlsocktype purpose, struct curl_sockaddr *address);
typedef int (*ccurl_ready_callback)(void *context, char *remote, char *local, int remote_port, int local_port);

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

/* Copies the bytes; the size must be set first, or libcurl measures them with strlen. */
static inline CURLcode ccurl_set_body(CURL *easy, const void *bytes, curl_off_t count) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, count);
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, bytes);
}

/* A certificate and its chain in PEM, and the key to it; both are copied. */
static inline CURLcode ccurl_set_certificate(CURL *easy, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    CURLcode code = curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &blob);
}

static inline CURLcode ccurl_set_key(CURL *easy, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    CURLcode code = curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
    return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &blob);
}

static inline CURLcode ccurl_set_callbacks(CURL *easy, void *context, ccurl_data_callback header,
                                           ccurl_data_callback write, ccurl_socket_callback open_socket,
                                           ccurl_ready_callback ready) {
    CURLcode code = CURLE_OK;
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, ready);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_PRIVATE, context);
    return code;
}

static inline CURLcode ccurl_set_socket_watch(CURL *easy, void *context, curl_sockopt_callback opened,
                                              curl_closesocket_callback closed) {
    CURLcode code = CURLE_OK;
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, opened);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, closed);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, context);
    return code;
}

/* The callbacks of a handle that only opens a connection: the first one prepares OpenSSL's SSL_CTX, the second one ends
   the attempt by returning another number than 0. */
static inline CURLcode ccurl_set_opening_callbacks(CURL *easy, void *context, curl_ssl_ctx_callback tls,
                                                   curl_xferinfo_callback progress) {
    CURLcode code = CURLE_OK;
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, tls);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, progress);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_XFERINFODATA, context);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    return code;
}

/* OpenSSL's SSL of the connection that a callback is about; NULL without one, or with another library. */
static inline void *ccurl_get_tls(CURL *easy) {
    struct curl_tlssessioninfo *session = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || session == NULL) return NULL;
    return session->backend == CURLSSLBACKEND_OPENSSL ? session->internals : NULL;
}

static inline CURLcode ccurl_get_socket(CURL *easy, curl_socket_t *socket) {
    return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, socket);
}

/* The context of ccurl_set_callbacks. */
static inline void *ccurl_get_private(CURL *easy) {
    char *context = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context);
    return context;
}

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_size(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

/* CURLVERSION_NOW is a macro for an enumerator that Swift does not see. */
static inline int ccurl_features(void) { return curl_version_info(CURLVERSION_NOW)->features; }
static inline const char *ccurl_tls_library(void) { return curl_version_info(CURLVERSION_NOW)->ssl_version; }

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLcode ccurl_message_result(const CURLMsg *message) {
    return message->data.result;
}

/* The flags of curl_global_init and the pause directions are macros with casts, which Swift does not import. */
static inline CURLcode ccurl_global_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }
static inline CURLcode ccurl_resume(CURL *easy) { return curl_easy_pause(easy, CURLPAUSE_CONT); }
static inline size_t ccurl_pause_writing(void) { return CURL_WRITEFUNC_PAUSE; }
static inline curl_socket_t ccurl_no_socket(void) { return CURL_SOCKET_BAD; }

/* A socket as libcurl asks for it, closed on exec.

   Not socket(2): the upper half of a register that carries an int is undefined, and Swift, which loads family and type
   at once, leaves the type there. The kernel does not look, but a seccomp filter (RestrictAddressFamilies=) compares all
   64 bits and refuses. As longs they are clean. */
static inline curl_socket_t ccurl_open_socket(const struct curl_sockaddr *address) {
    return (curl_socket_t)syscall(SYS_socket, (long)address->family, (long)(address->socktype | SOCK_CLOEXEC),
                                  (long)address->protocol);
}

#endif
