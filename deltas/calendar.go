package deltas

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxHeading is the length in bytes of the longest line that is taken for a heading
// with a date, or for a calendar.
const maxHeading = 120

// today returns next with the dates of base's headings where next has the day of a
// look there, as a page says that it was made today: "Update – March 18, 2020". That
// this date moved is no news. It is next itself if there is none. Of lists, which
// have entries, dates are no content anyway.
func (c *Core) today(base *Core, day time.Time) *Core {
	if base == nil || base.Kind != c.Kind || c.Kind != KindHTML && c.Kind != KindText || day.IsZero() {
		return c
	}
	gone, come := new(ticks).differing(base.content, c.content)
	was := make(map[string]string)
	for _, line := range gone {
		if heading, _, ok := cutDate(line.text); ok {
			was[heading] = line.text
		}
	}
	stood := make(map[string]string) // what base has instead of a line
	for _, line := range come {
		if heading, date, ok := cutDate(line.text); ok && was[heading] != "" && isDay(date, day) {
			stood[line.text] = was[heading]
		}
	}
	if len(stood) == 0 {
		return c
	}
	text := make([]byte, 0, len(c.Text))
	for line := range strings.Lines(c.content) {
		line = strings.TrimSuffix(line, "\n")
		if old, ok := stood[line]; ok {
			line = old
		}
		text = append(append(text, line...), '\n')
	}
	seen, err := ParseCore(append(text, c.Text[len(c.content):]...))
	if err != nil {
		return c
	}
	return seen
}

// cutDate cuts the date out of a line that it begins or ends, apart from what else
// stands there. A date that a line says something of ("Deadline: March 18", "updated
// on March 18") is none of its day.
func cutDate(line string) (heading, date string, ok bool) {
	if len(line) > maxHeading || !hasDigit(line) || maskStamp(line) != line {
		return "", "", false
	}
	words := strings.SplitAfter(line, " ")
	first := len(words)
	for first > 0 && isDatePart(words[first-1]) {
		first--
	}
	if head := strings.Join(words[:first], ""); first < len(words) && (endsApart(head) || words[first][0] == '(') {
		return head + mask, strings.Join(words[first:], ""), true
	}
	last := 0
	for last < len(words) && isDatePart(words[last]) {
		last++
	}
	if tail := strings.Join(words[last:], ""); last > 0 && beginsApart(tail) {
		return mask + " " + tail, strings.Join(words[:last], ""), true
	}
	return "", "", false
}

// isDatePart reports a word that dates and times are made of.
func isDatePart(word string) bool {
	word = bareWord(word)
	if dateWords[word] {
		return true
	}
	for _, end := range [...]string{"st", "nd", "rd", "th", "am", "pm", "z"} {
		word = strings.TrimSuffix(word, end)
	}
	return word != "" && strings.Trim(word, "0123456789.:/-t") == "" && isDigit(word[0])
}

// apart is what headings part dates with from what else they say. A | parts cells.
const apart = "–—-·•,("

func endsApart(head string) bool {
	head = strings.TrimSpace(strings.TrimPrefix(head, titleLabel))
	r, _ := utf8.DecodeLastRuneInString(head)
	return head == "" || strings.ContainsRune(apart, r) || strings.HasPrefix(strings.ToLower(head), "today")
}

func beginsApart(tail string) bool {
	r, _ := utf8.DecodeRuneInString(tail)
	return strings.ContainsRune(apart, r)
}

// isDay reports whether a date is that of a look, somewhere on Earth, or of the day
// before, for what is made once a day.
func isDay(date string, look time.Time) bool {
	for _, hours := range [...]time.Duration{-36, -12, 0, 14} {
		if names(date, look.UTC().Add(hours*time.Hour)) {
			return true
		}
	}
	return false
}

// names reports whether a date says that day.
func names(date string, day time.Time) bool {
	year, month, number := strconv.Itoa(day.Year()), strings.ToLower(day.Month().String()), strconv.Itoa(day.Day())
	saysMonth, saysDay, otherYear := false, false, false
	for word := range strings.FieldsSeq(date) {
		word = bareWord(word)
		if numeric(word, year, strconv.Itoa(int(day.Month())), number) {
			return true
		}
		saysMonth = saysMonth || len(word) >= 3 && strings.HasPrefix(month, strings.TrimSuffix(word, "t"))
		digits := strings.TrimRight(word, "stndrh")
		saysDay = saysDay || strings.TrimPrefix(digits, "0") == number
		otherYear = otherYear || len(digits) == 4 && strings.Trim(digits, "0123456789") == "" && digits != year
	}
	return saysMonth && saysDay && !otherYear
}

// numeric reports whether a date in digits, in whatever order, says that day.
func numeric(date, year, month, day string) bool {
	date, _, _ = strings.Cut(date, "t")
	parts := strings.FieldsFunc(date, func(r rune) bool { return strings.ContainsRune("-./", r) })
	if len(parts) != 3 {
		return false
	}
	for i := range parts {
		parts[i] = strings.TrimPrefix(parts[i], "0")
	}
	switch {
	case parts[0] == year:
		return parts[1] == month && parts[2] == day
	case parts[2] == year:
		return parts[0] == month && parts[1] == day || parts[0] == day && parts[1] == month
	}
	return false
}
