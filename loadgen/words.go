package loadgen

// vocabulary holds the words that documents are made of, frequent ones first:
// a word is drawn from near the front more often, roughly by Zipf's law.
var vocabulary = [...]string{
	"the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "as", "was", "with", "be", "by", "on",
	"not", "he", "this", "are", "or", "his", "from", "at", "which", "but", "have", "an", "had", "they", "you",
	"were", "their", "one", "all", "we", "can", "her", "has", "there", "been", "if", "more", "when", "will",
	"would", "who", "so", "no", "said", "about", "into", "than", "them", "only", "some", "could", "time",
	"these", "two", "may", "then", "do", "first", "any", "my", "now", "such", "like", "our", "over", "man",
	"me", "even", "most", "made", "after", "also", "did", "many", "before", "must", "through", "back", "years",
	"where", "much", "your", "way", "well", "down", "should", "because", "each", "just", "those", "people",
	"how", "too", "little", "state", "good", "very", "make", "world", "still", "own", "see", "men", "work",
	"long", "get", "here", "between", "both", "life", "being", "under", "never", "day", "same", "another",
	"know", "while", "last", "might", "us", "great", "old", "year", "off", "come", "since", "against", "go",
	"came", "right", "used", "take", "three", "small", "large", "number", "place", "home", "hand", "part",
	"found", "house", "school", "head", "however", "point", "course", "system", "water", "without", "young",
	"public", "group", "later", "give", "early", "local", "company", "program", "among", "night", "second",
	"set", "less", "room", "almost", "big", "change", "family", "social", "north", "south", "city", "market",
	"report", "service", "member", "study", "level", "national", "region", "road", "council", "team", "plan",
	"price", "data", "court", "week", "month", "minister", "health", "science", "record", "growth", "power",
	"energy", "music", "film", "book", "player", "season", "match", "final", "police", "trial", "climate",
	"budget", "vote", "party", "leader", "union", "border", "coast", "island", "river", "forest", "village",
	"garden", "kitchen", "winter", "summer", "spring", "autumn", "train", "bridge", "station", "airport",
	"engine", "network", "signal", "source", "version", "release", "server", "library", "language", "model",
	"paper", "journal", "student", "teacher", "doctor", "patient", "farmer", "worker", "driver", "artist",
	"writer", "museum", "theatre", "gallery", "festival", "church", "castle", "tower", "harbour", "valley",
	"mountain", "lake", "storm", "flood", "drought", "harvest", "trade", "export", "import", "bank", "loan",
	"debt", "profit", "loss", "share", "stock", "fund", "index", "survey", "figure", "result", "reason",
	"answer", "question", "problem", "method", "theory", "practice", "example", "detail", "summary", "review",
	"guide",
}

// source is a sequence of random numbers.
type source uint64

func (s *source) next() uint64 {
	*s += golden
	return mix(uint64(*s))
}

// intn returns a number from 0 up to, not including, n.
func (s *source) intn(n int) int { return int(scale(s.next(), int64(n))) }

// word returns a word; that of rank k comes in proportion to 1/√k.
func (s *source) word() string {
	u := unit(s.next())
	return vocabulary[int(u*u*float64(len(vocabulary)))]
}

// appendWords appends n words, the first with a capital, single spaces between.
func (s *source) appendWords(dst []byte, n int) []byte {
	start := len(dst)
	for i := range n {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, s.word()...)
	}
	if n > 0 {
		dst[start] -= 'a' - 'A'
	}
	return dst
}

// appendSentences appends about n words in sentences of 8 to 20.
func (s *source) appendSentences(dst []byte, n int) []byte {
	for n > 0 {
		length := min(8+s.intn(13), n)
		dst = s.appendWords(dst, length)
		dst = append(dst, '.')
		if n -= length; n > 0 {
			dst = append(dst, ' ')
		}
	}
	return dst
}
