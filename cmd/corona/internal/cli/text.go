package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

// Clean makes text from the Web safe to print on one line of a terminal: what
// could move the cursor, hide or reorder text becomes a visible escape.
func Clean(text string) string {
	return escape(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, text))
}

// escape is clean for text of several lines: it keeps line ends and tabs.
func escape(text string) string {
	if strings.IndexFunc(text, isUnsafe) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isUnsafe(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isUnsafe(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError ||
		r == '\u2028' || r == '\u2029'
}

// ShellWord quotes an argument for a command that people may copy.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/:.,_-+=@%", r))
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Count returns a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Number prints rates and times: without digits that say nothing.
func Number(x float64) string {
	decimals := 0
	switch {
	case x == math.Trunc(x):
	case x < 1:
		decimals = 3
	case x < 100:
		decimals = 1
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// TookText writes milliseconds.
func TookText(ms float64) string { return timespan.Seconds(ms / 1000) }

// OneLine folds a message into the one line that is promised.
func OneLine(message string) string { return Clean(strings.Join(strings.Fields(message), " ")) }

// TimeText is how people see a time; "-" for none.
func TimeText(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// Trouble is what a row says behind its URL when something is wrong.
func Trouble(lastError string, since *time.Time) string {
	if lastError == "" {
		return ""
	}
	if since != nil {
		lastError = "failing since " + TimeText(since) + ": " + lastError
	}
	return " (" + lastError + ")"
}
