/* mock-apns.c - takes what is sent to APNs and says 200 to all of it: HTTP/2 over TLS, one thread on one core.
 *
 * mock-apns CERTIFICATE.pem KEY.pem [--core N] [--delay MS] [--count-tokens N]
 *
 * A reply comes MS after its request. Tokens are the devices' numbers, 1 to N, in hexadecimal; each is to come once.
 * Prints "READY port", then its counts in JSON: each second in which they change, at SIGTERM, and at SIGUSR1, which
 * sets them to zero before. Times are seconds of CLOCK_MONOTONIC.
 *
 * gcc -O2 -Wall -Wextra -o mock-apns mock-apns.c -lnghttp2 -lssl -lcrypto
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PEERS 256
#define STREAMS 1000
#define BUFFER (64 << 10)
#define FRAME (16 << 10)
#define SECOND 1000000000ull
#define PATH "/3/device/"

enum { LISTENER = PEERS, SIGNALS };

typedef struct stream {
    struct stream *next; /* of those that were used before */
    uint64_t token;
    char id[36];
    bool has_id;
} stream_t;

typedef struct {
    int fd; /* 0 for a free place */
    unsigned age;
    bool is_shaking, waits;
    SSL *ssl;
    nghttp2_session *h2;
    size_t length, sent;
    uint64_t open, used;
    stream_t *spare;
    stream_t streams[STREAMS];
    uint8_t out[BUFFER];
} peer_t;

typedef struct {
    uint64_t due;
    int peer;
    unsigned age;
    int32_t stream;
} reply_t;

static peer_t *peers;
static int poll_fd, top;
static SSL_CTX *tls;
static nghttp2_session_callbacks *callbacks;
static nghttp2_option *options;
static uint64_t delay, devices;
static uint8_t *seen;
static struct { uint64_t requests, distinct, repeats, strangers, resets, first, last, open, most; } count;
/* Replies become due in the order of their requests. */
static reply_t *queue;
static size_t head, tail, capacity;

static void die(const char *what) {
    perror(what);
    ERR_print_errors_fp(stderr);
    exit(2);
}

static void *allocate(size_t number, size_t size) {
    void *memory = calloc(number, size);
    if (!memory) die("calloc");
    return memory;
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void report(void) {
    printf("{\"requests\": %lu, \"distinct\": %lu, \"repeats\": %lu, \"strangers\": %lu, \"resets\": %lu, "
           "\"most_streams\": %lu, \"first\": %.6f, \"last\": %.6f}\n",
           count.requests, count.distinct, count.repeats, count.strangers, count.resets, count.most,
           (double)count.first / SECOND, (double)count.last / SECOND);
    fflush(stdout);
}

static void note(uint64_t token) {
    count.last = now();
    if (!count.requests++) count.first = count.last;
    if (!devices) return;
    if (token < 1 || token > devices) {
        count.strangers++;
        return;
    }
    uint8_t bit = (uint8_t)(1 << token % 8);
    if (seen[token / 8] & bit) count.repeats++;
    else count.distinct++;
    seen[token / 8] |= bit;
}

/* Replies */

static void answer(peer_t *p, int32_t id) {
    stream_t *s = nghttp2_session_get_stream_user_data(p->h2, id);
    if (!s) return;
    nghttp2_nv headers[] = {
        {(uint8_t *)":status", (uint8_t *)"200", 7, 3, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE},
        {(uint8_t *)"apns-id", (uint8_t *)s->id, 7, sizeof s->id, NGHTTP2_NV_FLAG_NO_INDEX},
    };
    nghttp2_submit_response(p->h2, id, headers, s->has_id ? 2 : 1, NULL);
}

static void answer_later(peer_t *p, int32_t id) {
    if (tail - head == capacity) {
        reply_t *larger = allocate(capacity ? capacity * 2 : 4096, sizeof *larger);
        for (size_t i = head; i < tail; i++) larger[i - head] = queue[i % capacity];
        free(queue);
        queue = larger;
        tail -= head;
        head = 0;
        capacity = capacity ? capacity * 2 : 4096;
    }
    queue[tail++ % capacity] = (reply_t){now() + delay, (int)(p - peers), p->age, id};
}

/* HTTP/2 */

static int on_begin(nghttp2_session *h2, const nghttp2_frame *frame, void *peer) {
    peer_t *p = peer;
    stream_t *s = p->spare;
    if (s) p->spare = s->next;
    else if (p->used < STREAMS) s = &p->streams[p->used++];
    else return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    s->token = 0;
    s->has_id = false;
    p->open++;
    if (++count.open > count.most) count.most = count.open;
    return nghttp2_session_set_stream_user_data(h2, frame->hd.stream_id, s);
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                     const uint8_t *value, size_t length, uint8_t flags, void *peer) {
    (void)flags, (void)peer;
    stream_t *s = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
    if (!s) return 0;
    if (name_length == 5 && !memcmp(name, ":path", 5)) {
        size_t prefix = strlen(PATH);
        if (length <= prefix || memcmp(value, PATH, prefix)) return 0;
        for (size_t i = prefix; i < length; i++) s->token = s->token << 4 | (value[i] % 16 + (value[i] > '9' ? 9 : 0));
    } else if (name_length == 7 && length == sizeof s->id && !memcmp(name, "apns-id", 7)) {
        memcpy(s->id, value, length);
        s->has_id = true;
    }
    return 0;
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *peer) {
    if (frame->hd.type == NGHTTP2_RST_STREAM) count.resets++;
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    stream_t *s = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
    if (!s) return 0;
    note(s->token);
    if (delay) answer_later(peer, frame->hd.stream_id);
    else answer(peer, frame->hd.stream_id);
    return 0;
}

static int on_close(nghttp2_session *h2, int32_t id, uint32_t error, void *peer) {
    (void)error;
    peer_t *p = peer;
    stream_t *s = nghttp2_session_get_stream_user_data(h2, id);
    if (!s) return 0;
    s->next = p->spare;
    p->spare = s;
    p->open--;
    count.open--;
    return 0;
}

/* Connections */

static void drop(peer_t *p) {
    if (p->h2) nghttp2_session_del(p->h2);
    SSL_free(p->ssl);
    close(p->fd);
    count.open -= p->open;
    unsigned age = p->age;
    memset(p, 0, sizeof *p);
    p->age = age + 1;
}

static void wait_for_output(peer_t *p, bool waits) {
    if (p->waits == waits) return;
    p->waits = waits;
    struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0), .data.u32 = (uint32_t)(p - peers)};
    epoll_ctl(poll_fd, EPOLL_CTL_MOD, p->fd, &event);
}

/* False for a connection that has ended. */
static bool flush(peer_t *p) {
    for (;;) {
        const uint8_t *frame;
        ssize_t n;
        while (p->length + FRAME <= BUFFER && (n = nghttp2_session_mem_send(p->h2, &frame)) > 0) {
            memcpy(p->out + p->length, frame, (size_t)n);
            p->length += (size_t)n;
        }
        if (!p->length) break;
        ERR_clear_error();
        int written = SSL_write(p->ssl, p->out + p->sent, (int)(p->length - p->sent));
        if (written <= 0) {
            if (SSL_get_error(p->ssl, written) != SSL_ERROR_WANT_WRITE) return false;
            wait_for_output(p, true);
            return true;
        }
        p->sent += (size_t)written;
        if (p->sent == p->length) p->sent = p->length = 0;
    }
    wait_for_output(p, false);
    return nghttp2_session_want_read(p->h2) || nghttp2_session_want_write(p->h2);
}

static bool shake(peer_t *p) {
    ERR_clear_error();
    int result = SSL_accept(p->ssl);
    if (result <= 0) {
        int error = SSL_get_error(p->ssl, result);
        wait_for_output(p, error == SSL_ERROR_WANT_WRITE);
        return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    }
    p->is_shaking = false;
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS}};
    if (nghttp2_session_server_new2(&p->h2, callbacks, p, options)) die("nghttp2");
    nghttp2_submit_settings(p->h2, NGHTTP2_FLAG_NONE, settings, 1);
    nghttp2_session_set_local_window_size(p->h2, NGHTTP2_FLAG_NONE, 0, 1 << 24);
    return true;
}

static bool serve(peer_t *p) {
    static uint8_t in[BUFFER];
    if (p->is_shaking && !shake(p)) return false;
    if (p->is_shaking) return true;
    for (;;) {
        ERR_clear_error();
        int n = SSL_read(p->ssl, in, sizeof in);
        if (n <= 0) return SSL_get_error(p->ssl, n) == SSL_ERROR_WANT_READ && flush(p);
        if (nghttp2_session_mem_recv(p->h2, in, (size_t)n) < 0) return false;
    }
}

static void take(int listener) {
    int fd, yes = 1, place = 0;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        while (place < PEERS && peers[place].fd) place++;
        if (place == PEERS) {
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        peer_t *p = &peers[place];
        if (place >= top) top = place + 1;
        p->fd = fd;
        p->is_shaking = true;
        if (!(p->ssl = SSL_new(tls)) || !SSL_set_fd(p->ssl, fd)) die("SSL_new");
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)place};
        epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event);
    }
}

/* Returns how many milliseconds there are to the next one; -1 for none. */
static int answer_due(void) {
    if (head == tail) return -1;
    uint64_t time = now();
    size_t before = head;
    for (; head < tail && queue[head % capacity].due <= time; head++) {
        reply_t *r = &queue[head % capacity];
        peer_t *p = &peers[r->peer];
        if (p->age == r->age && p->h2) answer(p, r->stream);
    }
    for (int i = 0; head > before && i < top; i++)
        if (peers[i].h2 && !peers[i].waits && !flush(&peers[i])) drop(&peers[i]);
    return head == tail ? -1 : (int)((queue[head % capacity].due - time) / (SECOND / 1000)) + 1;
}

/* Start */

static int choose(SSL *ssl, const unsigned char **out, unsigned char *length, const unsigned char *offered,
                  unsigned offered_length, void *context) {
    (void)ssl, (void)context;
    int chosen = nghttp2_select_next_protocol((unsigned char **)out, length, offered, offered_length);
    return chosen == 1 ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void prepare(const char *certificate, const char *key) {
    tls = SSL_CTX_new(TLS_server_method());
    if (!tls || !SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION)
        || SSL_CTX_use_certificate_chain_file(tls, certificate) != 1
        || SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1)
        die("TLS");
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_alpn_select_cb(tls, choose, NULL);
    SSL_CTX_set_read_ahead(tls, 1);
    SSL_CTX_set_default_read_buffer_len(tls, BUFFER);
    nghttp2_option_new(&options);
    /* libcurl 7.88 resets every stream that has ended, which nghttp2 takes for an attack. */
    nghttp2_option_set_stream_reset_rate_limit(options, UINT64_MAX, UINT64_MAX);
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
}

static int start_listening(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 128)
        || getsockname(listener, (struct sockaddr *)&address, &length))
        die("listen");
    printf("READY %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static void run(int listener, int signals) {
    struct epoll_event events[64], event = {.events = EPOLLIN, .data.u32 = LISTENER};
    epoll_ctl(poll_fd, EPOLL_CTL_ADD, listener, &event);
    event.data.u32 = SIGNALS;
    epoll_ctl(poll_fd, EPOLL_CTL_ADD, signals, &event);
    uint64_t reported = 0, next = now() + SECOND;
    for (;;) {
        int wait = answer_due(), number = epoll_wait(poll_fd, events, 64, wait >= 0 && wait < 100 ? wait : 100);
        for (int i = 0; i < number; i++) {
            uint32_t place = events[i].data.u32;
            struct signalfd_siginfo signal;
            if (place == LISTENER) take(listener);
            else if (place < PEERS) {
                if (peers[place].fd && !serve(&peers[place])) drop(&peers[place]);
            } else if (read(signals, &signal, sizeof signal) == sizeof signal) {
                if (signal.ssi_signo == SIGUSR1) {
                    uint64_t open = count.open;
                    memset(&count, 0, sizeof count);
                    count.open = open;
                    memset(seen, 0, devices / 8 + 1);
                }
                report();
                if (signal.ssi_signo != SIGUSR1) return;
            }
        }
        if (now() < next) continue;
        next = now() + SECOND;
        if (count.requests != reported) report();
        reported = count.requests;
    }
}

int main(int argc, char **argv) {
    static const struct option known[] = {
        {"core", required_argument, NULL, 'c'},
        {"delay", required_argument, NULL, 'd'},
        {"count-tokens", required_argument, NULL, 'n'},
        {0},
    };
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        cpu_set_t cores;
        switch (option) {
        case 'c':
            CPU_ZERO(&cores);
            CPU_SET(atoi(optarg), &cores);
            if (sched_setaffinity(0, sizeof cores, &cores)) die("sched_setaffinity");
            break;
        case 'd': delay = strtoull(optarg, NULL, 10) * (SECOND / 1000); break;
        case 'n': devices = strtoull(optarg, NULL, 10); break;
        default: return 64;
        }
    }
    if (argc - optind != 2) {
        fprintf(stderr, "usage: mock-apns CERTIFICATE.pem KEY.pem [--core N] [--delay MS] [--count-tokens N]\n");
        return 64;
    }
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGUSR1);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGINT);
    sigprocmask(SIG_BLOCK, &watched, NULL);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    peers = allocate(PEERS, sizeof *peers);
    seen = allocate(devices / 8 + 1, 1);
    poll_fd = epoll_create1(EPOLL_CLOEXEC);
    prepare(argv[optind], argv[optind + 1]);
    run(start_listening(), signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC));
    return 0;
}
