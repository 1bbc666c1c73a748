/* curl-ceiling.c - what libcurl alone sends in a second: one thread on one core, a multi handle, and nothing else.
 *
 * curl-ceiling PORT AUTHORITY.pem REQUESTS [--core N]
 *
 * Sends to devices 1 to REQUESTS over 4 connections of 500 streams, as the hub does with one credential. Prints JSON.
 *
 * gcc -O2 -Wall -Wextra -o curl-ceiling curl-ceiling.c -lcurl
 */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#define CONNECTIONS 4
#define STREAMS 500
#define TRANSFERS (CONNECTIONS * STREAMS)

static const char body[] =
    "{\"aps\":{\"alert\":{\"title\":\"Something has happened\","
    "\"body\":\"And this says what it was, in a sentence of a usual length.\"},\"sound\":\"default\"}}";

typedef struct {
    CURL *easy;
    struct curl_slist own; /* what differs from request to request, before what does not */
    char id[64], url[160];
} transfer_t;

static transfer_t transfers[TRANSFERS];
static struct curl_slist *headers;
static int port, sockets[64], opened;
static long started;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t ignore(char *data, size_t size, size_t count, void *context) {
    (void)data, (void)context;
    return size * count;
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)context, (void)purpose;
    int fd = socket(address->family, address->socktype, address->protocol);
    if (opened < (int)(sizeof sockets / sizeof *sockets)) sockets[opened++] = fd;
    return fd;
}

/* libcurl writes each frame by itself; without this the kernel sends as many packets, at 0.7 of the rate. */
static void cork(int on) {
    for (int i = 0; i < opened; i++) setsockopt(sockets[i], IPPROTO_TCP, TCP_CORK, &on, sizeof on);
}

static void make(transfer_t *t, const char *authority) {
    CURL *easy = t->easy = curl_easy_init();
    t->own = (struct curl_slist){t->id, headers};
    curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, &t->own);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)sizeof body - 1);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_CAINFO, authority);
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, ignore);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
}

static void begin(CURLM *multi, transfer_t *t) {
    started++;
    snprintf(t->id, sizeof t->id, "apns-id: 6ba7b810-9dad-51d1-80b4-%012lx", started);
    snprintf(t->url, sizeof t->url, "https://127.0.0.1:%d/3/device/%064lx", port, started);
    curl_easy_setopt(t->easy, CURLOPT_URL, t->url);
    curl_multi_add_handle(multi, t->easy);
}

int main(int argc, char **argv) {
    if (argc != 4 && !(argc == 6 && !strcmp(argv[4], "--core"))) {
        fprintf(stderr, "usage: curl-ceiling PORT AUTHORITY.pem REQUESTS [--core N]\n");
        return 64;
    }
    port = atoi(argv[1]);
    long requests = atol(argv[3]), done = 0, failed = 0;
    if (argc == 6) {
        cpu_set_t cores;
        CPU_ZERO(&cores);
        CPU_SET(atoi(argv[5]), &cores);
        if (sched_setaffinity(0, sizeof cores, &cores)) return perror("sched_setaffinity"), 2;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    char proof[256] = "authorization: bearer ";
    memset(proof + strlen(proof), 'x', 200); /* as long as a token of a real key */
    const char *common[] = {
        proof, "apns-topic: org.example.app", "apns-push-type: alert", "apns-priority: 10",
        "apns-expiration: 2000000000", "Content-Type:", "Accept:",
    };
    for (size_t i = 0; i < sizeof common / sizeof *common; i++) headers = curl_slist_append(headers, common[i]);
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)CONNECTIONS);
    curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)STREAMS);
    for (int i = 0; i < TRANSFERS; i++) make(&transfers[i], argv[2]);
    double began = now();
    for (int i = 0; i < TRANSFERS && started < requests; i++) begin(multi, &transfers[i]);
    while (done < requests) {
        int left;
        cork(1);
        curl_multi_perform(multi, &left);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            CURL *easy = message->easy_handle;
            transfer_t *t;
            long status = 0;
            curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
            curl_easy_getinfo(easy, CURLINFO_PRIVATE, &t);
            done++;
            if (message->data.result != CURLE_OK || status != 200) {
                if (!failed++) fprintf(stderr, "%s, status %ld\n", curl_easy_strerror(message->data.result), status);
            }
            curl_multi_remove_handle(multi, easy);
            if (started < requests) begin(multi, t);
        }
        cork(0);
        if (done < requests) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    double took = now() - began;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
                 + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    printf("{\"requests\": %ld, \"failed\": %ld, \"seconds\": %.6f, \"cpu\": %.6f}\n", done, failed, took, cpu);
    return failed != 0;
}
