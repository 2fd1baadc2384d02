package originaudit

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"time"
)

// Row is something that an origin may do to a reader, by its number in the table
// of what must be survived. No row brings content that a reader should take.
type Row struct {
	Number int
	Name   string
	Play   Script
}

// Rows are the rows that a connection can show which was accepted: not names,
// addresses and certificates (14 to 17).
func Rows() []Row {
	return append(append(codings(), framings()...), manners()...)
}

// okay is the beginning of a head whose validators must never come back.
const okay = "HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\nETag: \"bad\"\r\n"

func codings() []Row {
	const zeros = 16 << 20 // twice what a reader should read
	bomb := zipped(make([]byte, zeros))
	feed := new(Document).body(0)
	return []Row{
		{1, "gzip bomb", coded("gzip", bomb)},
		{2, "gzip in gzip", coded("gzip", zipped(zipped(feed)))},
		{2, "two codings", coded("gzip, gzip", zipped(zipped(feed)))},
		{2, "gzip undeclared", coded("identity", zipped(feed))},
		{2, "not gzip", coded("gzip", feed)},
		{2, "unknown coding", coded("compress", feed)},
		{2, "half a gzip", coded("gzip", zipped(feed)[:40])},
	}
}

func framings() []Row {
	return []Row{
		{3, "Content-Length 9e18", hanging(okay + "Content-Length: 9000000000000000000\r\n\r\n")},
		{8, "short body", Raw(okay + "Content-Length: 1000\r\n\r\n<rss")},
		{8, "reset in the body", reset(okay + "Content-Length: 1000\r\n\r\n<rss")},
		{8, "reset instead of an answer", reset("")},
		{8, "end between chunks", Raw(okay + "Transfer-Encoding: chunked\r\n\r\n4\r\n<rss\r\n")},
		{10, "both framings", Raw(okay + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
		{10, "two lengths", Raw(okay + "Content-Length: 4\r\nContent-Length: 5\r\n\r\n<rss>")},
		{11, "chunk size of letters", Raw(okay + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n")},
		{11, "negative chunk size", Raw(okay + "Transfer-Encoding: chunked\r\n\r\n-1\r\n")},
		{11, "chunk size of 20 digits", Raw(okay + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff0\r\n")},
		{12, "101", Raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")},
		{19, "304 unasked", Status(304, Field{"ETag", `"bad"`})},
	}
}

func manners() []Row {
	slowly := Drip(0, time.Second)
	return []Row{
		{4, "endless chunks", sent(okay+"Transfer-Encoding: chunked\r\n\r\n", Endless([]byte("10\r\n<item>0000</item\r\n")))},
		{4, "endless body", sent(okay+"\r\n<rss>", Endless([]byte("<item></item>")))},
		{5, "head at a byte a second", sent(okay+"Content-Length: 4\r\n\r\n<rss", slowly)},
		{6, "body at a byte a second", sent(okay+"Content-Length: 1000\r\n\r\n"+strings.Repeat(" ", 1000), Drip(len(okay)+24, time.Second))},
		{7, "never answers", sent("", Hang)},
		{9, "endless head", sent(okay, Endless([]byte("X-Filler: "+strings.Repeat("x", 1000)+"\r\n")))},
		{12, "endless 100", sent("", Endless([]byte("HTTP/1.1 100 Continue\r\n\r\n")))},
		{12, "endless 103", sent("", Endless([]byte("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n")))},
		{13, "redirect to itself", func(v Visit) Answer { return Redirect(302, v.Target)(v) }},
	}
}

// coded answers with a declared content coding.
func coded(coding string, body []byte) Script {
	return func(Visit) Answer {
		return Answer{Said: Said{Doubtful: true}, Body: body,
			Raw: fmt.Appendf(nil, "%sContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n", okay, coding, len(body))}
	}
}

func hanging(raw string) Script { return sent(raw, HangAfter(len(raw))) }

func reset(raw string) Script {
	return func(Visit) Answer { return Answer{Said: Said{Doubtful: true}, Raw: []byte(raw), Reset: true} }
}

// sent answers with bytes as they are, in a manner.
func sent(raw string, manner Sender) Script {
	return func(Visit) Answer { return Answer{Said: Said{Doubtful: true}, Raw: []byte(raw), Send: manner} }
}

func zipped(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		panic("a buffer takes everything: " + err.Error())
	}
	if err := w.Close(); err != nil {
		panic("a buffer takes everything: " + err.Error())
	}
	return out.Bytes()
}
