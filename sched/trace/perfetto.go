package trace

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of Perfetto's messages that are written, by message, with the numbers of protos/perfetto/trace in
// Perfetto's source.
const (
	tracePacket = 1 // of Trace

	packetTimestamp  = 8
	packetSequence   = 10 // trusted_packet_sequence_id
	packetEvent      = 11 // a TrackEvent
	packetFlags      = 13 // sequence_flags
	packetClock      = 58 // timestamp_clock_id
	packetDescriptor = 60 // a TrackDescriptor

	descriptorUUID   = 1
	descriptorName   = 2
	descriptorParent = 5

	eventNote     = 4 // a DebugAnnotation
	eventType     = 9
	eventTrack    = 11
	eventCategory = 22
	eventName     = 23
	eventFlow     = 47 // flow_ids: an arrow begins here
	eventFlowEnd  = 48 // terminating_flow_ids: it ends here

	noteText = 6
	noteName = 10
)

const (
	typeBegin, typeEnd, typeInstant = uint64(1), uint64(2), uint64(3) // of a TrackEvent

	sequence = uint64(1) // all packets are of one sequence
	cleared  = uint64(1) // flag of its first packet: nothing of a sequence before it is needed
	boottime = uint64(6) // the clock that needs no snapshot of clocks
)

// WritePerfetto writes what [Recorder.WriteTrace] writes as a trace of Perfetto's own format: packets with track
// events, in protocol buffers. It returns the error of w, and may be called while the scheduler runs.
//
// A track event's begin and end are matched by order alone: the slices of a track nest. An arrow joins two instants.
func (r *Recorder) WritePerfetto(w io.Writer) error {
	out := bufio.NewWriter(w)
	p := &perfetto{to: out}
	r.draw(p.event)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("trace: write: %w", err)
	}
	return nil
}

// perfetto writes packets. An error of to comes again when it is flushed.
type perfetto struct {
	to  *bufio.Writer
	any bool
}

// trackUUID names a track. Processes are tracks too, with the others below them; thread is 0 then.
func trackUUID(process, thread int) uint64 { return uint64(process)<<32 | uint64(thread) }

func (p *perfetto) event(e traceEvent) {
	track := trackUUID(e.PID, e.TID)
	switch e.Phase {
	case "M":
		name := e.Args["name"]
		if e.Name == "process_name" {
			p.descriptor(trackUUID(e.PID, 0), 0, name)
		} else {
			p.descriptor(track, trackUUID(e.PID, 0), name)
		}
	case "X":
		p.trackEvent(e.Start, typeBegin, track, e, 0)
		p.trackEvent(e.Start+*e.Took, typeEnd, track, traceEvent{}, 0)
	case "i":
		p.trackEvent(e.Start, typeInstant, track, e, 0)
	case "s":
		p.trackEvent(e.Start, typeInstant, track, e, eventFlow)
	case "f":
		e.Name = "wake"
		p.trackEvent(e.Start, typeInstant, track, e, eventFlowEnd)
	}
}

// descriptor names a track, below another one unless parent is 0.
func (p *perfetto) descriptor(uuid, parent uint64, name string) {
	d := add(add(nil, descriptorUUID, uuid), descriptorName, name)
	if parent != 0 {
		d = add(d, descriptorParent, parent)
	}
	p.packet(add(nil, packetDescriptor, d))
}

// trackEvent writes what happened on a track. If flow is a field, it names the arrow of e there.
func (p *perfetto) trackEvent(at microseconds, kind, track uint64, e traceEvent, flow protowire.Number) {
	t := add(add(nil, eventType, kind), eventTrack, track)
	if e.Name != "" {
		t = add(add(t, eventName, e.Name), eventCategory, e.Class)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Args)) {
		t = add(t, eventNote, add(add(nil, noteName, name), noteText, e.Args[name]))
	}
	if flow != 0 {
		t = protowire.AppendFixed64(protowire.AppendTag(t, flow, protowire.Fixed64Type), uint64(e.Arrow))
	}
	packet := add(nil, packetTimestamp, uint64(at)) // nanoseconds
	p.packet(add(add(packet, packetClock, boottime), packetEvent, t))
}

func (p *perfetto) packet(packet []byte) {
	packet = add(packet, packetSequence, sequence)
	if !p.any {
		p.any = true
		packet = add(packet, packetFlags, cleared)
	}
	p.to.Write(add(nil, tracePacket, packet))
}

// add appends a field of a message, which is a number, a text or a message.
func add(b []byte, field protowire.Number, v any) []byte {
	switch v := v.(type) {
	case uint64:
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
	case string:
		return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
	default:
		return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v.([]byte))
	}
}
