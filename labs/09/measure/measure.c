/* What fork and join cost, and what two workers gain: the files of this lab on
 * real threads.
 *
 * Each figure is the least of some runs. A run is a process of its own, since a
 * pool is stopped once. */
#include "explore.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "forkjoin.h"

/* What the lab's files need. */

bool explore_trylock(explore_mutex *mutex) {
    return __atomic_exchange_n(&mutex->reserved, 1, __ATOMIC_ACQUIRE) == 0;
}

void explore_lock(explore_mutex *mutex) {
    for (int tries = 1; !explore_trylock(mutex); tries++) {
        if (tries % 100 == 0) { /* the one who holds it may not be running */
            sched_yield();
        }
    }
}

void explore_unlock(explore_mutex *mutex) {
    __atomic_store_n(&mutex->reserved, 0, __ATOMIC_RELEASE);
}

void explore_yield(void) {
    sched_yield();
}

static struct bed {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    bool token;
} beds[WORKERS] = {{PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false},
                   {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false}};

void worker_sleep(int self) {
    struct bed *b = &beds[self];

    pthread_mutex_lock(&b->mutex);
    while (!b->token) {
        pthread_cond_wait(&b->condition, &b->mutex);
    }
    b->token = false;
    pthread_mutex_unlock(&b->mutex);
}

void worker_wake(int worker) {
    struct bed *b = &beds[worker];

    pthread_mutex_lock(&b->mutex);
    b->token = true;
    pthread_cond_signal(&b->condition);
    pthread_mutex_unlock(&b->mutex);
}

void *memory_new(size_t size) {
    void *memory = malloc(size);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

void memory_free(void *memory) {
    free(memory);
}

/* The programs. A task with less work than the cut does it by plain calls. */

static long cut;

__attribute__((noinline)) static long plain_fib(long n) {
    return n < 2 ? n : plain_fib(n - 1) + plain_fib(n - 2);
}

static long fib(int self, void *argument) {
    long n = (long)argument;

    if (n < 2 || n < cut) {
        return plain_fib(n);
    }
    struct future *f = future_fork(self, fib, (void *)(n - 1));
    long result = fib(self, (void *)(n - 2));
    result += future_get(self, f);
    future_drop(self, f);
    return result;
}

enum { NUMBERS = 1 << 20 };

static int numbers[NUMBERS], other[NUMBERS];

struct part {
    int from, to;
};

static long sort(int self, void *argument) {
    struct part *p = argument, left = {p->from, (p->from + p->to) / 2}, right = {left.to, p->to};

    if (p->to - p->from < 2) {
        return 0;
    }
    if (p->to - p->from < cut) {
        sort(self, &left);
        sort(self, &right);
    } else {
        struct future *f = future_fork(self, sort, &left);
        sort(self, &right);
        future_get(self, f);
        future_drop(self, f);
    }
    for (int a = left.from, b = right.from, to = p->from; to < p->to; to++) {
        other[to] = b == right.to || (a < left.to && numbers[a] <= numbers[b]) ? numbers[a++]
                                                                               : numbers[b++];
    }
    memcpy(&numbers[p->from], &other[p->from], sizeof(int) * (size_t)(p->to - p->from));
    return 0;
}

static void shuffle(void) {
    unsigned long long x = 1;

    for (int i = 0; i < NUMBERS; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        numbers[i] = (int)(x >> 33);
    }
}

void explore_check(bool holds, const char *claim) {
    if (!holds) {
        fprintf(stderr, "measure: a check fails: %s\n", claim);
        exit(1);
    }
}

/* Measuring. */

struct program {
    const char *name;
    task_function *function;
    long argument, cut;
};

static struct part all = {0, NUMBERS};

static void *argument_of(const struct program *p) {
    return p->function == sort ? (void *)&all : (void *)p->argument;
}

static double now(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const struct program *program;
static double seconds;
static long result;

static long root(int self, void *unused) {
    (void)unused;
    double begin = now();
    result = program->function(self, argument_of(program));
    seconds = now() - begin;
    pool_stop();
    return 0;
}

static void *worker(void *unused) {
    (void)unused;
    pool_run(1);
    return NULL;
}

/* Runs the program on so many workers. With 0 workers it makes plain calls. */
static void run(const struct program *p, int workers) {
    program = p;
    cut = workers > 0 ? p->cut : NUMBERS + 1;
    shuffle();
    if (workers == 0) {
        double begin = now();
        result = p->function(0, argument_of(p));
        seconds = now() - begin;
    } else {
        struct future *f = future_fork(0, root, NULL);
        pthread_t thread;
        if (workers == 2) {
            explore_check(pthread_create(&thread, NULL, worker, NULL) == 0, "a thread can be made");
        }
        pool_run(0);
        if (workers == 2) {
            pthread_join(thread, NULL);
        }
        future_drop(0, f);
    }
    for (int i = 1; p->function == sort && i < NUMBERS; i++) {
        explore_check(numbers[i - 1] <= numbers[i], "the numbers are sorted");
    }
    explore_check(p->function == sort || result == plain_fib(p->argument), "fib is right");
}

/* The least time of some runs, in seconds. */
static double least(const struct program *p, int workers) {
    double best = 1e9, *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    explore_check(shared != MAP_FAILED, "memory can be shared");
    for (int i = 0; i < 7; i++) {
        pid_t child = fork();
        int status = 0;

        if (child == 0) {
            alarm(60); /* workers that are stuck */
            run(p, workers);
            *shared = seconds;
            _exit(0);
        }
        explore_check(child > 0 && waitpid(child, &status, 0) == child, "a process can be made");
        if (status != 0) {
            fprintf(stderr, "measure: %s with %d workers %s\n", p->name, workers,
                    WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "is stuck" : "failed");
            exit(1);
        }
        best = *shared < best ? *shared : best;
    }
    munmap(shared, sizeof *shared);
    return best;
}

int main(void) {
    static const struct program programs[] = {{"fib(25)", fib, 25, 0},
                                              {"fib(33), cut at 18", fib, 33, 18},
                                              {"sort 1,048,576, cut at 4096", sort, 0, 4096}};
    double fork_costs = 0;

    printf("%-28s %10s %10s %10s %10s\n", "milliseconds", "plain", "1 worker", "2 workers",
           "speed-up");
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        double plain = least(&programs[i], 0), one = least(&programs[i], 1),
               two = least(&programs[i], 2);

        printf("%-28s %10.2f %10.2f %10.2f %9.2fx\n", programs[i].name, 1e3 * plain, 1e3 * one,
               1e3 * two, plain / two);
        if (i == 0) {
            fork_costs = 1e9 * (one - plain) / (double)(plain_fib(26) - 1); /* so many forks */
        }
    }
    printf("\nA fork and its join cost %.0f ns more than a call.\n", fork_costs);
    return 0;
}
