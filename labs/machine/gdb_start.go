package machine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func startEmulated(ctx context.Context, p *Program, o Options) (Machine, error) {
	emulator := o.Emulator
	if len(emulator) == 0 {
		path, err := FindEmulator(p.Arch)
		if err != nil {
			return nil, err
		}
		emulator = []string{path}
	} else if _, err := exec.LookPath(emulator[0]); err != nil {
		return nil, fmt.Errorf("%w: %s is not on PATH", ErrNoEmulator, emulator[0])
	}
	ctx, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	m := &emulated{program: p, name: filepath.Base(emulator[0]), thread: newTracer()}
	if err := m.start(ctx, emulator, o); err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("start %s in %s: %w", p.Path, m.name, err)
	}
	return m, nil
}

// FindEmulator returns the path of an architecture's qemu-user. The error wraps ErrNoEmulator and says what to install.
func FindEmulator(a *Arch) (string, error) {
	for _, name := range []string{a.Emulator, a.Emulator + "-static"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf(
		"%w for %s: %s is not on PATH: install it (on Debian and Ubuntu the package qemu-user)", ErrNoEmulator, a.Name,
		a.Emulator,
	)
}

const socketName = "fiberlab.stub"

func (m *emulated) start(ctx context.Context, emulator []string, o Options) error {
	folder, err := socketFolder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path, err := filepath.Abs(m.program.Path)
	if err != nil {
		return err
	}
	socket := filepath.Join(folder, socketName)
	if m.output, err = outputs(o); err != nil {
		return err
	}
	says := m.output.errors().write
	if o.Calls != nil {
		if m.calls, err = newCallLog(o.Calls, m.output.errors()); err != nil {
			m.output.started()
			return err
		}
		says, emulator = m.calls.write, append(slices.Clone(emulator), "-strace")
	}
	argv := command(slices.Concat(emulator, []string{"-g", socket, path}), o)
	m.thread.do(func() { m.process, err = spawn(argv, o, m.output.write, says, false) })
	m.output.started()
	if m.calls != nil {
		m.calls.started()
	}
	if err != nil {
		return err
	}
	m.gone = make(chan struct{})
	go func() {
		defer close(m.gone)
		m.state, _ = m.process.Wait()
	}()
	if err := m.connect(ctx, socket); err != nil {
		return err
	}
	return m.greet(ctx)
}

// socketFolder makes a folder whose path is short enough for a socket.
func socketFolder() (string, error) {
	const longest = 107 - len("/"+socketName)
	var all error
	for _, parent := range []string{"", "/tmp", "/dev/shm"} {
		folder, err := os.MkdirTemp(parent, "fiberlab-")
		if err == nil && len(folder) <= longest {
			return folder, nil
		}
		if err == nil {
			_ = os.Remove(folder)
			err = fmt.Errorf("%s is too long a path for a socket: set TMPDIR", folder)
		}
		all = errors.Join(all, err)
	}
	return "", all
}

// connect waits for the socket of the stub.
func (m *emulated) connect(ctx context.Context, socket string) error {
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		connection, err := net.Dial("unix", socket)
		if err == nil {
			m.stub = &stub{connection: connection, reader: bufio.NewReader(connection)}
			return nil
		}
		select {
		case <-m.gone:
			return m.died()
		case <-ctx.Done():
			return fmt.Errorf("no stub answers: %w (qemu-user 5.1 or newer has the socket that is needed)", ctx.Err())
		case <-time.After(wait):
		}
	}
}

// greet asks the stub for what it can do. The program stands at its first instruction.
func (m *emulated) greet(ctx context.Context) error {
	quiet := context.AfterFunc(ctx, func() { _ = m.stub.connection.SetDeadline(time.Now()) })
	defer quiet()
	err := func() error {
		features, err := m.stub.ask("qSupported:xmlRegisters=i386;vContSupported+")
		if err != nil {
			return err
		}
		if !strings.Contains(string(features), "qXfer:features:read+") {
			return errors.New("its stub does not describe registers")
		}
		if answer, err := m.stub.ask("?"); err != nil {
			return err
		} else if _, err := parseStop(answer); err != nil {
			return err
		}
		described, err := m.stub.describe()
		if err != nil {
			return err
		}
		m.bank, err = newBank(m.program.Arch, described)
		return err
	}()
	if err != nil && !quiet() {
		return fmt.Errorf("the program does not begin: %w", ctx.Err())
	}
	if err != nil {
		return m.explain("begin", err)
	}
	return nil
}
