package uring

import (
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// hang is how long a test waits for what should come at once.
const hang = time.Minute

// eachSetup runs test for each way in which a ring may be set up, on the ring's thread.
func eachSetup(t *testing.T, requests int, test func(t *testing.T, r *ring)) {
	for _, setup := range []struct {
		name    string
		without uint32
		has     uint32
	}{
		{"deferred", 0, setupSingleIssuer | setupDeferTaskrun},
		{"cooperative-one-thread", setupDeferTaskrun, setupSingleIssuer | setupCoopTaskrun},
		{"cooperative", setupSingleIssuer, setupCoopTaskrun},
		{"plain", setupSingleIssuer | setupCoopTaskrun, 0},
	} {
		t.Run(setup.name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r, err := openRing(requests, setup.without)
			if err != nil {
				noRing(t, err)
				return
			}
			defer r.close()
			newest, err := openRing(2, 0)
			require.NoError(t, err)
			all := newest.setup()&setupDeferTaskrun != 0 // a kernel that has this has the others
			newest.close()
			if all {
				require.Equal(t, setup.has, r.setup()&(setupSingleIssuer|setupDeferTaskrun|setupCoopTaskrun))
			}
			require.Zero(t, r.setup()&setup.without)
			test(t, r)
		})
	}
}

// noRing demands that the kernel has no io_uring, and that the error says why.
func noRing(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, ErrUnavailable)
	require.Regexp(t, `no io_uring: .+: .+`, err.Error())
	t.Log(err)
}

// staging is a proxy that reports how many requests it has room for.
type staging interface {
	proxy
	room() int
}

func isRing(p proxy) bool {
	_, is := p.(*ring)
	return is
}

// eachProxy runs test for each set-up of a ring, and for epoll with and without exact waits.
func eachProxy(t *testing.T, requests int, test func(t *testing.T, p staging)) {
	eachSetup(t, requests, func(t *testing.T, r *ring) { test(t, r) })
	for name, coarse := range map[string]bool{"epoll": false, "epoll-before-5.11": true} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			e, err := openEpoll(requests)
			require.NoError(t, err)
			defer e.close()
			e.coarse = coarse
			test(t, e)
			require.Empty(t, slices.Concat(e.files...))
		})
	}
}

// eachDriver runs test with options for each driver that the kernel has.
func eachDriver(t *testing.T, test func(t *testing.T, options Options)) {
	for _, driver := range Drivers() {
		t.Run(driver.String(), func(t *testing.T) {
			if report := Probe(); driver == Uring && report.Reason != nil {
				noRing(t, report.Reason)
				return
			}
			test(t, Options{Driver: driver})
		})
	}
}

// eachEngine is eachDriver with an engine of the test's own thread. Its proxy has room for that many staged requests; 0
// stands for the default.
func eachEngine(t *testing.T, requests int, test func(t *testing.T, e *Engine)) {
	eachDriver(t, func(t *testing.T, options Options) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		options.Requests = requests
		e := new(Engine)
		require.NoError(t, e.init(options))
		defer e.deinit()
		test(t, e)
	})
}

// Each driver carries out a request, and Auto takes the ring where there is one.
func TestOpenProxy(t *testing.T) {
	eachDriver(t, func(t *testing.T, options Options) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		p, err := openProxy(options.Driver, options.requests())
		require.NoError(t, err)
		defer p.close()
		require.Equal(t, options.Driver == Uring, isRing(p))
		must(t, p, Entry{id: 1, Op: OpNop})
		require.Zero(t, await(t, p, 1)[0].Result)
	})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := openProxy(Auto, 8)
	require.NoError(t, err)
	defer p.close()
	require.Equal(t, Probe().Driver == Uring, isRing(p))
	_, err = openProxy(Driver(9), 8)
	require.ErrorContains(t, err, "Driver(9)")
}

// A request to cancel finds the other one wherever that is: in the mailbox, among those without room, with the proxy,
// or nowhere.
func TestCancelFindsItsRequest(t *testing.T) {
	eachEngine(t, 2, func(t *testing.T, e *Engine) {
		in, _ := pair(t)
		require.NoError(t, unix.SetNonblock(int(in), true))
		memory := new([8]byte)
		var pin runtime.Pinner
		pin.Pin(memory)
		defer pin.Unpin()
		results := map[string]int32{}
		target := func(name string, i int) *Request {
			return &Request{
				Entry:     Entry{Op: OpReceive, FD: in, Addr: uintptr(unsafe.Pointer(&memory[i])), Length: 1},
				Completed: func(c Completion) { results[name] = c.Result },
			}
		}
		canceller := func(of *Request) *Request {
			return &Request{
				Entry: Entry{Op: OpCancel}, Internal: true, Cancels: of,
				Completed: func(Completion) { results["cancels"]++ },
			}
		}
		settle := func() {
			for e.table.underWay() > 0 {
				require.NoError(t, e.pollSubmit(-1, true))
			}
		}
		mailed := target("mailed", 0)
		require.True(t, e.beginElsewhere(mailed))
		e.begin(canceller(mailed))
		settle()
		var many []*Request
		for i, name := range []string{"a", "b", "c", "d", "e"} {
			many = append(many, target(name, i))
			e.begin(many[i])
		}
		for _, r := range many {
			e.begin(canceller(r))
		}
		settle()
		e.begin(canceller(many[4])) // it is over
		settle()
		canceled := -int32(unix.ECANCELED)
		require.Equal(
			t,
			map[string]int32{
				"mailed": canceled, "a": canceled, "b": canceled, "c": canceled,
				"d": canceled, "e": canceled, "cancels": 7,
			},
			results,
		)
		require.True(t, e.Idle())
		e.countRunning()
		require.True(t, e.Idle())
	})
}
