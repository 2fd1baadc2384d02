package originaudit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Script says what an origin answers to a visit. It may be called concurrently.
type Script func(Visit) Answer

// Visit is a request as a script sees it.
type Visit struct {
	*Exchange     // without an answer
	Number    int // how many requests of this URL came before
}

// Answer is what an origin sends, and how.
type Answer struct {
	Said // Date and Content-Length are added to its fields unless they are there
	Body []byte

	// Before is sent before the head: interim answers.
	Before []byte

	// Raw is sent instead of a head made of Said's status and fields; the body
	// follows it. The connection ends after it.
	Raw []byte

	// Send is the manner in which head and body are sent; the connection ends after
	// it. nil: at once.
	Send Sender

	// Reset ends the connection with a reset, without what was not sent yet.
	Reset bool
}

// Sender sends an answer's bytes in a manner of its own. The context ends when the
// reader has gone away.
type Sender func(ctx context.Context, w io.Writer, whole []byte) error

// ends reports whether the connection ends with the answer.
func (a *Answer) ends() bool { return a.Send != nil || a.Raw != nil || a.Reset }

// bytes returns head and body.
func (a *Answer) bytes() []byte {
	if a.Raw != nil {
		return append(bytes.Clone(a.Raw), a.Body...)
	}
	if a.Status == 0 {
		return a.Body
	}
	var out bytes.Buffer
	out.Write(a.Before)
	fmt.Fprintf(&out, "HTTP/1.1 %d %s\r\n", a.Status, http.StatusText(a.Status))
	for _, field := range a.Fields {
		fmt.Fprintf(&out, "%s: %s\r\n", field.Name, field.Value)
	}
	out.WriteString("\r\n")
	out.Write(a.Body)
	return out.Bytes()
}

// complete adds the fields that every answer has.
func (a *Answer) complete(now time.Time) {
	if a.Status == 0 || a.Raw != nil {
		return
	}
	add := func(name, value string) {
		if len(a.Fields.Values(name)) == 0 {
			a.Fields = append(a.Fields[:len(a.Fields):len(a.Fields)], Field{name, value})
		}
	}
	add("Date", now.UTC().Format(http.TimeFormat))
	if a.Status != 304 && a.Status != 204 && a.Fields.Get("Transfer-Encoding") == "" {
		add("Content-Length", fmt.Sprint(len(a.Body)))
	}
	if a.ends() {
		add("Connection", "close")
	}
}

// Hang sends nothing and waits until the reader goes away.
func Hang(ctx context.Context, _ io.Writer, _ []byte) error {
	<-ctx.Done()
	return ctx.Err()
}

// HangAfter sends the first n bytes and then waits until the reader goes away.
func HangAfter(n int) Sender {
	return func(ctx context.Context, w io.Writer, whole []byte) error {
		if _, err := w.Write(whole[:min(n, len(whole))]); err != nil {
			return err
		}
		return Hang(ctx, w, nil)
	}
}

// Drip sends the first n bytes at once, and the rest a byte at a time.
func Drip(n int, every time.Duration) Sender {
	return func(ctx context.Context, w io.Writer, whole []byte) error {
		n := min(n, len(whole))
		if _, err := w.Write(whole[:n]); err != nil {
			return err
		}
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for _, b := range whole[n:] {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-ticker.C:
			}
			if _, err := w.Write([]byte{b}); err != nil {
				return err
			}
		}
		return nil
	}
}

// Endless sends everything and then more, over and over, until the client closes the
// connection.
func Endless(more []byte) Sender {
	block := bytes.Repeat(more, 1+4096/len(more))
	return func(ctx context.Context, w io.Writer, whole []byte) error {
		_, err := w.Write(whole)
		for err == nil && ctx.Err() == nil {
			_, err = w.Write(block)
		}
		return err
	}
}

// Late sends everything after a while.
func Late(wait time.Duration) Sender {
	return func(ctx context.Context, w io.Writer, whole []byte) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		_, err := w.Write(whole)
		return err
	}
}
