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

// maxDated is how many headings of a page may have another date.
const maxDated = 32

// today reports whether a page says what base does but for dates of headings, which
// have moved on to the day of a look, as a page says that it was made today: "Update –
// March 18, 2020". That is no news. Of lists, which have entries, dates are no content
// anyway.
func (c *Core) today(base *Core, look time.Time) bool {
	if base == nil || base.Kind != c.Kind || c.Kind != KindHTML && c.Kind != KindText || look.IsZero() {
		return false
	}
	was, is := base.content, c.content
	for moved := 0; was != "" && is != ""; {
		var old, line string
		old, was, _ = strings.Cut(was, "\n")
		line, is, _ = strings.Cut(is, "\n")
		if sameText(old, line) {
			continue
		}
		if moved++; moved > maxDated || !movedOn(old, line, look) {
			return false
		}
	}
	return was == is
}

// movedOn reports a heading whose date is now that of a look. What was announced for
// another day, and is today, is not: that is news.
func movedOn(was, is string, look time.Time) bool {
	heading, date, ok := cutDate(is)
	old, from, known := cutDate(was)
	return ok && known && heading == old && isDay(date, look) && !isAhead(from, look)
}

// cutDate cuts the date out of a line that it begins or ends, apart from what else
// stands there. A date that a line says something of ("Deadline: March 18", "updated
// on March 18") is none of its day.
func cutDate(line string) (heading, date string, ok bool) {
	if len(line) > maxHeading || !hasDigit(line) || maskStamp(line) != line {
		return "", "", false
	}
	words := strings.SplitAfter(line, " ")
	first, parts := len(words), datePart(0)
	for first > 0 && parts.take(words[first-1]) {
		if first--; words[first][0] == '(' {
			break
		}
	}
	if head := strings.Join(words[:first], ""); first < len(words) && (endsApart(head) || words[first][0] == '(') {
		return head + mask, strings.Join(words[first:], ""), true
	}
	last, parts := 0, datePart(0)
	for last < len(words) && parts.take(words[last]) {
		last++
	}
	if tail := strings.Join(words[last:], ""); last > 0 && beginsApart(tail) {
		return mask + " " + tail, strings.Join(words[:last], ""), true
	}
	return "", "", false
}

// datePart is what a word says of a date, or several do.
type datePart uint8

const (
	partDay datePart = 1 << iota
	partYear
	partTime
	partWord // a month, a weekday, a zone, …
)

// take takes in a word that belongs to a date which has the parts taken so far. A
// number that it has already is another one: a count, a score, a version.
func (p *datePart) take(word string) bool {
	part := partOf(bareWord(word))
	if part == 0 || *p&part&^partWord != 0 {
		return false
	}
	*p |= part
	return true
}

func partOf(word string) datePart {
	if dateWords[word] {
		return partWord
	}
	if _, ok := numericDate(word); ok {
		return partDay | partYear
	}
	switch number, digits := dayNumber(word); {
	case isTime(word):
		return partTime
	case number > 0 && digits <= 2:
		return partDay
	case digits == 4:
		return partYear
	}
	return 0
}

// dayNumber returns a number, which may be an ordinal, and how many digits it has; 0 if
// the word is none.
func dayNumber(word string) (number, digits int) {
	for _, end := range [...]string{"st", "nd", "rd", "th"} {
		word = strings.TrimSuffix(word, end)
	}
	if strings.Trim(word, "0123456789") != "" {
		return 0, 0
	}
	number, _ = strconv.Atoi(word)
	return number, len(word)
}

// isTime reports a time of day: 9am, 14:05, 9:30:00.5pm.
func isTime(word string) bool {
	half := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(word, "z"), "am"), "pm")
	hour, rest, exact := strings.Cut(half, ":")
	if _, digits := dayNumber(hour); digits == 0 || digits > 2 {
		return false
	}
	return exact && len(rest) >= 2 && strings.Trim(rest, "0123456789:.") == "" || !exact && half != word
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
	for _, day := range daysOf(date, look) {
		for _, hours := range [...]time.Duration{-36, -12, 0, 14} {
			if day.Equal(dayOf(look.Add(hours * time.Hour))) {
				return true
			}
		}
	}
	return false
}

// isAhead reports whether a date is later than a look, wherever on Earth.
func isAhead(date string, look time.Time) bool {
	days := daysOf(date, look)
	for _, day := range days {
		if !day.After(dayOf(look.Add(14 * time.Hour))) {
			return false
		}
	}
	return len(days) > 0
}

// dayOf returns the beginning of the day.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// daysOf returns the days that a date may mean. One without a year is the nearest to
// the look.
func daysOf(date string, look time.Time) []time.Time {
	var year, month, day int
	for word := range strings.FieldsSeq(date) {
		word = bareWord(word)
		if days, ok := numericDate(word); ok {
			return days
		}
		switch number, digits := dayNumber(word); {
		case digits == 4:
			year = number
		case digits > 0 && digits <= 2:
			day = number
		case len(word) >= 3 && month == 0:
			month = monthOf(word)
		}
	}
	if month == 0 || day == 0 {
		return nil
	}
	if year > 0 {
		return dates([3]int{year, month, day})
	}
	nearest := time.Date(look.UTC().Year(), time.Month(month), day, 0, 0, 0, 0, time.UTC)
	for _, years := range [...]int{-1, 1} {
		if other := nearest.AddDate(years, 0, 0); other.Sub(look).Abs() < nearest.Sub(look).Abs() {
			nearest = other
		}
	}
	return []time.Time{nearest}
}

// monthOf returns the month that a word begins the name of, 0 if there is none.
func monthOf(word string) int {
	for month := time.January; month <= time.December; month++ {
		if strings.HasPrefix(strings.ToLower(month.String()), strings.TrimSuffix(word, "t")) {
			return int(month)
		}
	}
	return 0
}

// numericDate returns the days that a date in digits may mean: its year stands first
// or last, and if last, day and month in whatever order.
func numericDate(date string) (days []time.Time, ok bool) {
	date, clock, timed := strings.Cut(date, "t")
	parts := strings.FieldsFunc(date, func(r rune) bool { return strings.ContainsRune("-./", r) })
	if len(parts) != 3 || timed && !isTime(clock) {
		return nil, false
	}
	var n, length [3]int
	for i, part := range parts {
		if n[i], length[i] = dayNumber(part); length[i] == 0 {
			return nil, false
		}
	}
	switch {
	case length[0] == 4 && length[1] <= 2 && length[2] <= 2:
		days = dates([3]int{n[0], n[1], n[2]})
	case length[2] == 4 && length[0] <= 2 && length[1] <= 2:
		days = dates([3]int{n[2], n[0], n[1]}, [3]int{n[2], n[1], n[0]})
	}
	return days, len(days) > 0
}

// dates returns those days, given as year, month and day, that there are.
func dates(given ...[3]int) (days []time.Time) {
	for _, g := range given {
		day := time.Date(g[0], time.Month(g[1]), g[2], 0, 0, 0, 0, time.UTC)
		if int(day.Month()) == g[1] && day.Day() == g[2] {
			days = append(days, day)
		}
	}
	return days
}
