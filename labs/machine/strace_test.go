package machine

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// judged gives a log to a callLog whose program may write and ask for its number, and returns what was refused and what
// is output.
func judged(t *testing.T, pieces ...string) (refused, printed string) {
	t.Helper()
	var into bytes.Buffer
	out, err := newOutput(&into, OutputLimit)
	require.NoError(t, err)
	l, err := newCallLog([]string{"write", "getpid"}, out)
	require.NoError(t, err)
	_, err = l.write.WriteString("1 brk(NULL) = 0x0000000000498000\n1 openat(AT_FDCWD,\"x\",O_RDONLY) = 3\n")
	require.NoError(t, err)
	l.judge()
	for _, piece := range pieces {
		_, err = l.write.WriteString(piece)
		require.NoError(t, err)
		refused = l.check()
	}
	l.close()
	require.Equal(t, refused, l.check())
	out.close()
	return refused, into.String()
}

// Qemu's log is told from what the program writes among it: no text of the program hides a call.
func TestCallLog(t *testing.T) {
	const send = "1 sendto(4,1,2,3,0,0) = 2\n"
	write := func(text string) string {
		return fmt.Sprintf("1 write(2,0x400000,%d)%s = %d\n", len(text), text, len(text))
	}
	// The write of hidden would be the end of the one before, if that had written.
	hidden := len(" = -1 errno=14 (Bad address)\n" + send + "1 write(2,0x400000,6)")
	failed := func(length int) string { return fmt.Sprintf("1 write(2,0,%d) = -1 errno=14 (Bad address)\n", length) }
	for name, c := range map[string]struct {
		pieces           []string
		refused, printed string
	}{
		"nothing": {},
		"allowed": {pieces: []string{"1 getpid() = 1\n", "1 getpid() = 1\n"}},
		"a signal": {pieces: []string{"--- SIGSEGV {si_signo=SIGSEGV, si_code=1, " +
			"si_addr=0x0000000000000010} ---\n"}},
		"another":               {pieces: []string{send}, refused: "sendto"},
		"before its result":     {pieces: []string{"1 sendto(4,1,2,3"}, refused: "sendto"},
		"after others":          {pieces: []string{"1 getpid() = 1\n1 getpid() = 1\n" + send}, refused: "sendto"},
		"one without a name":    {pieces: []string{"1 Unknown syscall 1000\n"}, refused: "system call 1000"},
		"one that does not end": {pieces: []string{"1 getpid(", "1 sendto(4"}, refused: "sendto"},
		"text": {pieces: []string{write("an overflow\n"), write("and more\n")}, printed: "an " +
			"overflow\nand more\n"},
		"text in pieces":   {pieces: []string{"1 write(2,0x400000,5)"}},
		"text like a call": {pieces: []string{write(send) + "1 getpid() = 1\n"}, printed: send},
		"a call after text": {
			pieces: []string{write("an overflow\n") + send}, refused: "sendto", printed: "an overflow\n",
		},
		"a call after no text": {pieces: []string{write("") + send}, refused: "sendto"},
		"a write that fails":   {pieces: []string{failed(10), failed(10)}},
		"a call after that":    {pieces: []string{failed(10) + send}, refused: "sendto"},
		"a call in its length": {pieces: []string{failed(len(send)+38) + send}, refused: "sendto"},
		"a length to hide calls": {
			pieces: []string{failed(hidden) + send + write(fmt.Sprintf(" = %d\n", hidden))}, refused: "write",
		},
		"text like a failure": {pieces: []string{write(" = -1 errno=9 (x)\n1 write(2,0,27)") + send}, refused: "write"},
		"much":                {pieces: []string{write(strings.Repeat("a", 4097))}, refused: "write"},
		"another descriptor":  {pieces: []string{"1 write(4,0x400000,2) = 2\n"}, refused: "write"},
		"standard output":     {pieces: []string{"1 write(1,0x400000,9) = 9\n" + send}, refused: "sendto"},
		"an odd length": {
			pieces: []string{"1 write(2,0x400000,-1) = -1 errno=14 (Bad address)\n" + send}, refused: "write",
		},
		"behind other words":    {pieces: []string{"qemu: odd1 write(2,0x400000,2)\n\n = 2\n"}, refused: "write"},
		"behind another number": {pieces: []string{"qemu: 1 write(2,0x400000,2)\n\n = 2\n" + send}, refused: "write"},
	} {
		t.Run(name, func(t *testing.T) {
			refused, printed := judged(t, c.pieces...)
			require.Equal(t, c.refused, refused)
			require.Equal(t, c.printed, printed)
		})
	}
}

// In an emulator a program may make the calls that it is given, from the first arrival on, and no others.
func TestCallsAreJudged(t *testing.T) {
	ways(t, func(t *testing.T, w way) {
		if w.ptrace {
			return
		}
		printed := &limited{want: OutputLimit}
		begun := func(calls ...string) *bench {
			b := begin(t, w, Options{Calls: calls, Output: printed})
			b.jump("identity") // before the first arrival no call is judged
			require.Equal(t, Reached, b.run("still").Kind)
			return b
		}
		b := begun("write", "exit")
		b.jump("print")
		require.Equal(t, Stop{Kind: Reached}, b.run("print"))
		b.jump("leave")
		require.Equal(t, Exited, b.run().Kind)
		require.Equal(t, "hello\n", printed.String())

		for _, resume := range []func(*bench) Stop{(*bench).step, func(b *bench) Stop { return b.run("still") }} {
			b := begun("write")
			b.set(map[*Arch]string{AMD64: "rax", ARM64: "x8"}[w.arch], map[*Arch]uint64{AMD64: 39, ARM64: 172}[w.arch])
			b.jump("identity_call")
			stop := resume(b)
			require.Equal(t, Refused, stop.Kind)
			require.Equal(t, "getpid", stop.Name)
			b.ended()
		}
	})
}
