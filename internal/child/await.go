package child

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

const (
	askEvery    = 100 * time.Millisecond
	askWithin   = 10 * time.Second // of a node that takes a connection and does not answer
	startWithin = 2 * time.Minute
)

// Await asks until it is so, or until the time is over or one of the processes has
// ended, which are errors.
func Await(ctx context.Context, what string, within time.Duration, so func() (bool, error), processes ...*Process) error {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for begun := time.Now(); time.Since(begun) < within; {
		if ok, err := so(); ok || err != nil {
			return err
		}
		for _, process := range processes {
			if err := process.Alive(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	err := fmt.Errorf("waited %s for %s", within, what)
	for _, process := range processes {
		err = fmt.Errorf("%w; the end of %s:\n%s", err, process.LogName(), process.LogTail())
	}
	return err
}

// AwaitURL waits until a URL of a process answers 200.
func AwaitURL(ctx context.Context, url string, process *Process) error {
	return Await(ctx, url, startWithin, func() (bool, error) { return answers(ctx, url), nil }, process)
}

func answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false // not yet
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}
