package loadgen

import (
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/seed-91e7e7c1/corona/internal/originaudit"
)

// exchange returns a request, and its answer so far, as an audit reads it.
func exchange(ctx *fasthttp.RequestCtx, arrived, answered time.Time) originaudit.Exchange {
	header := &ctx.Request.Header
	e := originaudit.Exchange{
		Host: ctx.LocalAddr().String(), Method: string(header.Method()), Target: string(header.RequestURI()), Proto: string(header.Protocol()),
		Reused: ctx.ConnRequestNum() > 1, Arrived: arrived, Answered: answered,
	}
	for line := range strings.SplitSeq(string(header.RawHeaders()), "\r\n") {
		if name, value, found := strings.Cut(line, ":"); found {
			e.Fields = append(e.Fields, originaudit.Field{Name: name, Value: strings.Trim(value, " \t")})
		}
	}
	e.Said.Status = ctx.Response.StatusCode()
	dated := false
	for name, value := range ctx.Response.Header.All() {
		e.Said.Fields = append(e.Said.Fields, originaudit.Field{Name: string(name), Value: string(value)})
		dated = dated || string(name) == "Date"
	}
	if !dated { // the server adds it
		e.Said.Fields = append(e.Said.Fields, originaudit.Field{Name: "Date", Value: answered.UTC().Format(http.TimeFormat)})
	}
	return e
}
