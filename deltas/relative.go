package deltas

import "strings"

// mask stands where something was that changes by itself.
const mask = "…"

// longAgo is what relative times are masked by.
const longAgo = mask + " ago"

// maskTimes replaces how long ago something was ("2 hours, 5 minutes ago", "just
// now") in a line, which changes at every look by itself. Other dates and digits
// may be the news and stay.
func maskTimes(line string) string {
	if strings.Contains(line, " ago") {
		line = maskBefore(line, " ago")
	}
	if strings.Contains(line, "ust now") {
		line = strings.ReplaceAll(strings.ReplaceAll(line, "just now", longAgo), "Just now", longAgo)
	}
	if len(line) > maxLabel || !hasDigit(line) {
		return line
	}
	for _, ago := range agoBehind {
		if strings.Contains(line, ago) {
			line = maskBefore(line, ago)
		}
	}
	for _, ago := range agoBefore {
		if strings.Contains(line, ago[1:]) {
			line = maskBehind(line, ago)
		}
	}
	return line
}

// maxLabel is the length in bytes of the longest line in which the words of other
// languages are looked for: to look takes time, and labels are short.
const maxLabel = 80

// What stands behind and before the time that has passed, in some languages.
var (
	agoBehind = [...]string{" geleden", " назад", "前"}
	agoBefore = [...]string{"vor ", "il y a ", "hace "} // their first letter in either case
)

var (
	timeUnits = set("s", "sec", "second", "m", "min", "minute", "h", "hr", "hour", "d", "day", "week", "month", "mo", "year", "yr", "moment",
		"sekunde", "sekunden", "minuten", "stunde", "stunden", "tag", "tagen", "woche", "wochen", "monat", "monaten", "jahr", "jahren",
		"seconde", "heure", "jour", "semaine", "mois", "an", "segundo", "minuto", "hora", "día", "semana", "mes", "mese", "año",
		"seconden", "minuut", "uur", "dag", "dagen", "weken", "maand", "maanden", "jaar",
		"секунду", "секунды", "секунд", "минуту", "минуты", "минут", "час", "часа", "часов", "день", "дня", "дней", "неделю", "недели", "недель",
		"месяц", "месяца", "месяцев", "год", "года", "лет",
		"秒", "秒钟", "分", "分钟", "小时", "時間", "天", "日", "周", "週間", "个月", "か月", "年")
	fewWords = set("a", "an", "one", "few")
	// hedges may stand before a time.
	hedges = set("about", "almost", "around", "nearly", "over", "a", "than", "less", "more")
)

// maskBefore masks the times that stand before ago.
func maskBefore(line, ago string) string {
	var b strings.Builder
	for {
		at := strings.Index(line, ago)
		if at < 0 {
			break
		}
		end := at + len(ago)
		if head, ok := cutSpan(line[:at]); ok && endsAgo(ago, line[end:]) {
			b.WriteString(head + mask + ago)
		} else {
			b.WriteString(line[:end])
		}
		line = line[end:]
	}
	b.WriteString(line)
	return b.String()
}

// endsAgo reports whether what follows leaves ago the word that it is. 前後 is around a
// time, 前まで until one.
func endsAgo(ago, rest string) bool {
	if ago == "前" {
		return !strings.HasPrefix(rest, "後") && !strings.HasPrefix(rest, "ま")
	}
	return !continuesWord(rest)
}

// maskBehind masks the times that stand behind ago.
func maskBehind(line, ago string) string {
	var b strings.Builder
	for {
		at := strings.Index(line, ago[1:])
		if at < 0 {
			break
		}
		head, rest := line[:at], line[at+len(ago)-1:]
		b.WriteString(line[:len(line)-len(rest)])
		line = rest
		count, rest := cutFirstWord(line)
		unit, rest := cutFirstWord(strings.TrimPrefix(rest, " "))
		if endsWith(head, ago[0]) && isCount(count) && isUnit(unit) {
			b.WriteString(mask)
			line = rest
		}
	}
	b.WriteString(line)
	return b.String()
}

// endsWith reports whether s ends in a letter, in either case, that begins a word.
func endsWith(s string, letter byte) bool {
	n := len(s) - 1
	return n >= 0 && s[n]|0x20 == letter && (n == 0 || !isWordByte(s[n-1]))
}

// cutSpan cuts a time off the end of s: "3 hours", "about an hour", "1h 5m".
func cutSpan(s string) (string, bool) {
	rest, ok := cutCount(s)
	if !ok {
		return "", false
	}
	for ok {
		s = rest
		rest, ok = cutCount(strings.TrimSuffix(strings.TrimRight(s, " ,"), " and"))
	}
	for {
		rest, word := cutLastWord(strings.TrimSuffix(s, " "))
		if !hedges[strings.ToLower(word)] {
			return s, true
		}
		s = rest
	}
}

// cutCount cuts a count and a unit of time off the end of s.
func cutCount(s string) (string, bool) {
	rest, unit := cutLastWord(s)
	if n := strings.LastIndexAny(unit, "0123456789") + 1; n > 0 {
		count := strings.TrimRight(unit[:n], "0123456789")
		return rest + count, isUnit(unit[n:]) && (count == "" || count[len(count)-1] >= 0x80)
	}
	switch {
	case strings.EqualFold(unit, "moments"):
		return rest, true
	case !isUnit(unit):
		return "", false
	}
	rest, n := cutLastWord(strings.TrimSuffix(rest, " "))
	return rest, isCount(n)
}

func isUnit(word string) bool {
	word = strings.ToLower(word)
	return timeUnits[word] || timeUnits[strings.TrimSuffix(word, "s")]
}

func isCount(word string) bool {
	return word != "" && (fewWords[strings.ToLower(word)] || strings.Trim(word, "0123456789") == "")
}

// cutLastWord cuts the letters and digits off the end of s.
func cutLastWord(s string) (rest, word string) {
	i := len(s)
	for i > 0 && isWordByte(s[i-1]) {
		i--
	}
	return s[:i], s[i:]
}

// cutFirstWord cuts the letters and digits off the beginning of s.
func cutFirstWord(s string) (word, rest string) {
	i := 0
	for i < len(s) && isWordByte(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

func continuesWord(s string) bool { return s != "" && isWordByte(s[0]) }

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}
