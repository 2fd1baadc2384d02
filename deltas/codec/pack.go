package codec

import (
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-91e7e7c1/corona/deltas/content"
)

// Packer makes core content small for a store that holds many of them, and reads
// it back. It is safe for concurrent use and starts no goroutine. Its memory is
// bounded: a coder for each of the goroutines that may use it at a time, which the
// others wait for.
type Packer struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

const (
	packVersion    = 2
	packVersionOld = 1 // without sources

	// packWindow is how far back the encoder looks, which bounds its memory. Nearly
	// all contents are shorter.
	packWindow = 1 << 20
)

// NewPacker returns a packer for so many goroutines at a time.
func NewPacker(parallel int) *Packer {
	dict := []byte(coreDictionary)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(parallel), zstd.WithWindowSize(packWindow),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true), zstd.WithEncoderDictRaw(0, dict))
	if err != nil {
		panic(fmt.Sprintf("deltas: zstd encoder: %v", err)) // the options are constant
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(0, dict), zstd.WithDecoderMaxMemory(content.MaxCoreText),
		zstd.WithDecoderConcurrency(parallel), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(fmt.Sprintf("deltas: zstd decoder: %v", err))
	}
	return &Packer{encoder, decoder}
}

// Append appends the content's packed form to dst: a version byte, what its entries
// were read from, and its text as a zstd frame without magic number.
func (p *Packer) Append(dst []byte, c *content.Core) []byte {
	return appendFrame(c.AppendSources(append(dst, packVersion)), p.encoder, c.Text)
}

// Unpack is the inverse of [Packer.Append]. It reads text that was never packed
// too, which the result keeps. The error is [content.ErrVersion] or [content.ErrCorrupt]; nothing
// is allocated for text that would be longer than any is.
func (p *Packer) Unpack(data []byte) (*content.Core, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: no packed content", content.ErrCorrupt)
	}
	var s content.Sources
	frame, ok := data[1:], true
	switch data[0] {
	case content.TextMagic[0]:
		return content.ParseCore(data)
	case packVersion:
		s, frame, ok = content.ParseSources(frame)
	case packVersionOld:
	default:
		return nil, fmt.Errorf("%w of packed content: %d", content.ErrVersion, data[0])
	}
	if !ok {
		return nil, fmt.Errorf("%w: packed content is cut short", content.ErrCorrupt)
	}
	text, err := readFrame(p.decoder, frame)
	if err != nil {
		return nil, err
	}
	core, err := content.ParseCore(text)
	if err != nil {
		return nil, err
	}
	if err := core.SetSources(s); err != nil {
		return nil, fmt.Errorf("packed content: %w", err)
	}
	return core, nil
}

// coreDictionary is the history that packed contents are compressed with: what
// the core text of any feed or page may have, generic words and the format's own.
// It is part of the format: another one needs another packVersion. What is most
// common stands last, where it is nearest.
const coreDictionary = ` people should because through between before after under without about which their there would could other these those where while being every
 first last year years today week month day time new news update updates release version issue support security available information report government country company market million percent
 January February March April May June July August September October November December Monday Tuesday Wednesday Thursday Friday Saturday Sunday
 said on Monday that the number of people who have been in the United States and the rest of the world, as well as for the first time since they were able to make it out of one of the most. It is not only a way to get this from you, but we are also going to be with our new and more. In this case, if you do not want to use it, you can see what has been done so far. They will be at the end of the year. He was the first to say that he had. There are two or three of them. How to do it and why it is what it is. I think that all of us would like to know about his and her work.
 All rights reserved. Privacy policy. Terms of use. Sign in. Subscribe. Comments. Share this. Posted by on at by in Posted in. Read more ⟨www. Continue reading ⟨blog. The post appeared first on. Leave a comment. Learn more. Download. Contact us. About. Home. Search. Next. Previous.
⟨github.com/⟩ ⟨en.wikipedia.org/wiki/⟩ ⟨twitter.com/⟩ ⟨www.youtube.com/watch?v=⟩ ⟨/index.html⟩ ⟨/news/article/⟩ ⟨/category/⟩ ⟨/tag/⟩ ⟨/products/⟩
corona-core 1 text

corona-core 1 json
  {
    "count": 1
    "next": null
    "data": {
    }
    "results": [
    ]
  }
entry: 1
  {
    "author": {
      "login": "
    }
    "created_at": "2026-
    "description": "
    "html_url": "https://github.com/
    "language": "en"
    "name": "
    "published": true
    "status": "
    "tags": [
    ]
    "title": "
    "type": "
    "url": "https://www.
    "id": 
  }
corona-core 1 html
title: Home | 

[Image]
corona-core 1 feed
title: The Blog - News
entry: content:
entry: tag:
entry: http://feeds.
entry: http://www.example.org/?p=1
title: How to 
link: http://www.example.org/index.php?id=
summary: The 
  This is the 
entry: https://github.com/
title: v1.0.0
link: https://github.com/releases/tag/v1.0.0
entry: https://www.example.com/news/article/2026/01/01/
title: The 
link: https://www.example.com/blog/posts/2026/01/01/
  The 
  In the 
  Read more ⟨www.example.com/2026/
.html
  And the 
` + content.NotesMark + `feed: https://www.example.com/feed/
0 2026-01-01T00:00:00Z -
1 2026-01-02T01:00:00Z 2026-01-03T02:10:00Z
2 2026-04-04T03:00:00Z -
3 2026-02-05T04:20:00Z -
4 2026-03-06T05:00:00Z 2026-03-06T05:00:00Z
5 2026-04-07T06:30:00Z -
6 2026-05-08T07:00:00Z -
7 2026-06-09T08:40:00Z -
8 2026-07-10T09:00:00Z -
9 2026-08-11T10:50:00Z -
10 2026-09-12T11:00:00Z -
11 2026-10-13T12:00:00Z -
12 2025-11-14T13:15:00Z -
13 2025-12-15T14:00:00Z -
14 - -
entry: https://www.`
