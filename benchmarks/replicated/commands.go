package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// commands is how a system is asked for a command, and how it says that it has been
// committed. Its methods may be called from any goroutine.
type commands interface {
	// request makes the body of the command with a number, which no other has.
	request(number uint64) []byte
	// path and header are the same for all.
	path() string
	header() http.Header
	// acknowledged says what was wrong with an answer whose body was read.
	acknowledged(response *http.Response, body []byte) error
}

// Sizes of a command: what is not its padding, and what a webhook's URL may have.
const (
	leastSize = subscriptionRest + 128
	mostSize  = 1024
)

// subscriptions are commands to Corona: each makes a channel and its subscription. Sink
// is the webhook's URL.
type subscriptions struct{ sink string }

const (
	channelURL = "http://feed.example/%016x"
	sinkURL    = "https://sink.example/"
	sinkSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	// subscriptionRest is the bytes of a command in the log that are not its webhook's
	// URL, when that has 128 or more: time 9, heads of the subscription and its item 6,
	// channel's ID 22, URL 38, type 9, secret 40, the webhook's field 3. The table says
	// what the nodes have measured.
	subscriptionRest = 127
)

// newSubscriptions are commands of so many bytes in the log.
func newSubscriptions(size int) subscriptions {
	pad := size - subscriptionRest - len(sinkURL)
	return subscriptions{sink: sinkURL + strings.Repeat("x", pad)}
}

// A request is the channel's URL and the webhook's, each in a line: what a node makes of
// its API's JSON is not what is compared.
func (s subscriptions) request(number uint64) []byte {
	return fmt.Appendf(nil, channelURL+"\n%s", number, s.sink)
}

func (subscriptions) path() string        { return subscribePath }
func (subscriptions) header() http.Header { return http.Header{} }

func (subscriptions) acknowledged(response *http.Response, body []byte) error {
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %.200s", response.Status, bytes.TrimSpace(body))
	}
	return nil
}

// puts are commands to etcd, as PutRequests of so many bytes.
type puts struct{ value []byte }

const (
	keyField, valueField = 1, 2 // of etcdserverpb.PutRequest
	grpcPrefix           = 5    // bytes before a message: a flag, and its length
)

// newPuts are commands of so many bytes; the keys are the channels' URLs.
func newPuts(size int) puts {
	key := len(fmt.Sprintf(channelURL, 0))
	rest := protowire.SizeTag(keyField) + protowire.SizeBytes(key) + protowire.SizeTag(valueField)
	value := size - rest - protowire.SizeVarint(uint64(size))
	return puts{value: bytes.Repeat([]byte("x"), value)}
}

func (p puts) request(number uint64) []byte {
	message := make([]byte, grpcPrefix, grpcPrefix+2*len(p.value))
	message = protowire.AppendTag(message, keyField, protowire.BytesType)
	message = protowire.AppendString(message, fmt.Sprintf(channelURL, number))
	message = protowire.AppendTag(message, valueField, protowire.BytesType)
	message = protowire.AppendBytes(message, p.value)
	binary.BigEndian.PutUint32(message[1:], uint32(len(message)-grpcPrefix))
	return message
}

func (puts) path() string { return "/etcdserverpb.KV/Put" }

func (puts) header() http.Header {
	return http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
}

// acknowledged reads gRPC's status, which is a trailer, or a header where there is no
// message.
func (puts) acknowledged(response *http.Response, body []byte) error {
	for _, fields := range []http.Header{response.Trailer, response.Header} {
		switch status := fields.Get("Grpc-Status"); status {
		case "":
		case "0":
			if len(body) < grpcPrefix {
				return errors.New("gRPC status 0 without a message")
			}
			return nil
		default:
			text, _ := url.PathUnescape(fields.Get("Grpc-Message")) // as it is, if it cannot be read
			return fmt.Errorf("gRPC status %s: %.200s", status, text)
		}
	}
	return fmt.Errorf("%s without a gRPC status", response.Status)
}

// mostAnswer bounds an answer's body, in bytes.
const mostAnswer = 64 << 10

// send sends one command and returns nil once it is committed.
func send(client *http.Client, base string, c commands, number uint64) error {
	request, err := http.NewRequest(http.MethodPost, base+c.path(), bytes.NewReader(c.request(number)))
	if err != nil {
		return err
	}
	request.Header = c.header()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return err
	}
	return c.acknowledged(response, body)
}
