package originaudit

import (
	"net/http"
	"sync"
	"time"
)

// Status answers with a status, fields and a short page.
func Status(status int, fields ...Field) Script {
	return func(Visit) Answer {
		return Answer{Said: Said{Status: status, Fields: fields}, Body: []byte("<p>" + http.StatusText(status) + "</p>\n")}
	}
}

// Refusal answers with a status and a Retry-After; none if it is empty.
func Refusal(status int, retryAfter string) Script {
	if retryAfter == "" {
		return Status(status)
	}
	return Status(status, Field{"Retry-After", retryAfter})
}

// The three forms of a date that are valid in HTTP (RFC 9110, section 5.6.7).
const (
	DateIMF     = http.TimeFormat
	DateRFC850  = "Monday, 02-Jan-06 15:04:05 GMT"
	DateAsctime = time.ANSIC
)

// RefusalUntil answers with a status and a Retry-After that is a date so long from
// the answer.
func RefusalUntil(status int, form string, wait time.Duration) Script {
	return func(v Visit) Answer {
		return Refusal(status, time.Now().Add(wait).UTC().Format(form))(v)
	}
}

// Redirect answers with a status and where to go.
func Redirect(status int, location string) Script {
	return Status(status, Field{"Location", location})
}

// InTurn plays each script once, and the last one for ever. It counts its own
// visits.
func InTurn(scripts ...Script) Script {
	var mu sync.Mutex
	next := 0
	return func(v Visit) Answer {
		mu.Lock()
		script := scripts[min(next, len(scripts)-1)]
		next++
		mu.Unlock()
		return script(v)
	}
}

// Raw answers with bytes as they are and ends the connection.
func Raw(raw string) Script {
	return func(Visit) Answer { return Answer{Said: Said{Doubtful: true}, Raw: []byte(raw)} }
}

// Hinted sends an interim answer (103) before a script's own.
func Hinted(script Script) Script {
	return func(v Visit) Answer {
		answer := script(v)
		answer.Before = []byte("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
		return answer
	}
}
