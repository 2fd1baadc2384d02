package deltas

import "golang.org/x/net/html/atom"

func atoms(tags ...atom.Atom) map[atom.Atom]bool {
	m := make(map[atom.Atom]bool, len(tags))
	for _, tag := range tags {
		m[tag] = true
	}
	return m
}

var (
	// unread holds the elements whose content nobody reads as text.
	unread = atoms(atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Canvas, atom.Iframe, atom.Object,
		atom.Embed, atom.Audio, atom.Video, atom.Input, atom.Select, atom.Textarea, atom.Datalist, atom.Noembed, atom.Noframes)
	// breaks holds the elements that make lines.
	breaks = atoms(atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Button, atom.Caption, atom.Center, atom.Dd,
		atom.Details, atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer,
		atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Head, atom.Header, atom.Hgroup, atom.Hr, atom.Html,
		atom.Legend, atom.Li, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.P, atom.Section, atom.Summary, atom.Table, atom.Tbody,
		atom.Tfoot, atom.Thead, atom.Tr, atom.Ul)
	// structures holds the elements that are more than a paragraph: a table row
	// with one of them inside is layout, not data.
	structures = atoms(atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Dl, atom.Fieldset, atom.Figure, atom.Footer, atom.Form,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Html, atom.Li, atom.Main, atom.Nav, atom.Ol, atom.Section,
		atom.Table, atom.Tbody, atom.Tfoot, atom.Thead, atom.Ul)
	// void holds the elements that have no content.
	void = atoms(atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Param,
		atom.Source, atom.Track, atom.Wbr)
	// loose holds the elements whose end tag may be left out.
	loose = atoms(atom.P, atom.Li, atom.Dd, atom.Dt, atom.Tr, atom.Td, atom.Th, atom.Tbody, atom.Thead, atom.Tfoot, atom.Option,
		atom.Optgroup, atom.Colgroup, atom.Rt, atom.Rp)
)
