package machine

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"time"
)

// stub is a connection to the stub of qemu-user, which speaks the remote serial protocol of GDB: $text#checksum in both
// directions, each answered by + when it has arrived whole. The + for an answer goes out with the next packet: qemu
// waits for it, and a piece less is sent.
type stub struct {
	connection net.Conn
	reader     *bufio.Reader
	owed       int // answers that have had no + yet
}

// atOnce is how many bytes of packets may be sent at once. Qemu reads so many from the socket before it answers the
// first packet. If more are left, it reads these where it expects a +.
const atOnce = 256

// packet returns text as it is sent.
func packet(text string) string { return fmt.Sprintf("$%s#%02x", text, checksum([]byte(text))) }

// send sends a packet.
func (s *stub) send(text string) error { return s.write(packet(text)) }

// write sends packets, and before them each + that is owed.
func (s *stub) write(packets string) error {
	_, err := s.connection.Write([]byte(strings.Repeat("+", s.owed) + packets))
	s.owed = 0
	return err
}

// taken waits until qemu has taken the packet that was sent last.
func (s *stub) taken() error {
	_, err := s.reader.ReadSlice('+')
	return err
}

// receive returns the text of the next packet.
func (s *stub) receive() ([]byte, error) {
	if _, err := s.reader.ReadSlice('$'); err != nil { // before it stands the + for what was sent
		return nil, err
	}
	text, err := s.reader.ReadBytes('#')
	if err != nil {
		return nil, err
	}
	text = text[:len(text)-1]
	var sum [2]byte
	for i := range sum {
		if sum[i], err = s.reader.ReadByte(); err != nil {
			return nil, err
		}
	}
	if want := fmt.Sprintf("%02x", checksum(text)); want != string(sum[:]) {
		return nil, fmt.Errorf("the stub of qemu sent %q with a wrong checksum", text)
	}
	s.owed++
	if len(text) > 0 && (text[0] == 'W' || text[0] == 'X') { // qemu ends, and no packet follows
		if err := s.write(""); err != nil {
			return nil, err
		}
	}
	return unescape(text), nil
}

// within has request end within StartTimeout.
func (s *stub) within(request func() error) error {
	_ = s.connection.SetDeadline(time.Now().Add(StartTimeout))
	defer func() { _ = s.connection.SetDeadline(time.Time{}) }()
	return request()
}

// ask sends a packet and returns the answer to it, which must come within StartTimeout.
func (s *stub) ask(request string) (answer []byte, err error) {
	err = s.within(func() error {
		if err := s.send(request); err != nil {
			return err
		}
		answer, err = s.receive()
		return err
	})
	return answer, err
}

// askAll is ask for several packets, which takes much less time than to ask one by one.
func (s *stub) askAll(requests []string) (answers [][]byte, err error) {
	for len(requests) > 0 {
		packets, n := packet(requests[0]), 1
		for ; n < len(requests) && len(packets)+len(packet(requests[n])) <= atOnce; n++ {
			packets += packet(requests[n])
		}
		err := s.within(func() error {
			if err := s.write(packets); err != nil {
				return err
			}
			for i := range n {
				answer, err := s.receive()
				if err != nil {
					return err
				}
				answers = append(answers, answer)
				switch {
				case n == 1: // its + goes out with the next packet
				case i == 0: // qemu has taken all packets: each + now finds the answer that it is for
					s.owed = n
					err = s.write("")
				default:
					s.owed--
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return answers, err
		}
		requests = requests[n:]
	}
	return answers, nil
}

// order is askAll for what the stub answers by OK.
func (s *stub) order(requests ...string) error {
	answers, err := s.askAll(requests)
	for i, answer := range answers {
		if string(answer) != "OK" {
			return refusal{requests[i], string(answer)}
		}
	}
	return err
}

// value is values for one request.
func (s *stub) value(request string) ([]byte, error) {
	all, err := s.values(request)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// values is askAll for what the stub answers by bytes in hexadecimal.
func (s *stub) values(requests ...string) ([][]byte, error) {
	answers, err := s.askAll(requests)
	if err != nil {
		return nil, err
	}
	for i, answer := range answers {
		answers[i] = make([]byte, len(answer)/2)
		if _, err := hex.Decode(answers[i], answer); err != nil || len(answer) == 0 {
			return nil, refusal{requests[i], string(answer)}
		}
	}
	return answers, nil
}

// document reads what the stub calls object, as in features:read:target.xml.
func (s *stub) document(object string) ([]byte, error) {
	const piece = 0x7f0 // qemu's packets hold a little more
	var all []byte
	for {
		answer, err := s.ask(fmt.Sprintf("qXfer:%s:%x,%x", object, len(all), piece))
		if err != nil {
			return nil, err
		}
		if len(answer) == 0 || answer[0] != 'm' && answer[0] != 'l' {
			return nil, refusal{object, string(answer)}
		}
		all = append(all, answer[1:]...)
		if answer[0] == 'l' || len(answer) == 1 {
			return all, nil
		}
	}
}

// refusal is the error of a request that the stub understood and did not do.
type refusal struct{ request, answer string }

func (r refusal) Error() string {
	if r.answer == "" {
		return fmt.Sprintf("the stub of qemu does not know %q", r.request)
	}
	return fmt.Sprintf("the stub of qemu answers %q to %q", r.answer, r.request)
}

func checksum(text []byte) byte {
	var sum byte
	for _, b := range text {
		sum += b
	}
	return sum
}

// unescape undoes the escapes of binary answers: after a } stands a byte with bit 5 turned.
func unescape(text []byte) []byte {
	if bytes.IndexByte(text, '}') < 0 {
		return text
	}
	var plain []byte
	for i := 0; i < len(text); i++ {
		if text[i] == '}' && i+1 < len(text) {
			i++
			plain = append(plain, text[i]^0x20)
		} else {
			plain = append(plain, text[i])
		}
	}
	return plain
}

// stopped is what the stub says when the program stands still or has ended: the letter T, S, W or X, and a number. The
// letter F has no number: by it the program calls the debugger.
type stopped struct {
	letter byte
	number int
}

func parseStop(answer []byte) (stopped, error) {
	var s stopped
	if bytes.HasPrefix(answer, []byte("F")) {
		return stopped{letter: 'F'}, nil
	}
	head, _, _ := strings.Cut(string(answer), ";")
	if len(head) < 3 || strings.IndexByte("TSWX", head[0]) < 0 {
		return s, refusal{"wait for the program", string(answer)}
	}
	s.letter = head[0]
	_, err := fmt.Sscanf(head[1:3], "%02x", &s.number)
	return s, err
}
