package fetcher

import (
	"context"
	"net/url"
	"slices"

	"github.com/valyala/fasthttp"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/guard"
)

// follow asks for req.URL and wherever redirects lead from there, all before one
// deadline. It returns the URL that answered, or that was being asked when it
// failed.
func (f *Fetcher) follow(ctx context.Context, req Request, resp *Response) (asked string, err error) {
	deadline := resp.Started.Add(f.config.Timeout)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(deadline) {
		deadline = earlier
	}
	var trail []string
	for asked = req.URL; ; {
		if err := f.ask(ctx, deadline, asked, req.validatorsFor(asked), resp); err != nil {
			return asked, err
		}
		if !isRedirect(resp.Status) {
			return asked, nil
		}
		trail = append(trail, asked)
		if asked, err = f.next(trail, resp.header.Peek(fasthttp.HeaderLocation)); err != nil {
			return asked, err
		}
		f.metrics.redirects.Inc()
	}
}

// isRedirect reports the statuses that are followed. The method is always GET, so
// what tells 302 from 307 does not matter here.
func isRedirect(status int) bool {
	switch status {
	case fasthttp.StatusMovedPermanently, fasthttp.StatusFound, fasthttp.StatusSeeOther,
		fasthttp.StatusTemporaryRedirect, fasthttp.StatusPermanentRedirect:
		return true
	}
	return false
}

// next returns the target of a redirect at the end of trail, if it may be asked.
// With an error it returns the URL that the redirect stands at.
func (f *Fetcher) next(trail []string, location []byte) (target string, err error) {
	last := trail[len(trail)-1]
	if len(trail) > f.config.MaxRedirects {
		return last, fail(Redirect, "more than %d redirects", f.config.MaxRedirects)
	}
	target, err = resolve(last, string(location))
	if err != nil {
		return last, err
	}
	if slices.Contains(trail, target) {
		return last, fail(Redirect, "loop back to %s", target)
	}
	if err := guard.CheckURL(target, f.config.AllowPrivate); err != nil {
		return last, fail(Forbidden, "redirect to %s: %w", target, err)
	}
	return target, nil
}

// resolve returns the canonical form of a Location, which may be relative to the
// canonical URL base (RFC 9110, section 10.2.2).
func resolve(base, location string) (canonical string, err error) {
	if location == "" {
		return "", fail(Redirect, "no Location")
	}
	if len(location) > channel.MaxURL {
		return "", fail(Redirect, "Location longer than %d bytes", channel.MaxURL)
	}
	from, err := url.Parse(base)
	if err != nil {
		return "", fail(Redirect, "%w", err)
	}
	to, err := from.Parse(location)
	if err != nil {
		return "", fail(Redirect, "Location: %w", err)
	}
	canonical, err = channel.Canonical(to.String())
	if err != nil {
		return "", fail(Redirect, "Location: %w", err)
	}
	return canonical, nil
}
