package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// callTimeout bounds a call with one answer. A node that cannot acknowledge
	// says so within 5 s, but waits up to 30 s for the endpoint that it tests.
	callTimeout = 45 * time.Second
	// maxAnswer bounds the body of an answer, maxProblem that of an error, in bytes.
	maxAnswer  = 128 << 20
	maxProblem = 64 << 10
	// connBuffer is what is read from a connection, or written to it, at once, in
	// bytes: lists and batches are long.
	connBuffer = 32 << 10
)

// Client talks to a node of Corona; every node answers for its whole cluster.
// Its methods may be called from several goroutines. A node's refusal is a
// [*Problem], anything else that goes wrong on the way a [*CallError].
//
// No method repeats a request by itself, but for [Client.Follow], whose cursor
// makes that harmless, and those that go through a list page by page.
type Client struct {
	base      string
	token     string // empty: none
	http      *http.Client
	pagePause time.Duration // before a page is asked for again
}

// CallError says that a call did not get a node's answer: the node could not be
// reached, the connection broke, or the answer was not Corona's.
type CallError struct {
	Server string // as given to NewClient
	Err    error
}

func (e *CallError) Error() string { return e.Server + ": " + e.Err.Error() }

func (e *CallError) Unwrap() error { return e.Err }

// NewClient returns a client of the node at an http or https URL. A nil
// httpClient stands for one that connects within 10 s and follows no redirect; a
// given one must have no Timeout, which would end streams.
func NewClient(server string, httpClient *http.Client) (*Client, error) {
	u, err := url.Parse(server)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("server %q: want a URL such as http://127.0.0.1:8410", server)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("server %q: want no user, query or fragment", server)
	}
	if httpClient == nil {
		httpClient = newHTTPClient()
	}
	return &Client{base: strings.TrimRight(server, "/"), http: httpClient, pagePause: time.Second}, nil
}

// WithToken returns a client that sends a token with each request, as nodes with
// API tokens want it.
func (c *Client) WithToken(token string) (*Client, error) {
	if err := CheckToken(token); err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	with := *c
	with.token = token
	return &with, nil
}

func newHTTPClient() *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dialer.DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: callTimeout,
			MaxIdleConnsPerHost:   16,
			IdleConnTimeout:       time.Minute,
			ReadBufferSize:        connBuffer,
			WriteBufferSize:       connBuffer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call sends body, when it is not nil, as JSON and reads the answer into answer,
// when that is not nil.
func (c *Client) call(ctx context.Context, method, path string, header http.Header, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	content, err := encodeBody(body)
	if err != nil {
		return err
	}
	response, err := c.send(ctx, method, path, header, content)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if answer == nil {
		return nil
	}
	if err := decodeAnswer(response.Body, answer); err != nil {
		return &CallError{c.base, fmt.Errorf("%s %s: %w", method, path, err)}
	}
	return nil
}

func encodeBody(body any) (io.Reader, error) {
	if body == nil {
		return nil, nil
	}
	content, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return bytes.NewReader(content), nil
}

// send returns the response of a 2xx answer, whose body the caller closes.
func (c *Client) send(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	for key, values := range header {
		request.Header[key] = values
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != nil && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, &CallError{c.base, plainCause(err)}
	}
	if response.StatusCode/100 != 2 {
		defer response.Body.Close()
		return nil, readProblem(response)
	}
	return response, nil
}

// plainCause takes off what net/http wraps around the cause of a failure: the
// method and a URL that the caller names anyway.
func plainCause(err error) error {
	if wrapped, ok := err.(*url.Error); ok {
		return wrapped.Err
	}
	return err
}

func decodeAnswer(body io.Reader, answer any) error {
	content, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if len(content) > maxAnswer {
		return fmt.Errorf("answer is longer than %d bytes", maxAnswer)
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

// readProblem makes a problem of any answer that is not 2xx, so that proxies
// and strangers are reported like nodes.
func readProblem(response *http.Response) *Problem {
	content, err := io.ReadAll(io.LimitReader(response.Body, maxProblem))
	problem := &Problem{}
	mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err == nil && strings.HasSuffix(mediaType, "json") && json.Unmarshal(content, problem) == nil && problem.Title != "" {
		problem.Status = response.StatusCode
		return problem
	}
	problem = NewProblem(response.StatusCode, firstLine(content))
	problem.Title = cmp.Or(problem.Title, fmt.Sprint("Status ", response.StatusCode))
	return problem
}

func firstLine(content []byte) string {
	const most = 200
	line, _, _ := bytes.Cut(bytes.TrimSpace(content), []byte("\n"))
	if len(line) > most {
		line = line[:most]
	}
	return strings.ToValidUTF8(string(line), "")
}
