package api

import (
	"encoding/hex"
	"strconv"
	"time"
)

// AppendLine appends the request as a line of POST /v1/subscriptions:batch, with
// its LF.
func (r *SubscribeRequest) AppendLine(line []byte) []byte {
	line = append(line, `{"url":`...)
	line = appendText(line, r.URL)
	line = appendSink(append(line, `,"sink":`...), &r.Sink)
	if r.Key != "" {
		line = appendText(append(line, `,"key":`...), r.Key)
	}
	if r.Once {
		line = append(line, `,"once":true`...)
	}
	return append(line, "}\n"...)
}

func appendSink(line []byte, sink *Sink) []byte {
	line = appendText(append(line, `{"type":`...), sink.Type)
	if sink.URL != "" {
		line = appendText(append(line, `,"url":`...), sink.URL)
	}
	if sink.Secret != "" {
		line = appendText(append(line, `,"secret":`...), sink.Secret)
	}
	return append(line, '}')
}

// The fields of a request and of its sink that a line has named.
const (
	requestURL = 1 << iota
	requestSink
	requestKey
	requestOnce
	sinkType
	sinkURL
	sinkSecret
)

// ScanLine sets the request to what a line of a batch says, if the line has its
// usual shape; otherwise it reports false, the request is of no use, and whether
// the line is good is for encoding/json to say. It keeps nothing of line. Strings
// of the sink that equal those of the line before are reused: most batches have one.
func (r *SubscribeRequest) ScanLine(line []byte) bool {
	s := lineScanner{rest: line}
	was := r.Sink
	*r = SubscribeRequest{}
	s.object(func(name []byte) uint {
		switch string(name) {
		case "url":
			r.URL = s.string("")
			return requestURL
		case "sink":
			r.Sink = s.sink(was)
			return requestSink
		case "key":
			r.Key = s.string("")
			return requestKey
		case "once":
			r.Once = s.word("true")
			return requestOnce * only(r.Once)
		}
		return 0
	})
	return s.end()
}

func (s *lineScanner) sink(was Sink) (sink Sink) {
	s.object(func(name []byte) uint {
		switch string(name) {
		case "type":
			sink.Type = s.string(was.Type)
			return sinkType
		case "url":
			sink.URL = s.string(was.URL)
			return sinkURL
		case "secret":
			sink.Secret = s.string(was.Secret)
			return sinkSecret
		}
		return 0
	})
	return sink
}

// AppendLine appends the result as a line of the answer, with its LF.
func (r *BatchResult) AppendLine(line []byte) []byte {
	if r.Error != nil || r.Subscription == nil || !r.usual() {
		return appendJSON(line, r)
	}
	line = appendText(append(line, `{"id":`...), r.ID)
	line = hex.AppendEncode(append(line, `,"channel":"`...), r.Channel[:])
	line = appendText(append(line, `","url":`...), r.URL)
	line = appendSink(append(line, `,"sink":`...), &r.Sink)
	line = r.Created.AppendFormat(append(line, `,"created":"`...), time.RFC3339Nano)
	line = strconv.AppendUint(append(line, `","from_version":`...), r.FromVersion, 10)
	line = appendText(append(line, `,"state":`...), r.State)
	line = strconv.AppendUint(append(line, `,"delivered_version":`...), r.DeliveredVersion, 10)
	line = append(line, `,"last_error":"","failing_since":null`...)
	if r.Existing {
		line = append(line, `,"existing":true`...)
	}
	return append(line, "}\n"...)
}

// usual reports that a subscription is as new ones are, and was made in a year
// that RFC 3339 can write.
func (s *Subscription) usual() bool {
	return s.LastError == "" && s.FailingSince == nil && s.Created.Location() == time.UTC &&
		s.Created.Year() >= 0 && s.Created.Year() < 10_000
}

// The fields of a result that a line has named.
const (
	resultID = 1 << iota
	resultChannel
	resultURL
	resultSink
	resultCreated
	resultFrom
	resultState
	resultDelivered
	resultLastError
	resultFailingSince
	resultExisting
)

// scanLine sets the result to what a line of an answer says, if it is a
// subscription in the usual shape; otherwise it reports false, as
// [SubscribeRequest.ScanLine] does. Strings of was are used again.
func (r *BatchResult) scanLine(line []byte, was *Subscription) bool {
	s := lineScanner{rest: line}
	made := &Subscription{}
	*r = BatchResult{Subscription: made}
	seen := s.object(func(name []byte) uint {
		if string(name) == "existing" {
			r.Existing = s.word("true")
			return resultExisting * only(r.Existing)
		}
		return s.subscriptionField(name, made, was)
	})
	return s.end() && seen&resultID != 0
}

func (s *lineScanner) subscriptionField(name []byte, made, was *Subscription) uint {
	switch string(name) {
	case "id":
		made.ID = s.string("")
		return resultID
	case "channel":
		text := s.text()
		if len(text) != hex.EncodedLen(len(made.Channel)) {
			return 0
		}
		_, err := hex.Decode(made.Channel[:], text)
		return resultChannel * only(err == nil)
	case "url":
		made.URL = s.string(was.URL)
		return resultURL
	case "sink":
		made.Sink = s.sink(was.Sink)
		return resultSink
	case "created":
		return resultCreated * only(made.Created.UnmarshalText(s.text()) == nil)
	case "from_version":
		made.FromVersion = s.number()
		return resultFrom
	case "state":
		made.State = s.string(was.State)
		return resultState
	case "delivered_version":
		made.DeliveredVersion = s.number()
		return resultDelivered
	case "last_error":
		made.LastError = s.string(was.LastError)
		return resultLastError
	case "failing_since":
		return resultFailingSince * only(s.word("null"))
	}
	return 0
}

// only is 1 for what is so.
func only(so bool) uint {
	if so {
		return 1
	}
	return 0
}
