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
	typeBegin, typeEnd, typeInstant = 1, 2, 3 // of a TrackEvent

	sequence = 1 // all packets are of one sequence
	cleared  = 1 // flag of its first packet: nothing of a sequence before it is needed
	boottime = 6 // the clock that needs no snapshot of clocks
)

// WritePerfetto writes what [Recorder.WriteTrace] writes as a trace of Perfetto's own format: packets with track
// events, in protocol buffers. It returns the error of w, and may be called while the scheduler runs.
//
// A track event's begin and end are matched by order alone, so slices that do not nest have a track of their own: the
// spins of a worker, below the worker's track. An arrow leads from one instant to another.
func (r *Recorder) WritePerfetto(w io.Writer) error {
	out := bufio.NewWriter(w)
	p := &perfetto{to: out, spins: make(map[int]bool)}
	r.draw(p.event)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("trace: write: %w", err)
	}
	return nil
}

// perfetto writes packets. An error of to comes again when it is flushed.
type perfetto struct {
	to    *bufio.Writer
	any   bool
	spins map[int]bool // the workers that have a track for spins
}

// The processes of a traceEvent are 1 and 2; the tracks of spins are as those of a third.
const perfettoSpins = 3

// trackUUID names a track. Processes are tracks too, with the others below them; thread is -1 then.
func trackUUID(process, thread int) uint64 { return uint64(process)<<32 | uint64(thread+1) }

func (p *perfetto) event(e traceEvent) {
	track := trackUUID(e.PID, e.TID)
	switch e.Phase {
	case "M":
		name := e.Args["name"].(string)
		if e.Name == "process_name" {
			p.descriptor(trackUUID(e.PID, -1), 0, name)
		} else {
			p.descriptor(track, trackUUID(e.PID, -1), name)
		}
	case "X":
		if e.Class == "spin" {
			track = trackUUID(perfettoSpins, e.TID)
			if !p.spins[e.TID] {
				p.spins[e.TID] = true
				p.descriptor(track, trackUUID(e.PID, e.TID), workerName(e.TID)+" spins")
			}
		}
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
	d := number(nil, descriptorUUID, uuid)
	d = text(d, descriptorName, name)
	if parent != 0 {
		d = number(d, descriptorParent, parent)
	}
	p.packet(message(nil, packetDescriptor, d))
}

// trackEvent writes what happened on a track. If flow is a field, it names the arrow of e there.
func (p *perfetto) trackEvent(at microseconds, kind, track uint64, e traceEvent, flow protowire.Number) {
	t := number(nil, eventType, kind)
	t = number(t, eventTrack, track)
	if e.Name != "" {
		t = text(t, eventName, e.Name)
		t = text(t, eventCategory, e.Class)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Args)) {
		note := text(nil, noteName, name)
		t = message(t, eventNote, text(note, noteText, fmt.Sprint(e.Args[name])))
	}
	if flow != 0 {
		t = protowire.AppendTag(t, flow, protowire.Fixed64Type)
		t = protowire.AppendFixed64(t, uint64(e.Arrow))
	}
	packet := number(nil, packetTimestamp, uint64(at)) // nanoseconds
	packet = number(packet, packetClock, boottime)
	p.packet(message(packet, packetEvent, t))
}

func (p *perfetto) packet(packet []byte) {
	packet = number(packet, packetSequence, sequence)
	if !p.any {
		p.any = true
		packet = number(packet, packetFlags, cleared)
	}
	p.to.Write(message(nil, tracePacket, packet))
}

func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func message(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}
