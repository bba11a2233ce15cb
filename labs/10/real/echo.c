/* Sends back what comes on CONNECTIONS connections. */
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include "real.h"

struct connection {
    int file;
    char buffer[MESSAGE];
};

static struct connection connections[CONNECTIONS];
static unsigned accepted;

static void begin(struct connection *c, enum ring_operation operation, int length,
                  void (*over)(void *, int)) {
    ticket t = engine_begin((struct work){.operation = operation,
                                          .file = c->file,
                                          .buffer = c->buffer,
                                          .length = (unsigned)length,
                                          .over = over,
                                          .arg = c});

    must(t != 0, "an engine begins REQUESTS requests");
}

static void received(void *arg, int result);

static void sent(void *arg, int result) {
    must(result > 0, "what came is sent back");
    begin(arg, RING_RECEIVE, MESSAGE, received);
}

static void received(void *arg, int result) {
    struct connection *c = arg;

    must(result >= 0, "a receive brings something, or the end");
    if (result > 0) {
        begin(c, RING_SEND, result, sent);
    } else {
        engine_close(c->file);
    }
}

static void came(void *arg, int result) {
    struct connection *c = &connections[accepted];
    int *listener = arg;

    must(result >= 0, "a connection is accepted");
    c->file = result;
    begin(c, RING_RECEIVE, MESSAGE, received);
    if (++accepted < CONNECTIONS) {
        must(engine_begin((struct work){
                 .operation = RING_ACCEPT, .file = *listener, .over = came, .arg = arg}) != 0,
             "an engine begins REQUESTS requests");
    }
}

void echo_by_engine(int listener) {
    accepted = 0;
    must(engine_begin((struct work){
             .operation = RING_ACCEPT, .file = listener, .over = came, .arg = &listener}) != 0,
         "an engine begins a request");
    engine_run();
    must(accepted == CONNECTIONS, "all connections are accepted");
}

void echo_by_calls(int listener) {
    struct pollfd polled[CONNECTIONS];
    int open = CONNECTIONS;

    for (int i = 0; i < CONNECTIONS; i++) {
        int file = CALL(accept(listener, NULL, NULL));
        must(file >= 0, "a connection is accepted");
        polled[i] = (struct pollfd){.fd = file, .events = POLLIN};
    }
    while (open > 0) {
        must(CALL(poll(polled, CONNECTIONS, -1)) > 0, "something has come");
        for (int i = 0; i < CONNECTIONS; i++) {
            char buffer[MESSAGE];
            if (polled[i].fd < 0 || polled[i].revents == 0) {
                continue;
            }
            ssize_t n = CALL(read(polled[i].fd, buffer, MESSAGE));
            must(n >= 0, "a read brings something, or the end");
            if (n > 0) {
                must(CALL(write(polled[i].fd, buffer, (size_t)n)) == n, "what came is sent back");
            } else {
                (void)CALL(close(polled[i].fd));
                polled[i].fd = -1;
                open--;
            }
        }
    }
}
