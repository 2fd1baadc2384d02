package api

import "net/http"

// ProblemType is the type of every problem: the HTTP status says what kind it
// is (RFC 9457, section 4.2.1), and Detail what happened.
const ProblemType = "about:blank"

// Problem is an RFC 9457 problem document: the body of every error.
type Problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"` // the status in words
	Status    int    `json:"status"`
	Detail    string `json:"detail,omitempty"`
	Field     string `json:"field,omitempty"` // the JSON field, header or query parameter that is wrong, as in "sink.url"
	Retryable bool   `json:"retryable"`       // the same request may succeed later
}

// NewProblem returns the problem of an HTTP status. Whether it is retryable
// follows from the status: those that say "not now" are.
func NewProblem(status int, detail string) *Problem {
	return &Problem{
		Type:      ProblemType,
		Title:     http.StatusText(status),
		Status:    status,
		Detail:    detail,
		Retryable: retryable(status),
	}
}

// BadField returns the 400 that names what is wrong in a request.
func BadField(field, detail string) *Problem {
	p := NewProblem(http.StatusBadRequest, detail)
	p.Field = field
	return p
}

// Error returns the title, and the field and the detail where there are any.
func (p *Problem) Error() string {
	text := p.Title
	for _, part := range []string{p.Field, p.Detail} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusInsufficientStorage:
		return true
	}
	return false
}
