"""Fibers in gdb: where each one waits, for what, and who holds it. Needs gdb 12 or newer.

    (gdb) source scripts/fiberlab-gdb.py
    (gdb) info fibers
    (gdb) help fiber

docs/gdb.md explains the output. How it works, in the order of this file:

Memory       The program is stopped, or is a core file. Its memory is read in pages, since a read costs some
             microseconds: a list of 20,000 fibers needs 200,000 words.
Shape        Where a field is in a struct is asked of the debug information, by name. No offset stands in this file.
Fiber        The Go variable fiberlab/fiber.registry lists the control blocks of all fibers. From each block lead
             pointers to its fiber.Fiber, its sched.Fiber, its worker, and its goroutine.
Unwinder     gdb knows threads, and a suspended fiber is none. Its registers are in memory: in its context, or where
             the Go runtime keeps them. So the unwinder says that the innermost frame of the thread was called from
             the fiber. gdb then follows the fiber's frames by itself. No register of the program is written.
walk         gdb takes a frame that lies lower than its callee for a fault. But a stack of Go lies lower than a stack
             of C. So walk begins anew there, with the registers of the frame that gdb has reached.
commands     in the end.

The unwinder knows three functions of the Go runtime that change stacks, which debug information cannot describe:
asmcgocall goes from a goroutine's stack to the stack of C, cgocallback goes back, and crosscall2 saves the registers of
C in its frame.
"""

import contextlib
import functools
import itertools
import re
import struct

import gdb
import gdb.frames
import gdb.unwinder


MASK = (1 << 64) - 1  # gdb shows some registers as signed numbers


class Memory:
    """The memory of the program as it is during one command, in pages that are read once."""

    PAGE = 1 << 12

    def __init__(self):
        self.inferior = gdb.selected_inferior()
        self.pages = {}

    def page(self, number):
        """Returns the page of that number; where no memory is, it has zeros."""
        if number not in self.pages:
            try:
                self.pages[number] = bytes(self.inferior.read_memory(number * self.PAGE, self.PAGE))
            except (gdb.error, OverflowError):  # a pointer that was overwritten may lead beyond all memory
                self.pages[number] = bytes(self.PAGE)
        return self.pages[number]

    def read(self, address, size):
        first, at = divmod(address, self.PAGE)
        last = (address + size - 1) // self.PAGE
        return b"".join(self.page(number) for number in range(first, last + 1))[at : at + size]

    def words(self, address, count):
        return struct.unpack("<%dQ" % count, self.read(address, 8 * count))

    def word(self, address):
        return self.words(address, 1)[0]

    def go_string(self, address):
        """Returns the string of Go whose pointer and length are there."""
        text, length = self.words(address, 2)
        return self.read(text, min(length, 256)).decode(errors="replace") if text else ""

    def c_string(self, address):
        return self.read(address, 256).split(b"\0")[0].decode(errors="replace") if address else ""


@functools.lru_cache(maxsize=None)
def field(type_name, path):
    """Returns the offset and the size in bytes of a field such as "sched.sp" of a struct."""
    offset, kind = 0, gdb.lookup_type(type_name).strip_typedefs()
    for name in path.split("."):
        fields = {f.name: f for f in kind.fields()}
        if name not in fields:
            raise gdb.GdbError("%s has no field %s: take the fiberlab-gdb.py of the program's version" %
                               (type_name, path))
        offset += fields[name].bitpos // 8
        kind = fields[name].type.strip_typedefs()
    return offset, kind.sizeof


def at(address, type_name, path):
    """Returns the address of a field of the struct that is at that address."""
    return address + field(type_name, path)[0]


class Shape:
    """Reads fields of one struct type, all at once. A field of 16 bytes, a string or an interface, counts as its
    first word."""

    def __init__(self, type_name, *paths):
        self.places = [field(type_name, path) for path in paths]
        self.size = gdb.lookup_type(type_name).sizeof

    def read(self, memory, address):
        raw = memory.read(address, self.size)
        return [int.from_bytes(raw[start : start + min(size, 8)], "little") for start, size in self.places]


@functools.lru_cache(maxsize=None)
def symbol(address):
    """Returns the name of the variable or function at address, with " + N" inside of it, or ""."""
    text, found, _ = gdb.execute("info symbol %#x" % address, to_string=True).partition(" in section ")
    return re.sub(r"^([^[]+)\[([^]]+)\]", r"\1.\2", text) if found else ""  # gdb writes main[lock] for main.lock


@functools.lru_cache(maxsize=None)
def code(name):
    """Returns the first address of a function and that after it, or an empty range."""
    for symbol_name in (name + ".abi0", name):  # what has no suffix may be a function that only calls the other
        try:
            block = gdb.block_for_pc(int(gdb.parse_and_eval("&'%s'" % symbol_name)))
            return range(block.start, block.end)
        except (gdb.error, AttributeError):
            continue
    return range(0)


def forget(event=None):
    """Forgets what was found out of the program's files, since there are new ones."""
    for cache in (field, symbol, code, machine):
        cache.cache_clear()


class Amd64:
    PC, SP, FP = "rip", "rsp", "rbp"
    KEPT = ("rbx", "rbp", "r12", "r13", "r14", "r15", "rsp", "rip")  # over a call
    RETURN = ("rip",)  # what a context may call the place to go on
    GREGS = dict(r12=4, r13=5, r14=6, r15=7, rbp=10, rbx=11, rsp=15, rip=16)  # of a ucontext_t
    SAVED_SP = 0  # cgocallback: where the scheduler's stack pointer of before is in its frame
    FRAME_ARGUMENT = 8  # and its argument, an address on the stack of C
    CROSSCALL2 = dict(rbx=0x18, r12=0x20, r13=0x28, r14=0x30, r15=0x38, rbp=0x48, rip=0x50)
    CROSSCALL2_SIZE = 0x58

    @classmethod
    def of_ucontext(cls, mcontext):
        return {r: int(mcontext["gregs"][i]) for r, i in cls.GREGS.items()}


class Arm64:
    PC, SP, FP = "pc", "sp", "x29"
    KEPT = tuple("x%d" % i for i in range(19, 31)) + ("sp", "pc")
    RETURN = ("x30", "lr")
    SAVED_SP = 16
    FRAME_ARGUMENT = 16
    CROSSCALL2 = dict({"x%d" % i: 32 + 8 * (i - 19) for i in range(19, 29)}, x29=176, x30=184, pc=184)
    CROSSCALL2_SIZE = 192

    @staticmethod
    def of_ucontext(mcontext):
        registers = {"x%d" % i: int(mcontext["regs"][i]) for i in range(19, 31)}
        pc = int(mcontext["pc"])
        if symbol(pc).startswith("swapcontext"):  # it goes on at its own end, with the caller's address in x1
            pc = int(mcontext["regs"][1])
        return dict(registers, sp=int(mcontext["sp"]), pc=pc, x30=pc)


@functools.lru_cache(maxsize=None)
def machine():
    name = gdb.selected_inferior().architecture().name()
    for part, found in (("x86-64", Amd64), ("aarch64", Arm64)):
        if part in name:
            return found
    raise gdb.GdbError("fibers run on amd64 and arm64, and this program is for %s" % name)


class Fiber:
    """What one fiber was doing when the program stopped. Addresses are 0 where there is nothing."""

    def __init__(self):
        self.number = 0  # of its control block
        self.block = 0
        self.state = ""  # as its scheduler sees it; without one, as the switch does
        self.switch = ""  # a fiber that is blocked is Running here if its worker sleeps on it
        self.worker = self.task = ""
        self.since = None  # seconds since it has blocked; None: not known
        self.self = 0  # what fiber.Self returns on it
        self.goroutine = 0  # the address of its g
        self.awaits = (0, 0)  # the interface that describes what it waits for
        self.in_go = False  # the runtime has noted the Go function in which it has called C, to switch or to sleep

    def __str__(self):
        return "fiber %d%s" % (self.number, " (%s)" % self.task if self.task else "")


STATES = ("Idle", "Yielded", "Waiting", "Queued", "Running", "?", "?", "?")  # sched.State
SWITCH_STATES = ("Closed", "Ready", "Running", "Suspended", "Finished", "?", "?", "?")  # fiber.State
BLOCKED = ("Yielded", "Waiting")


class Fibers:
    """All fibers of the program, as one command sees them."""

    MOST_READ = 1 << 16  # bytes of a goroutine's stack that a list looks at
    FIRST_FRAMES = 256  # bytes at the end of a goroutine's stack in which the frame lies by which C has begun it

    def __init__(self):
        if not gdb.selected_thread():
            raise gdb.GdbError("no program runs here: run one, attach to one, or load a core file")
        try:
            registry = int(gdb.parse_and_eval("&'fiberlab/fiber.registry'"))
        except gdb.error:
            raise gdb.GdbError("this program has no fiberlab/fiber.registry: load one that was built by `go build`, "
                               "which keeps its symbols (`go run` does not), or use `fiber context EXPR`") from None
        self.memory = Memory()
        self.runner = Shape("fiberlab/fiber.runner", "fiber", "block", "entry")
        self.block = Shape("struct fiberlab_fiber", "state", "g", "index", "go_g")
        self.stack = Shape("runtime.g", "stack.lo", "stack.hi", "syscallsp", "syscallpc", "syscallbp")
        self.scheduled = None  # in a program without a scheduler
        with contextlib.suppress(gdb.error):
            self.scheduled = Shape("fiberlab/sched.Fiber", "fiber", "word", "worker", "self", "name", "since")
        self.workers, self.stacks = {}, {}
        self.list = sorted(self.find(registry), key=lambda f: f.number)
        self.by_self = {f.self: f for f in self.list if f.self}

    def find(self, registry):
        """Yields each fiber. The registry has its runners in chunks, in the order of their numbers."""
        memory = self.memory
        chunks = memory.word(at(registry, "fiberlab/fiber.blocks", "chunks"))
        array, count = memory.words(chunks, 2) if chunks else (0, 0)
        for chunk in memory.words(array, count):
            for runner in memory.words(chunk, 1024):
                fiber, block, entry = self.runner.read(memory, runner) if runner else (0, 0, 0)
                if fiber:
                    yield self.read(fiber, block, entry)

    def read(self, fiber, block, entry):
        memory, f = self.memory, Fiber()
        state, g0, f.number, f.goroutine = self.block.read(memory, block)
        f.block, f.switch = block, SWITCH_STATES[state & 7]
        f.state = f.switch
        if g0 and not f.goroutine:  # a body in C that has called Go
            f.goroutine = memory.word(at(memory.word(at(g0, "runtime.g", "m")), "runtime.m", "curg"))
        value = memory.word(at(fiber, "fiberlab/fiber.Fiber", "value") + 8)
        if value and self.scheduled and self.scheduled.read(memory, value)[0] == fiber:
            self.read_scheduled(f, value)
        if not f.task and entry:
            f.task = memory.c_string(memory.word(at(entry, "struct fiberlab_entry", "task")))
        if not f.worker and not f.task:
            f.task = memory.go_string(at(fiber, "fiberlab/fiber.Fiber", "name"))
        return f

    def read_scheduled(self, f, value):
        """Adds what the scheduler knows of f, from the sched.Fiber at value."""
        memory = self.memory
        _, word, worker, f.self, name, since = self.scheduled.read(memory, value)
        f.state = STATES[word & 7]
        f.worker, looked = self.worker(worker)
        f.task = memory.go_string(name) if name else ""
        if f.state in BLOCKED and since and looked:
            f.since = max(looked - since, 0) / 1e9
        f.awaits = memory.words(at(value, "fiberlab/sched.Fiber", "awaits"), 2)
        resting = f.switch == "Suspended" or f.switch == "Running" and f.state != "Running"
        f.in_go = bool(resting and f.goroutine and self.stack.read(memory, f.goroutine)[2])

    def worker(self, worker):
        """Returns the name of a worker, and when its scheduler's watchdog looked last."""
        if worker not in self.workers:
            memory = self.memory
            scheduler = memory.word(at(worker, "fiberlab/sched.Worker", "scheduler"))
            looked = memory.word(at(scheduler, "fiberlab/sched.Scheduler", "looked"))
            self.workers[worker] = memory.go_string(at(worker, "fiberlab/sched.Worker", "name")), looked
        return self.workers[worker]

    def get(self, name):
        """Returns the fiber with that number, or the first one with a task of that name."""
        for f in self.list:
            if name in (str(f.number), f.task):
                return f
        raise gdb.GdbError("there is no fiber %s: info fibers lists them" % name)

    def registers(self, f):
        """Returns the registers with which f goes on, or None if it runs or has not begun."""
        if f.in_go:
            _, _, sp, pc, fp = self.stack.read(self.memory, f.goroutine)
            m = machine()
            return {m.PC: pc, m.SP: sp, m.FP: fp}
        if f.switch != "Suspended":
            return None
        block = gdb.Value(f.block).cast(gdb.lookup_type("struct fiberlab_fiber").pointer()).dereference()
        if int(block["saved"]) == 0:
            return context_registers(block["context"])
        return context_registers(block["ucontext"]["uc"])

    def pcs(self, f):
        """Returns where each Go frame of f is, the innermost first, by the frame pointers: a few reads of memory, where
        gdb takes milliseconds. Returns nothing if f is not in Go, or if there are frames of C between those of Go."""
        if not f.in_go:
            return ()
        lo, hi, _, pc, fp = self.stack.read(self.memory, f.goroutine)
        pcs, first, last = [pc], fp, fp
        stack = self.memory.read(fp, min(hi - fp, self.MOST_READ)) if lo <= fp < hi else b""
        while first <= fp <= first + len(stack) - 16:
            above, pc = struct.unpack_from("<2Q", stack, fp - first)
            pcs.append(pc)
            last, fp = fp, above if above > fp else 0
        return () if pcs[-1] in code("runtime.cgocallback") and hi - last > self.FIRST_FRAMES else tuple(pcs)

    def frames(self, f):
        """Returns a Place for each frame of f, the innermost first. They are found once for all equal stacks."""
        key = self.pcs(f) or f.number
        if key not in self.stacks:
            self.stacks[key] = list(places(self.walk(f)))
        return self.stacks[key]

    def top(self, f):
        """Returns the innermost place of f that is not the wait, or else the innermost, as a text, and the name of the
        call by which f waits. An idle fiber waits for a task, and has none."""
        frames, call = self.frames(f) if f.state != "Idle" else [], ""
        for place in frames:
            if not place.wait:
                return str(place), call
            if place.function.startswith("fiberlab/sched"):
                call = place.function.removeprefix("fiberlab/").removeprefix("sched/")
        return str(frames[0]) if frames else "", call

    def walk(self, f):
        """Yields the frames of f as gdb sees them. Do not keep them: they are valid until the next one is taken."""
        registers, thread = self.registers(f), self.thread(f)
        with unwinder.kept():
            if registers:
                yield from walk(registers, f.goroutine)
            elif thread:
                thread.switch()
                yield from walk(None, f.goroutine)

    def thread(self, f):
        """Returns the thread on which f runs, or None."""
        if f.goroutine and f.switch == "Running":
            tid = self.memory.word(at(self.memory.word(at(f.goroutine, "runtime.g", "m")), "runtime.m", "procid"))
            for thread in gdb.selected_inferior().threads():
                if tid in thread.ptid[1:]:
                    return thread
        return None


def context_registers(value):
    """Returns the registers in a context, which is a ucontext_t, or a struct with fields named as registers, or a
    pointer to one. A field such as x19_x28 is an array of several."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        value, kind = value.dereference(), kind.target().strip_typedefs()
    m, found = machine(), {}
    for f in kind.fields() if kind.code == gdb.TYPE_CODE_STRUCT else ():
        if f.name == "uc_mcontext":
            return m.of_ucontext(value[f])
        several = re.fullmatch(r"x(\d+)_x(\d+)", f.name or "")
        if several:
            first, last = int(several.group(1)), int(several.group(2))
            found.update(("x%d" % i, int(value[f][i - first]) & MASK) for i in range(first, last + 1))
        elif f.name in m.KEPT + m.RETURN:
            found[f.name] = int(value[f]) & MASK
    for name in m.RETURN:
        if name in found and m.SP in found:
            found[m.PC] = found.get(m.PC, found[name])
            return {register: found[register] for register in m.KEPT if register in found}
    raise gdb.GdbError("%s is no context: it has no fields %s and %s" % (value.type, m.SP, m.RETURN[0]))


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Unwinder(gdb.unwinder.Unwinder):
    """Shows gdb the frames of a fiber, and leads it through the functions of the Go runtime that change stacks."""

    def __init__(self):
        super().__init__("fiberlab")
        self.registers = None
        self.select(None)

    def select(self, registers, goroutine=0):
        """From now on the caller of the thread's innermost frame is what has these registers; None: as it is. The
        frames belong to that goroutine."""
        self.registers, self.goroutine = None, goroutine
        self.memory = Memory()
        gdb.invalidate_cached_frames()
        if registers:
            self.innermost = gdb.selected_thread().ptid, thread_frame().level()
            self.registers = registers
            gdb.invalidate_cached_frames()

    @contextlib.contextmanager
    def kept(self):
        """Puts back in the end what was shown, and the thread and the frame that are selected."""
        before, thread, level = (self.registers, self.goroutine), gdb.selected_thread(), gdb.selected_frame().level()
        try:
            yield
        finally:
            thread.switch()
            self.select(*before)
            frame = gdb.newest_frame()
            while frame.level() < level and frame.older():
                frame = frame.older()
            frame.select()

    def __call__(self, pending):
        try:
            return self.unwind(pending)
        except (gdb.MemoryError, OverflowError):
            return None

    def unwind(self, pending):
        if not self.registers and not self.goroutine:
            return None
        m = machine()
        sp, pc = int(pending.read_register(m.SP)) & MASK, int(pending.read_register(m.PC))
        if self.registers and (gdb.selected_thread().ptid, pending.level()) == self.innermost:
            # gdb takes frames for wrong that lie lower than the one before, so this one lies at 0.
            return self.answer(pending, 0, self.registers)
        if not self.goroutine:
            return None
        if pc in code("crosscall2"):
            registers = {r: self.memory.word(sp + at) for r, at in m.CROSSCALL2.items()}
            registers[m.SP] = sp + m.CROSSCALL2_SIZE
            return self.answer(pending, sp, registers)
        if pc in code("runtime.asmcgocall"):
            other = self.stack_of_go(sp)
        elif pc in code("runtime.cgocallback"):
            other = self.stack_of_c(sp)
        else:
            return None
        # The same function on the other stack: from there on debug information describes its frame.
        fp = int(pending.read_register(m.FP)) & MASK
        return self.answer(pending, sp, {m.PC: pc, m.SP: other, m.FP: fp}) if other else None

    @staticmethod
    def answer(pending, at, registers):
        """Says that the caller of the pending frame has these registers. at identifies the frame."""
        m = machine()
        pc, pointer = pending.read_register(m.PC), pending.read_register(m.SP).type
        info = pending.create_unwind_info(FrameId(gdb.Value(at.to_bytes(8, "little"), pointer), pc))
        for name, value in registers.items():
            kind = pending.read_register(name).type
            info.add_saved_register(name, gdb.Value(value.to_bytes(8, "little"), kind))
        return info

    def on_go_stack(self, sp):
        lo, hi = self.memory.words(at(self.goroutine, "runtime.g", "stack"), 2)
        return lo <= sp < hi

    def stack_of_go(self, sp):
        """asmcgocall keeps its goroutine, and how deep in that one's stack it was called, on the stack of C."""
        if self.on_go_stack(sp):
            return 0
        words = self.memory.words(sp, 8)
        for g_at, depth_at in ((0, 1), (1, 0), (6, 5)):
            if words[g_at] == self.goroutine:
                return self.memory.word(at(self.goroutine, "runtime.g", "stack.hi")) - words[depth_at]
        return 0

    def stack_of_c(self, sp):
        """cgocallback keeps its stack pointer in the scheduling goroutine g0, and the one that was there before in its
        own frame. So these frames are a list, the innermost first. The one that is sought lies next below an argument
        that cgocallback was given on the stack of C."""
        if not self.on_go_stack(sp):
            return 0
        m, memory = machine(), self.memory
        g0 = memory.word(at(memory.word(at(self.goroutine, "runtime.g", "m")), "runtime.m", "g0"))
        limit, found = memory.word(sp + m.FRAME_ARGUMENT), 0
        frame = memory.word(at(g0, "runtime.g", "sched.sp"))
        while found < frame < limit:
            found, frame = frame, memory.word(frame + m.SAVED_SP)
        return found


gdb.execute("set backtrace past-main on")  # a thread may stand in main while a fiber is selected
unwinder = Unwinder()
gdb.unwinder.register_unwinder(None, unwinder, replace=True)


TWO_STACKS = ("runtime.asmcgocall", "runtime.cgocallback")  # they have a frame on each, of which walk skips one


def thread_frame():
    """Returns the innermost frame of the thread that is not one of an inlined function."""
    frame = gdb.newest_frame()
    while frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
    return frame


def innermost():
    """Returns the innermost frame of what is selected, or None."""
    return thread_frame().older() if unwinder.registers else gdb.newest_frame()


def walk(registers, goroutine):
    """Yields the frames from those registers outwards, or those of the selected thread if registers is None."""
    unwinder.select(registers, goroutine)
    frame = innermost()
    m, resumed, name = machine(), set(), ""
    while frame is not None:
        here = frame.pc(), int(frame.read_register(m.SP))
        if here not in resumed and (frame.name() != name or name not in TWO_STACKS):
            yield frame
        name = frame.name()
        older = frame.older()
        if older is None and frame.unwind_stop_reason() == gdb.FRAME_UNWIND_INNER_ID and here not in resumed:
            resumed.add(here)
            again = {}
            for name in m.KEPT:
                with contextlib.suppress(gdb.error):  # if debug information does not say where it is
                    again[name] = int(frame.read_register(name)) & MASK
            unwinder.select(again, goroutine)
            older = innermost()
        frame = older


class HideThread:
    """A frame filter: while a fiber is selected, bt does not show the thread's frame before it."""

    name, priority, enabled = "fiberlab", 100, True

    def __init__(self):
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        first = innermost()
        return (f for f in frames if first is None or f.inferior_frame().level() >= first.level())


HideThread()


class Place:
    """A function that was called, and the line where it is."""

    # Functions that are the wait and not its place.
    WAIT = re.compile(r"((internal/)?runtime(/[^.]*)?|syscall|fiberlab/(sched|fiber|internal)(/[^.]*)?)\.|fiberlab_|"
                      r"marl_fiber_|ucontext_fiber_|swapcontext|getcontext|crosscall2$|_cgo")
    SWITCH = re.compile(r"(fiber|asm|cgo_ucontext)/[^/]*\.[chS]$")

    def __init__(self, function, file, line):
        self.function, self.file, self.line = function or "", file, line
        self.wait = not function or bool(self.WAIT.match(function) or self.SWITCH.match(file))

    def __str__(self):
        name = self.function or "??"
        return "%s at %s:%d" % (name, self.file, self.line) if self.file else name


def places(frames):
    """Yields the Place of each frame."""
    for frame in frames:
        line = frame.find_sal()
        path = line.symtab.fullname() if line.symtab else ""
        yield Place(frame.name(), "/".join(path.split("/")[-2:]), line.line)


def numbers(fibers):
    """Returns the numbers of fibers as a short text: "3-9, 12"."""
    parts = []
    for _, steps in itertools.groupby(enumerate(f.number for f in fibers), lambda step: step[1] - step[0]):
        run = [number for _, number in steps]
        parts.append("%d-%d" % (run[0], run[-1]) if len(run) > 1 else str(run[0]))
    return ", ".join(parts[:6]) + (", ..." if len(parts) > 6 else "")


def groups(fibers, key):
    """Returns the fibers by what key returns for each."""
    found = {}
    for f in fibers:
        found.setdefault(key(f), []).append(f)
    return found


def table(rows):
    widths = [max(len(cell) for cell in column) for column in zip(*rows)]
    for row in rows:
        gdb.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n")


class InfoFibers(gdb.Command):
    """List the fibers: state, task, worker, how long they have been blocked, and where. Those with equal stacks share
a line."""

    def __init__(self):
        super().__init__("info fibers", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        fibers = Fibers()
        rows = [("Count", "State", "Blocked for", "Worker", "Task", "Fibers", "Where")]
        alike = groups(fibers.list, lambda f: (f.state, f.task) + fibers.top(f))
        for (state, task, place, call), members in sorted(alike.items(), key=lambda item: -len(item[1])):
            workers, times = {f.worker for f in members}, [f.since for f in members if f.since is not None]
            rows.append(("{:,}".format(len(members)), state, "%.1f s" % max(times) if times else "",
                         workers.pop() if len(workers) == 1 else "%d workers" % len(workers), task, numbers(members),
                         place + (", by " + call if call else "")))
        gdb.write("Fibers: {:,}\n".format(len(fibers.list)))
        if fibers.list:
            table(rows)
        else:
            gdb.write("Fibers of the goroutine backend are goroutines, and not listed.\n")


class FiberCommand(gdb.Command):
    """Look at fibers and at contexts of switches.

fiber N               select fiber N, or the first with a task of that name: bt, up and info locals show its frames
fiber N bt            print its backtrace
fiber apply all bt    print the backtraces of all fibers, equal ones once
fiber waits [NAME]    print who waits for what and who holds it; with the name of a variable: also where
fiber context EXPR    select what is suspended in a context: a struct with fields named as registers, or a ucontext_t
fiber thread          select the thread again"""

    def __init__(self):
        super().__init__("fiber", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        words = argument.split()
        if not words:
            gdb.write("a fiber or a context is selected\n" if unwinder.registers else "no fiber is selected\n")
        elif words[0] == "thread":
            unwinder.select(None)
        elif words == ["apply", "all", "bt"]:
            self.apply_all()
        elif words[0] == "waits" and len(words) < 3:
            waits(words[1] if len(words) == 2 else None)
        elif words[0] == "context" and len(words) > 1:
            show(context_registers(gdb.parse_and_eval(argument.split(None, 1)[1])), 0)
        elif words[-1] == "bt" and len(words) > 1:
            fibers = Fibers()
            backtrace(fibers.frames(fibers.get(" ".join(words[:-1]))))
        else:
            self.select(" ".join(words))

    def select(self, name):
        fibers = Fibers()
        f = fibers.get(name)
        registers = fibers.registers(f)
        if registers:
            show(registers, f.goroutine)
            return
        thread = fibers.thread(f)
        if not thread:
            raise gdb.GdbError("%s is %s: it has no frames" % (f, f.state))
        thread.switch()
        unwinder.select(None, f.goroutine)
        gdb.write("%s runs on thread %d, which is selected\n" % (f, thread.num))

    def apply_all(self):
        fibers = Fibers()
        alike = groups(fibers.list, lambda f: (f.state, f.task, tuple(map(str, fibers.frames(f)))))
        for (state, task, frames), members in alike.items():
            title = "fiber " if len(members) == 1 else "{:,} fibers: ".format(len(members))
            gdb.write("%s%s, %s%s\n" % (title, numbers(members), state, ", task " + task if task else ""))
            backtrace(frames)


def show(registers, goroutine):
    """Selects what has those registers, and prints its innermost frame."""
    unwinder.select(registers, goroutine)
    frame = innermost()
    if frame is None:
        unwinder.select(None)
        raise gdb.GdbError("no frame is to be found by the registers that were saved")
    frame.select()
    gdb.execute("frame")


def backtrace(frames):
    """Prints Places. Their numbers are those of gdb, in whose count the thread's frame is 0."""
    for level, place in enumerate(frames, 1):
        gdb.write("#%-3d %s\n" % (level, place))


class Wait:
    """What a fiber waits for: the kind of thing, its address, and the fiber that holds it, or None."""

    HOLDERS = {"Mutex": "holder.self", "RWMutex": "writer.holder.self"}

    def __init__(self, fibers, f):
        # The interface's table has the address of the method, whose name has the type: (*awaitedMutex).Awaited.
        methods, self.address = f.awaits
        method = symbol(fibers.memory.word(at(methods, "internal/abi.ITab", "Fun")))
        name = re.search(r"\(\*(?:awaited)?(\w+)", method)
        self.kind = name.group(1) if name else "?"
        self.holder, self.held = None, ""
        if self.kind in self.HOLDERS:
            try:
                place = at(self.address, "fiberlab/sched/fibersync." + self.kind, self.HOLDERS[self.kind])
            except gdb.GdbError:
                self.held = ", whose holder a build with -tags debug names"
                return
            holder = fibers.memory.word(place)
            self.holder = fibers.by_self.get(holder)
            if self.holder:
                self.held = ", held by %s" % self.holder
            elif holder:
                number = fibers.memory.word(at(holder, "runtime.g", "goid"))
                self.held = ", held by goroutine %d, which is no fiber" % number

    def variable(self):
        return symbol(self.address)

    def __str__(self):
        variable = self.variable()
        return "%s %s%#x" % (self.kind, variable + " at " if variable else "", self.address)


def waits(name):
    """Prints who waits for what. With the name of a variable, only who waits for that, with backtraces."""
    fibers = Fibers()
    blocked = [f for f in fibers.list if f.state in BLOCKED]
    waiting = {f: Wait(fibers, f) for f in blocked if f.awaits[0]}
    found = False
    for members in groups(waiting, lambda f: (waiting[f].kind, waiting[f].address)).values():
        wait = waiting[members[0]]
        if name and name not in (wait.variable(), hex(wait.address)):
            continue
        found = True
        gdb.write("%s%s: %s\n" % (wait, wait.held, waiters(members)))
        for f in members[:3] + [wait.holder] if name else ():
            if f:
                gdb.write("%s, %s\n" % (f, f.state))
                backtrace(fibers.frames(f))
    if name:
        if not found:
            gdb.write("no fiber waits for %s\n" % name)
        return
    for (place, call), members in groups((f for f in blocked if f not in waiting), fibers.top).items():
        gdb.write("%s: %s, in %s\n" % (call or "a wait", waiters(members), place))
    for cycle in cycles(waiting):
        steps = ["%s, held by %s" % (waiting[f], waiting[f].holder) for f in cycle]
        gdb.write("cycle: %s waits for %s\n" % (cycle[0], ", which waits for ".join(steps)))


def waiters(fibers):
    if len(fibers) == 1:
        return "%s waits" % fibers[0]
    tasks = ", ".join(sorted({f.task for f in fibers if f.task})[:4])
    return "{:,} fibers wait: {}".format(len(fibers), numbers(fibers)) + (" (%s)" % tasks if tasks else "")


def cycles(waiting):
    """Yields each circle of fibers that wait for one another."""
    done = set()
    for start in waiting:
        path, f = [], start
        while f in waiting and f not in done:
            done.add(f)
            path.append(f)
            f = waiting[f].holder
        if f in path:
            yield path[path.index(f) :]


InfoFibers()
FiberCommand()
gdb.events.new_objfile.connect(forget)
gdb.events.cont.connect(lambda event: unwinder.registers and unwinder.select(None))
