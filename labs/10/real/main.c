/* Runs the engine on Linux's io_uring, beside plain system calls, and prints how many of these each
 * needs, and the time. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "real.h"

void must(bool holds, const char *claim) {
    if (!holds) {
        fprintf(stderr, "real: a check fails: %s (errno: %s)\n", claim, strerror(errno));
        exit(1);
    }
}

static void too_long(int signal) {
    static const char text[] = "real: it does not end: what does the engine wait for?\n";

    (void)signal;
    (void)!write(2, text, sizeof text - 1);
    _exit(1);
}

static double now(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void row(const char *what, unsigned long operations, double since) {
    printf("%-42s %10lu %10lu %10.2f %8.1f ms\n", what, operations, calls,
           (double)calls / (double)operations, now() - since);
    fflush(stdout);
}

static int temporary(void) {
    char name[] = "/tmp/lab-10-XXXXXX";
    int file = mkstemp(name);

    must(file >= 0, "a file can be made in /tmp");
    unlink(name);
    return file;
}

static void copy(const char *what, void (*how)(int, int)) {
    static char wrote[BLOCK], block[BLOCK];
    int from = temporary(), to = temporary();

    for (unsigned i = 0; i < BLOCKS; i++) {
        memset(wrote, (int)(i % 251), BLOCK);
        must(write(from, wrote, BLOCK) == BLOCK, "the file can be written");
    }
    lseek(from, 0, SEEK_SET);
    calls = 0;
    double since = now();
    how(from, to);
    row(what, 2UL * BLOCKS, since);
    for (unsigned i = 0; i < BLOCKS; i++) {
        memset(wrote, (int)(i % 251), BLOCK);
        must(pread(to, block, BLOCK, (off_t)i * BLOCK) == BLOCK && memcmp(block, wrote, BLOCK) == 0,
             "the copy is as the original");
    }
    close(from);
    close(to);
}

/* The client: on each connection a message, then the answers. */
static void *client(void *arg) {
    struct sockaddr_in *address = arg;
    int files[CONNECTIONS];

    for (int i = 0; i < CONNECTIONS; i++) {
        files[i] = socket(AF_INET, SOCK_STREAM, 0);
        must(connect(files[i], (struct sockaddr *)address, sizeof *address) == 0,
             "the client can connect");
    }
    for (int round = 0; round < ROUNDS; round++) {
        char out[MESSAGE], in[MESSAGE];
        memset(out, round % 251, MESSAGE);
        for (int i = 0; i < CONNECTIONS; i++) {
            must(send(files[i], out, MESSAGE, 0) == MESSAGE, "the client can send");
        }
        for (int i = 0; i < CONNECTIONS; i++) {
            must(recv(files[i], in, MESSAGE, MSG_WAITALL) == MESSAGE &&
                     memcmp(in, out, MESSAGE) == 0,
                 "what was sent comes back");
        }
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        close(files[i]);
    }
    return NULL;
}

static void echo(const char *what, void (*how)(int)) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t thread;

    must(bind(listener, (struct sockaddr *)&address, size) == 0 &&
             listen(listener, CONNECTIONS) == 0 &&
             getsockname(listener, (struct sockaddr *)&address, &size) == 0,
         "the server can listen");
    must(pthread_create(&thread, NULL, client, &address) == 0, "the client can begin");
    calls = 0;
    double since = now();
    how(listener);
    row(what, 2UL * CONNECTIONS * ROUNDS, since);
    pthread_join(thread, NULL);
    close(listener);
}

int main(void) {
    int error = ring_open();

    if (error != 0) {
        printf("This machine lets no program use io_uring (%s): nothing is measured.\n",
               strerror(-error));
        return 0;
    }
    signal(SIGALRM, too_long);
    alarm(60);
    printf("%-42s %10s %10s %10s %11s\n", "", "transfers", "calls", "a transfer", "time");
    copy("copy 4 MB in blocks of 4 KB: read, write", copy_by_calls);
    copy("  by the engine", copy_by_engine);
    echo("echo on 3 connections: poll, read, write", echo_by_calls);
    echo("  by the engine", echo_by_engine);
    return 0;
}
