package run

import (
	"context"
	"errors"
	"sync"
)

// background is what runs beside the phases, until it is stopped.
type background struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	mu      struct {
		sync.Mutex
		err error
	}
}

func newBackground() *background {
	b := new(background)
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// run starts a loop, which ends with the context that it is given.
func (b *background) run(loop func(context.Context) error) {
	b.running.Go(func() {
		if err := loop(b.ctx); err != nil && b.ctx.Err() == nil {
			b.mu.Lock()
			b.mu.err = errors.Join(b.mu.err, err)
			b.mu.Unlock()
		}
	})
}

// failed returns why loops have ended by themselves; nil when none has.
func (b *background) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.err
}

// stop ends all loops and waits for them.
func (b *background) stop() error {
	b.cancel()
	b.running.Wait()
	return nil
}
