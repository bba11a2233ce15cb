package uring

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Driver is what carries out the requests of an engine.
type Driver int

const (
	Auto  Driver = iota // Uring where the kernel has it, else Epoll
	Uring               // io_uring
	Epoll               // non-blocking system calls, tried again when epoll(7) says so
)

var driverNames = [...]string{Auto: "auto", Uring: "uring", Epoll: "epoll"}

// String returns the name by which ParseDriver finds d, or Driver(d) if there is no such driver.
func (d Driver) String() string {
	if d < 0 || int(d) >= len(driverNames) {
		return fmt.Sprintf("Driver(%d)", int(d))
	}
	return driverNames[d]
}

// Drivers returns the drivers that are not Auto.
func Drivers() []Driver { return []Driver{Uring, Epoll} }

// ErrDriver is wrapped by errors that name a driver which does not exist.
var ErrDriver = errors.New("no such driver")

// ParseDriver returns the driver of that name, or an error that wraps ErrDriver and names them all.
func ParseDriver(name string) (Driver, error) {
	for d, n := range driverNames {
		if n == name {
			return Driver(d), nil
		}
	}
	return 0, fmt.Errorf("sched/uring: %w %q: choose one of %s", ErrDriver, name, strings.Join(driverNames[:], ", "))
}

// proxy carries out the requests of one engine. Only the thread that opened it may call its methods, but any thread may
// call wake. The calling goroutine is locked to that thread.
type proxy interface {
	// stage takes a request for the next turn, and reports whether there was room for it.
	stage(e Entry) bool

	// turn submits what is staged, and returns what has been completed, in a slice that the next turn overwrites. If
	// nothing has, it waits for a completion, for wake, or until limit has passed; below 0 is no limit, and 0 does not
	// wait. A ring may first wait for several, see batch. turn may also return early with nothing. While it waits, the
	// runtime may take the thread's P away, as in any system call: idle is better for a long wait.
	turn(limit time.Duration) ([]Completion, error)

	// idle is turn for a wait that takes long: other goroutines may use the thread's P until it ends.
	idle(limit time.Duration) ([]Completion, error)

	// ready reports whether a turn would do something at once: submit, or collect. It is cheap, so it may miss what the
	// kernel has not shown yet.
	ready() bool

	// wake ends the wait that is under way, or the next one. Any thread may call it, as long as the proxy is open; it
	// does not block.
	wake()

	// close ends the proxy, and may block. No request may be under way: the kernel could still use what it points to.
	close()

	can(Ability) bool

	// provide makes buffers for requests with Provided. It may be called once, if the proxy is able to ReceiveMany. The
	// error is the kernel's.
	provide(count, size int) (*Buffers, error)

	// counts is what it has done since it was opened.
	counts() Stats
}

// Ability is something that not every proxy can do.
type Ability int

const (
	AcceptMany  Ability = iota // OpAccept with Multishot
	ReceiveMany                // OpReceive with Multishot and Provided
	Files                      // OpOpen, OpRead, OpWrite and OpClose
	abilities                  // how many there are
)

// openProxy opens a proxy of the calling thread for that many staged requests. If no ring opens, Auto takes Epoll, and
// Uring's error wraps ErrUnavailable. Other errors are the kernel's, or wrap ErrDriver for an unknown driver.
func openProxy(driver Driver, requests int) (proxy, error) {
	switch driver {
	case Auto:
		p, err := openProxy(Uring, requests)
		if errors.Is(err, ErrUnavailable) {
			return openProxy(Epoll, requests)
		}
		return p, err
	case Uring:
		r, err := openRing(requests, 0)
		if err != nil {
			return nil, err // not a nil *ring
		}
		return r, nil
	case Epoll:
		e, err := openEpoll(requests)
		if err != nil {
			return nil, err // not a nil *epoll
		}
		return e, nil
	}
	return nil, fmt.Errorf("sched/uring: %w: %v: use Auto, Uring or Epoll", ErrDriver, driver)
}

// writeEvent adds one to the count of an eventfd. It fails only after 2^64 - 2 calls.
func writeEvent(event int) {
	one := uint64(1)
	_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, uintptr(event), uintptr(unsafe.Pointer(&one)), 8)
}
