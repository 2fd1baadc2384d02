package fetcher

import (
	"net/url"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/internal/guard"
)

// isRedirect reports the statuses that lead elsewhere. The method is always GET, so
// what tells 302 from 307 does not matter here.
func isRedirect(status int) bool {
	switch status {
	case fasthttp.StatusMovedPermanently, fasthttp.StatusFound, fasthttp.StatusSeeOther,
		fasthttp.StatusTemporaryRedirect, fasthttp.StatusPermanentRedirect:
		return true
	}
	return false
}

// next returns the target of the redirect that a request was answered with, if it
// may be asked.
func (f *Fetcher) next(req *Request, location []byte) (target string, err error) {
	if len(req.Trail) >= f.config.MaxRedirects {
		return "", fail(Redirect, "more than %d redirects", f.config.MaxRedirects)
	}
	target, err = resolve(req.URL, string(location))
	if err != nil {
		return "", err
	}
	if target == req.URL || slices.Contains(req.Trail, target) {
		return "", fail(Redirect, "loop back to %s", target)
	}
	if err := guard.CheckURL(target, f.config.AllowPrivate); err != nil {
		return "", fail(Forbidden, "redirect to %s: %w", target, err)
	}
	f.metrics.redirects.Inc()
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
	to, err := from.Parse(unspaced(location))
	if err != nil {
		return "", fail(Redirect, "Location: %w", err)
	}
	canonical, err = channel.Canonical(to.String())
	if err != nil {
		return "", fail(Redirect, "Location: %w", err)
	}
	return canonical, nil
}

// unspaced returns a Location without the spaces that no URL has, as browsers read it:
// those around it are none of it, those within it are escaped.
func unspaced(location string) string {
	return strings.ReplaceAll(strings.Trim(location, " \t"), " ", "%20")
}
