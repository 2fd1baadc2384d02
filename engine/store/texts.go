package store

// Texts are what is kept of a channel's current version in words: an ETag, a
// Last-Modified, the URL that these two were given for, and the feed that an HTML page
// names. They stand in one string, since there may be millions. The zero value is none.
type Texts struct {
	text                    string
	etag, lastModified, url uint16 // lengths; the rest is the feed's URL
}

// MaxValidators caps what is kept of an origin's validators and their URL, in bytes. A
// longer set is as good as none: polls get whole documents.
const MaxValidators = 2048

// NewTexts leaves the validators out when there is neither ETag nor Last-Modified. An
// empty url is the channel's own, an empty feed none.
func NewTexts(etag, lastModified, url, feed string) Texts {
	if etag == "" && lastModified == "" || len(etag)+len(lastModified)+len(url) > MaxValidators {
		return Texts{text: feed}
	}
	return Texts{etag + lastModified + url + feed, uint16(len(etag)), uint16(len(lastModified)), uint16(len(url))}
}

// HasValidators reports an ETag or a Last-Modified.
func (t Texts) HasValidators() bool { return t.etag > 0 || t.lastModified > 0 }

// Validators returns the ETag, the Last-Modified and the URL that they were given for.
func (t Texts) Validators() (etag, lastModified, url string) {
	end := t.etag + t.lastModified
	return t.text[:t.etag], t.text[t.etag:end], t.text[end : end+t.url]
}

// FeedURL returns the URL of the feed, empty for none.
func (t Texts) FeedURL() string { return t.text[t.etag+t.lastModified+t.url:] }

// WithValidators returns the texts with other validators; the same as before need no
// memory.
func (t Texts) WithValidators(etag, lastModified, url string) Texts {
	if e, m, u := t.Validators(); e == etag && m == lastModified && u == url {
		return t
	}
	return NewTexts(etag, lastModified, url, t.FeedURL())
}

// WithFeedURL returns the texts with another feed; the same as before needs no memory.
func (t Texts) WithFeedURL(feed string) Texts {
	if t.FeedURL() == feed {
		return t
	}
	etag, lastModified, url := t.Validators()
	return NewTexts(etag, lastModified, url, feed)
}
