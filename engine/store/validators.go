package store

// Validators are an ETag, a Last-Modified and the URL that they were given for,
// kept in one string. The zero value is none.
type Validators struct {
	text               string
	etag, lastModified uint16 // lengths
}

// MaxValidators caps what is kept of an origin's. A longer set is as good
// as none: polls get whole documents.
const MaxValidators = 2048

// NewValidators returns none when there is neither ETag nor Last-Modified. An
// empty url is the channel's own.
func NewValidators(etag, lastModified, url string) Validators {
	if etag == "" && lastModified == "" || len(etag)+len(lastModified)+len(url) > MaxValidators {
		return Validators{}
	}
	return Validators{etag + lastModified + url, uint16(len(etag)), uint16(len(lastModified))}
}

// Renewed is NewValidators; the same as before need no memory.
func (v Validators) Renewed(etag, lastModified, url string) Validators {
	if e, m, u := v.Split(); e == etag && m == lastModified && u == url {
		return v
	}
	return NewValidators(etag, lastModified, url)
}

// Split returns the three again.
func (v Validators) Split() (etag, lastModified, url string) {
	end := v.etag + v.lastModified
	return v.text[:v.etag], v.text[v.etag:end], v.text[end:]
}
