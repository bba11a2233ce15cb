package step

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// keysHelp is what ? shows.
var keysHelp = []string{
	"right, down, n, space   one step forward",
	"left, up, p, backspace  one step back",
	"page down, page up      ten steps",
	"g, home                 to the start",
	"G, end                  to the end",
	"12 and enter            to step 12",
	"f                       to the next step that a grader calls wrong",
	"/                       search: forward from here in sources, instructions and changes",
	"enter                   search again",
	"m                       memory: all regions, stacks, or contexts",
	"v                       values, or what they mean, where there is room for one of them",
	"q, ctrl-c               leave",
	"",
	"*  changed by this step    <  read by it    rsp>  the stack pointer    saved>  the one in a context",
}

// browser shows a player on a terminal.
type browser struct {
	player *Player
	out    io.Writer
	screen Screen
	view   view
	typed  string // a search that is being typed, from its slash on, or the digits of a number
	sought string // what was searched last
	help   bool
}

// Browse shows the recording on the terminal out and goes through it by the keys that are read from the terminal in,
// until the reader leaves or ctx is over. It leaves both terminals as they were.
func Browse(ctx context.Context, p *Player, in, out *os.File) error {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("the terminal cannot be read key by key: %w", err)
	}
	defer term.Restore(int(in.Fd()), before)
	events, err := eventsOf(ctx)
	if err != nil {
		return err
	}
	defer events.close()
	fmt.Fprint(out, "\x1b[?1049h\x1b[?25l") // the other screen, without a cursor
	defer fmt.Fprint(out, "\x1b[?25h\x1b[?1049l")

	b := &browser{player: p, out: out}
	for ctx.Err() == nil {
		b.screen = ScreenOf(out)
		if err := b.draw(); err != nil {
			return err
		}
		input, err := events.read(in)
		if err != nil {
			return err
		}
		for _, key := range keysOf(input) {
			if !b.press(key) {
				return nil
			}
		}
	}
	return nil
}

// draw fills the screen. It writes once, which avoids flicker.
func (b *browser) draw() error {
	var text strings.Builder
	text.WriteString("\x1b[H")
	lines := b.player.frame(b.screen, b.view)
	if b.help {
		for i, line := range keysHelp {
			if i+1 < len(lines)-1 {
				lines[i+1] = fit("  "+line, b.screen.Columns)
			}
		}
		for i := len(keysHelp) + 1; i < len(lines)-1; i++ {
			lines[i] = ""
		}
	}
	for i, line := range lines {
		if i > 0 {
			text.WriteString("\r\n")
		}
		text.WriteString(line + "\x1b[K")
	}
	text.WriteString("\x1b[J")
	_, err := io.WriteString(b.out, text.String())
	return err
}

// press does what a key says, and reports whether the reader stays.
func (b *browser) press(key string) bool {
	p := b.player
	b.view.status = ""
	wasHelp := b.help
	b.help = false
	if strings.HasPrefix(b.typed, "/") {
		b.edit(key)
		return key != "ctrl-c"
	}
	number := b.typed
	b.typed = ""
	switch key {
	case "right", "down", "n", " ", "j", "l":
		p.Go(p.At() + 1)
	case "left", "up", "p", "backspace", "k", "h":
		p.Go(p.At() - 1)
	case "page down":
		p.Go(p.At() + 10)
	case "page up":
		p.Go(p.At() - 10)
	case "g", "home":
		p.Go(0)
	case "G", "end":
		p.Go(p.Last())
	case "f":
		if !p.NextFinding() {
			b.view.status = "no step is called wrong"
		}
	case "/":
		b.typed = "/"
		b.view.status = "/"
	case "enter":
		if n, err := strconv.Atoi(number); err == nil {
			p.Go(n)
		} else if b.sought != "" {
			b.search()
		}
	case "m":
		b.view.regions = (b.view.regions + 1) % (onlyOthers + 1)
	case "v":
		b.view.values = !b.view.values
	case "?":
		b.help = !wasHelp
	case "q", "ctrl-c":
		return false
	default:
		if len(key) == 1 && key[0] >= '0' && key[0] <= '9' && len(number) < 9 {
			b.typed = number + key
			b.view.status = "to step " + b.typed
		}
	}
	return true
}

// edit takes a key while a search is being typed.
func (b *browser) edit(key string) {
	switch key {
	case "enter":
		if len(b.typed) > 1 {
			b.sought = b.typed[1:]
		}
		b.typed = ""
		if b.sought != "" {
			b.search()
		}
		return
	case "escape":
		b.typed = ""
		return
	case "backspace":
		letters := []rune(b.typed)
		b.typed = string(letters[:len(letters)-1])
	default:
		if len([]rune(key)) == 1 {
			b.typed += key
		}
	}
	b.view.status = b.typed
}

func (b *browser) search() {
	if !b.player.Find(b.sought) {
		b.view.status = fmt.Sprintf("no step has %q in it", b.sought)
	}
}

// NextFinding goes to the next step that a grader calls wrong, after the last one to the first, and reports whether
// there is one.
func (p *Player) NextFinding() bool {
	return p.goTo(func() bool { return p.At() > 0 && len(p.Findings()) > 0 })
}

// Find goes to the next step whose source line, instruction or changes contain the text, in capital or small letters,
// after the last step from the start on. It reports whether there is one.
func (p *Player) Find(text string) bool {
	text = strings.ToLower(text)
	return p.goTo(func() bool {
		step, _ := p.Step()
		words := []string{where(step), step.Source, step.Instruction, step.Note}
		for _, e := range p.Effects() {
			words = append(words, e.String())
		}
		return strings.Contains(strings.ToLower(strings.Join(words, "\n")), text)
	})
}

// goTo goes to the next position after this one for which found holds there, or stays.
func (p *Player) goTo(found func() bool) bool {
	was := p.at
	for i := range p.Last() + 1 {
		p.Go((was + 1 + i) % (p.Last() + 1))
		if found() {
			return true
		}
	}
	p.Go(was)
	return false
}

// keysOf splits what a terminal has sent into keys: letters, and names of the others.
func keysOf(input string) []string {
	named := map[string]string{
		"\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left", "\x1bOA": "up",
		"\x1bOB": "down", "\x1bOC": "right", "\x1bOD": "left",
		"\x1b[H": "home", "\x1b[F": "end", "\x1bOH": "home", "\x1bOF": "end", "\x1b[1~": "home",
		"\x1b[4~": "end", "\x1b[7~": "home", "\x1b[8~": "end",
		"\x1b[5~": "page up", "\x1b[6~": "page down", "\r": "enter", "\n": "enter", "\x7f": "backspace",
		"\b": "backspace", "\x03": "ctrl-c", "\x1b": "escape",
	}
	var keys []string
	for input != "" {
		n := 1
		switch {
		case strings.HasPrefix(input, "\x1b[") || strings.HasPrefix(input, "\x1bO"):
			for n = 2; n < len(input) && (input[n] < '@' || input[n] > '~'); n++ {
			}
			n = min(n+1, len(input))
		default:
			for i := range input {
				if i > 0 {
					n = i
					break
				}
				n = len(input)
			}
		}
		key := input[:n]
		if name := named[key]; name != "" {
			key = name
		} else if key < " " {
			key = ""
		}
		if key != "" {
			keys = append(keys, key)
		}
		input = input[n:]
	}
	return keys
}

// events waits for keys, for a new size of the terminal, and for the end of a context.
type events struct {
	signals chan os.Signal
	r, w    *os.File // a byte arrives for each of the latter two
	stop    func() bool
}

func eventsOf(ctx context.Context) (*events, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	e := &events{signals: make(chan os.Signal, 1), r: r, w: w}
	signal.Notify(e.signals, unix.SIGWINCH)
	go func() {
		for range e.signals {
			w.Write([]byte{0})
		}
	}()
	e.stop = context.AfterFunc(ctx, func() { w.Write([]byte{0}) })
	return e, nil
}

func (e *events) close() {
	e.stop()
	signal.Stop(e.signals)
	close(e.signals)
	e.w.Close()
	e.r.Close()
}

// read returns what was typed, or nothing when something else has happened. The end of the input is the key q.
func (e *events) read(in *os.File) (string, error) {
	fds := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}, {Fd: int32(e.r.Fd()), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err == nil {
			break
		} else if !errors.Is(err, unix.EINTR) {
			return "", fmt.Errorf("waiting for a key: %w", err)
		}
	}
	buffer := make([]byte, 256)
	if fds[1].Revents != 0 {
		_, err := e.r.Read(buffer)
		return "", err
	}
	n, err := unix.Read(int(in.Fd()), buffer)
	switch {
	case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
		return "", nil
	case n <= 0:
		return "q", nil
	}
	return string(buffer[:n]), nil
}
