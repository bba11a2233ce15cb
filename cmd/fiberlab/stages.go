package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// readTask reads files, each time the next one that no lane has begun. It waits at the gate first, and after
// each file it lets the other fibers of its worker go first. The reading itself blocks the worker's thread.
func (p *pipeline) readTask(ctx context.Context, l *lane) error {
	defer l.chunks.Close()
	if err := p.gate.WaitContext(ctx); err != nil {
		return err
	}
	var buffers chunkBuffers
	for {
		i := int(p.nextFile.Add(1)) - 1
		if i >= len(p.files) {
			return nil
		}
		if err := p.readFile(ctx, l, i, &buffers); err != nil {
			return err
		}
		sched.Yield()
	}
}

// readFile hands on the file of index i. It returns ctx's error if that is over. An error of the file
// ends the file, not the work.
func (p *pipeline) readFile(ctx context.Context, l *lane, i int, buffers *chunkBuffers) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := p.open(p.files[i].path)
	if err != nil {
		p.failed(i, err)
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
				p.failed(i, end)
			}
			return l.chunks.SendContext(ctx, chunk{file: i, last: true})
		}
	}
	return ctx.Err()
}

func (p *pipeline) failed(file int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally.failures[file] = err
}

// chunkBuffers is what a lane's chunks lie in, in turn: as many as can be in the channel, one that is being
// filled and one that is being split.
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

// splitTask cuts a lane's chunks into words, and hands each to the task that counts it.
func (p *pipeline) splitTask(ctx context.Context, l *lane) error {
	var s splitter
	held := make([]*batch, len(p.batches))
	for {
		c, err := p.nextChunk(ctx, l, held)
		if errors.Is(err, fibersync.ErrClosedChannel) {
			return p.handOnAll(ctx, held)
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
				if err := p.handOn(ctx, held, shard); err != nil {
					return err
				}
			}
		}
		p.tally.perFile[c.file] += words
	}
}

// nextChunk receives a lane's next chunk. If it has to wait it does so with a deadline; if no chunk has come
// by then, it hands on the words that are held back.
func (p *pipeline) nextChunk(ctx context.Context, l *lane, held []*batch) (chunk, error) {
	if l.chunks.Len() == 0 && holdsAny(held) {
		patience, cancel := context.WithTimeout(ctx, linger)
		c, err := l.chunks.ReceiveContext(patience)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			return c, err
		}
		if err := p.handOnAll(ctx, held); err != nil {
			return chunk{}, err
		}
	}
	return l.chunks.ReceiveContext(ctx)
}

func holdsAny(held []*batch) bool {
	return slices.ContainsFunc(held, func(b *batch) bool { return b != nil })
}

// handOn gives the words of one shard that are held back to the task that counts them.
func (p *pipeline) handOn(ctx context.Context, held []*batch, shard int) error {
	full := held[shard]
	held[shard] = nil
	return p.batches[shard].SendContext(ctx, full)
}

// handOnAll is handOn of all shards of which words are held back.
func (p *pipeline) handOnAll(ctx context.Context, held []*batch) error {
	for shard, b := range held {
		if b == nil {
			continue
		}
		if err := p.handOn(ctx, held, shard); err != nil {
			return err
		}
	}
	return nil
}

// countTask counts the words of one shard. But first the task of the first shard opens the gate.
func (p *pipeline) countTask(ctx context.Context, shard int) {
	if shard == 0 {
		p.openGate(ctx)
	}
	for b := range p.batches[shard].All() {
		start := uint32(0)
		for _, end := range b.ends {
			p.tally.shards[shard].add(b.text[start:end])
			start = end
		}
	}
}

// openGate opens the gate as soon as all other tasks are seen blocked at once: the read tasks at the gate,
// the split tasks for chunks, the other count tasks for batches, the clock until its next tick.
func (p *pipeline) openGate(ctx context.Context) {
	for p.activity.blocked < p.activity.tasks-1 && ctx.Err() == nil {
		sched.Yield()
		p.activity.blocked = p.sched.Stats().Blocked
	}
	p.gate.CountDown()
	sched.AddMark("all are blocked: the gate opens")
}
