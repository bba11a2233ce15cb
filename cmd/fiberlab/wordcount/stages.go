package wordcount

import (
	"context"
	"errors"
	"io"
	"slices"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// readTask reads files, each time the next file that no lane has taken. It waits at the gate first. After each file it
// lets the other fibers of its worker run. A read by package os blocks the worker's thread, a read by an engine the
// fiber alone.
func (p *pipeline) readTask(ctx context.Context, l *lane) error {
	defer l.chunks.Close()
	if err := p.gate.WaitContext(ctx); err != nil {
		return err
	}
	var buffers chunkBuffers
	for {
		i := int(p.nextFile.Add(1)) - 1
		if i >= len(p.result.Files) {
			return nil
		}
		if err := p.readFile(ctx, l, i, &buffers); err != nil {
			return err
		}
		sched.Yield()
	}
}

// readFile sends the chunks of file i. It returns an error only if ctx is done: an error of the file ends
// the file, not the work.
func (p *pipeline) readFile(ctx context.Context, l *lane, i int, buffers *chunkBuffers) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	file := &p.result.Files[i]
	f, err := p.open(file.Path)
	if err != nil {
		file.Err = err
		return nil
	}
	defer f.Close()
	buffer := buffers.next()
	for ctx.Err() == nil {
		n, end := f.Read(buffer)
		l.bytes.Add(int64(n))
		if n > 0 {
			if err := l.chunks.SendContext(ctx, chunk{file: i, data: buffer[:n]}); err != nil {
				return err
			}
			buffer = buffers.next()
		}
		if end != nil {
			if end != io.EOF {
				file.Err = end
			}
			return l.chunks.SendContext(ctx, chunk{file: i, last: true})
		}
	}
	return ctx.Err()
}

// chunkBuffers are the buffers of a lane's chunks, used in turn: one for each chunk in the channel, one
// that is being filled and one that is being split.
type chunkBuffers struct {
	buffers [chunksAhead + 2][]byte
	turn    int
}

func (b *chunkBuffers) next() []byte {
	b.turn = (b.turn + 1) % len(b.buffers)
	if b.buffers[b.turn] == nil {
		b.buffers[b.turn] = make([]byte, chunkSize)
	}
	return b.buffers[b.turn]
}

// splitTask cuts a lane's chunks into words, and sends each word to the task that counts it.
func (p *pipeline) splitTask(ctx context.Context, l *lane) error {
	var s splitter
	held := make([]*batch, len(p.batches))
	for {
		c, err := p.nextChunk(ctx, l, held)
		if errors.Is(err, fibersync.ErrClosed) {
			return p.sendAll(ctx, held)
		}
		if err != nil {
			return err
		}
		s.feed(c.data)
		words := 0
		for word := s.next(c.last); word != nil; word = s.next(c.last) {
			words++
			shard := shardOf(word, len(held))
			b := held[shard]
			if b == nil {
				b = &batch{text: make([]byte, 0, batchSize+batchSize/8), ends: make([]uint32, 0, batchSize/8)}
				held[shard] = b
			}
			b.text = append(b.text, word...)
			b.ends = append(b.ends, uint32(len(b.text)))
			if len(b.text) >= batchSize {
				if err := p.send(ctx, held, shard); err != nil {
					return err
				}
			}
		}
		p.result.Files[c.file].Words += words
	}
}

// nextChunk receives a lane's next chunk. If words are held back, it waits with a deadline; when that has
// passed, it sends them and waits without one.
func (p *pipeline) nextChunk(ctx context.Context, l *lane, held []*batch) (chunk, error) {
	if l.chunks.Len() == 0 && holdsAny(held) {
		soon, cancel := context.WithTimeout(ctx, linger)
		c, err := l.chunks.ReceiveContext(soon)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			return c, err
		}
		if err := p.sendAll(ctx, held); err != nil {
			return chunk{}, err
		}
	}
	return l.chunks.ReceiveContext(ctx)
}

func holdsAny(held []*batch) bool {
	return slices.ContainsFunc(held, func(b *batch) bool { return b != nil })
}

// send sends the words of one shard that are held back to the task that counts them.
func (p *pipeline) send(ctx context.Context, held []*batch, shard int) error {
	full := held[shard]
	held[shard] = nil
	return p.batches[shard].SendContext(ctx, full)
}

// sendAll sends all words that are held back.
func (p *pipeline) sendAll(ctx context.Context, held []*batch) error {
	for shard, b := range held {
		if b == nil {
			continue
		}
		if err := p.send(ctx, held, shard); err != nil {
			return err
		}
	}
	return nil
}

// countTask counts the words of one shard. The task of the first shard opens the gate before that.
func (p *pipeline) countTask(ctx context.Context, shard int) error {
	if shard == 0 {
		p.openGate(ctx)
	}
	for b := range p.batches[shard].All() {
		start := uint32(0)
		for _, end := range b.ends {
			p.result.shards[shard].add(b.text[start:end])
			start = end
		}
	}
	return nil
}

// openGate opens the gate as soon as all other tasks are blocked at once. Then the read tasks wait at the
// gate, the split tasks for chunks, the other count tasks for batches, and the clock for its next tick.
func (p *pipeline) openGate(ctx context.Context) {
	for p.result.Blocked < p.result.Tasks-1 && ctx.Err() == nil {
		sched.Yield()
		p.result.Blocked = p.scheduler.Stats().Blocked
	}
	p.gate.CountDown()
	sched.AddMark("all are blocked: the gate opens")
}

// clockTask adds up the progress, once each tick and once at the end.
func (p *pipeline) clockTask() error {
	for !p.counted.WaitFor(tick) {
		p.addUp()
	}
	p.addUp()
	return nil
}

// addUp stores the number of bytes that the lanes have read.
func (p *pipeline) addUp() {
	if p.progress == nil {
		return
	}
	sum := int64(0)
	for _, l := range p.lanes {
		sum += l.bytes.Load()
	}
	p.progress.Store(sum)
}
