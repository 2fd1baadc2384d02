package fetcher

import (
	"context"
	"time"
)

// Room is memory that is set aside for the body of one fetch. The zero value is none.
type Room struct{ resp *Response }

// Reserve waits until there is memory for a body that is known to be large, so that
// nothing is asked for that could not be taken in, and sets it aside for one fetch of a
// canonical URL. bytes is what the last one took: [Response.Memory] or [Error.Memory].
// whole says that it was taken in whole: such do not wait behind those that were not.
// It waits for as long as ctx allows, while others that hold memory and make no use of
// it lose it. An error is an [*Error]. The Room must be given to a fetch, or released.
func (f *Fetcher) Reserve(ctx context.Context, url string, bytes int64, whole bool) (Room, error) {
	a, err := parseURL(url)
	if err != nil {
		return Room{}, f.failed(ctx, url, err, nil)
	}
	from := unproven
	if whole {
		from = proven
	}
	resp := f.response()
	resp.memory.open(a.host)
	begun := time.Now()
	err = resp.memory.reserve(ctx, int(min(max(bytes, 1), f.budget.most)), from)
	f.metrics.waited.Add(time.Since(begun).Seconds())
	if err != nil {
		resp.Release()
		return Room{}, f.failed(ctx, url, err, nil)
	}
	return Room{resp}, nil
}

// Release gives back memory that is not to be used after all. A Room that was given to
// a fetch must not be released.
func (r Room) Release() {
	if r.resp != nil {
		r.resp.Release()
	}
}
