package directorymanifest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/verdictgate/verdictgate/gate/check"
	"github.com/verdictgate/verdictgate/gate/fault"
	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// The bounds of a result; the counts beside the names are exact.
const (
	maxNames    = 200 // of each kind: more, nobody reads, and the bundle stays small
	maxFindings = 50  // what a check-run takes in one request
	maxQuoted   = 3   // in the summary's one line
)

//go:embed doc.go
var doc string

// Type is the check type directory_manifest.
func Type() check.Type { return check.Define("directory_manifest", check.DocText(doc), run) }

// Params are the parameters of a check.
type Params struct {
	Path            check.Path `json:"path" need:"yes" doc:"folder, relative to the workspace or absolute"`
	ExpectedFiles   names      `json:"expected_files" need:"yes" doc:"files that must be there, relative to the folder"`
	Exact           bool       `json:"exact" default:"true" doc:"whether nothing else may be there"`
	ExpectedDigests digests    `json:"expected_digests" since:"2" doc:"SHA-256 of files that must be there, by path"`
}

// names is a parameter that lists files of a folder, each once.
type names []string

// DecodeStrict refuses names that no file below a folder can have.
func (f *names) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.Array, `"expected_files"`) {
		return
	}
	seen := make(map[string]int32, len(n.Items))
	*f = make(names, 0, len(n.Items))
	for i, at := range n.Each() {
		if !at.Is(strictjson.String, `an element of "expected_files"`) {
			continue
		}
		if first, twice := seen[at.Text]; twice {
			at.Problemf("Remove one of them.", "expected_files[%d] is the same as expected_files[%d]", i, first)
			continue
		}
		seen[at.Text] = int32(i) // a contract holds a million values at most
		validName(at, func() string { return fmt.Sprintf("expected_files[%d]", i) }, at.Text)
		*f = append(*f, at.Text)
	}
}

// JSONSchema describes the list.
func (names) JSONSchema() strictjson.Value {
	name := nameSchema()
	name.Members = slices.Insert(name.Members, 0, strictjson.Member{Name: "type", Value: strictjson.Str("string")})
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("array")},
		strictjson.Member{Name: "items", Value: name},
		strictjson.Member{Name: "uniqueItems", Value: strictjson.Boolean(true)})
}

// digests is a parameter that gives files of a folder with their SHA-256.
type digests map[string]strictjson.Digest

// DecodeStrict refuses names that no file below a folder can have.
func (d *digests) DecodeStrict(n strictjson.Node) {
	if !n.Is(strictjson.Object, `"expected_digests"`) {
		return
	}
	*d = make(digests, len(n.Members))
	for i, at := range n.Each() {
		name := n.Members[i].Name
		validName(at, func() string { return "a name in expected_digests" }, name)
		if !at.Is(strictjson.String, "the digest of "+check.Quote(name)) {
			continue
		}
		digest, err := strictjson.ParseDigest(at.Text)
		if err != nil {
			at.Problemf("", "the digest of %s: %v", check.Quote(name), err)
		}
		(*d)[name] = digest
	}
}

// JSONSchema describes the object.
func (digests) JSONSchema() strictjson.Value {
	return strictjson.Obj(strictjson.Member{Name: "type", Value: strictjson.Str("object")},
		strictjson.Member{Name: "propertyNames", Value: nameSchema()},
		strictjson.Member{Name: "additionalProperties", Value: strictjson.DigestSchema()})
}

// nameSchema describes what [validName] takes.
func nameSchema() strictjson.Value {
	upwards := strictjson.Obj(strictjson.Member{Name: "pattern", Value: strictjson.Str(`(^|/)\.\.?(/|$)`)})
	return strictjson.Obj(strictjson.Member{Name: "pattern", Value: strictjson.Str(`^[^/\x00]+(/[^/\x00]+)*$`)},
		strictjson.Member{Name: "not", Value: upwards})
}

// Warnings names files that cannot be there together: what lies in a folder of
// another file's name.
func (p *Params) Warnings() []string {
	files := map[string]bool{}
	for _, name := range p.ExpectedFiles {
		files[name] = true
	}
	for name := range p.ExpectedDigests {
		files[name] = true
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			if files[folder] {
				out = append(out, fmt.Sprintf("a run can only fail: %s is expected as a file, and %s in a folder of that name", check.Quote(folder), check.Quote(name)))
				break
			}
		}
	}
	return out
}

// validName reports a name that could never be found, because no listing
// spells a path that way.
func validName(n strictjson.Node, what func() string, name string) {
	fix := "Name a file relative to the folder, such as assets/app.js."
	switch {
	case name == "":
		n.Problemf(fix, "%s is empty", what())
	case strings.IndexByte(name, 0) >= 0:
		n.Problemf(fix, "%s holds a NUL character", what())
	case name[0] == '/':
		n.Problemf(fix, "%s is absolute: %s", what(), check.Quote(name))
	case strings.HasSuffix(name, "/"):
		n.Problemf("Name the files in it; a folder is no file.", "%s ends in a slash: %s", what(), check.Quote(name))
	case hasPart(name, ".."):
		n.Problemf(fix, `%s leads upwards with "..": %s`, what(), check.Quote(name))
	case name == ".":
		n.Problemf(fix, "%s is the folder itself", what())
	case path.Clean(name) != name:
		n.Problemf(fmt.Sprintf("Write %s.", check.Quote(path.Clean(name))), `%s has a part that is empty or ".": %s`, what(), check.Quote(name))
	}
}

func hasPart(name, part string) bool {
	for p := range strings.SplitSeq(name, "/") {
		if p == part {
			return true
		}
	}
	return false
}

// wanted is what a result expects; the names are in the contract.
type wanted struct {
	Files int  `json:"files"`
	Exact bool `json:"exact"`
}

// seen is what a result holds.
type seen struct {
	Files      int               `json:"files"` // found, expected or not
	Missing    []string          `json:"missing"`
	Unexpected []string          `json:"unexpected"`
	Different  []difference      `json:"different"`
	NotFiles   map[string]string `json:"not_files,omitempty"` // what an unexpected name is, when it is no file
	NearMisses []nearMiss        `json:"near_misses,omitempty"`
	Unknown    []unknown         `json:"unknown,omitempty"` // what could not be examined
	Counts     counts            `json:"counts"`
}

type counts struct {
	Missing    int `json:"missing"`
	Unexpected int `json:"unexpected"`
	Different  int `json:"different"`
	Unknown    int `json:"unknown"`
}

type difference struct {
	Path     string            `json:"path"`
	SHA256   strictjson.Digest `json:"sha256"`
	Expected strictjson.Digest `json:"expected"`
}

type nearMiss struct {
	Expected string `json:"expected"`
	Found    string `json:"found"`
	Note     string `json:"note"`
}

type unknown struct {
	Path string `json:"path"`
	Why  string `json:"why"`
	code fault.Code
	// decides says that it could change the answer: a link that leaves the
	// roots may be whatever it likes, and bytes must be read to be compared; but
	// what lies in a folder matters only if it is expected, or nothing else may
	// be there.
	decides bool
}

func run(ctx context.Context, p *Params, pass *check.Pass) check.Outcome {
	c := comparison{params: p, expected: map[string]bool{}, what: map[string]string{}}
	for _, name := range p.ExpectedFiles {
		c.expected[name] = false
	}
	for name := range p.ExpectedDigests {
		c.expected[name] = false
	}
	expecting := wanted{len(c.expected), p.Exact}
	entries, err := pass.Files.List(ctx, string(p.Path))
	if err != nil {
		o := check.From(err).Expecting(expecting)
		if o.Status == record.Fail {
			o.Findings = []record.Finding{{Message: o.Summary, File: p.Path.File()}}
		}
		return o
	}
	c.sort(entries)
	for _, name := range slices.Sorted(maps.Keys(p.ExpectedDigests)) {
		if c.expected[name] {
			if err := c.digest(ctx, pass.Files, name); err != nil {
				return check.From(err).Expecting(expecting)
			}
		}
	}
	o := c.outcome().Expecting(expecting).Observing(c.seen())
	o.Findings = c.findings()
	if o.Status == record.Pass && len(c.unknown) > 0 {
		u := c.unknown[0]
		more := ""
		if n := len(c.unknown) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more)", n)
		}
		o.Limitations = append(o.Limitations, fmt.Sprintf("%s %s%s; whether other files lie there does not decide", check.Quote(u.Path), u.Why, more))
	}
	return o
}

// comparison is a listing held against the params.
type comparison struct {
	params     *Params
	expected   map[string]bool   // name: is it there as a file
	what       map[string]string // names that are no files, and what they are
	files      int
	missing    []string
	unexpected []string
	different  []difference
	unknown    []unknown
}

// sort puts every name in its place: there, missing, unexpected or unknown.
func (c *comparison) sort(entries []check.Entry) {
	undecided := map[string]int{} // names and folders that nothing is known about, in c.unknown
	for _, e := range entries {
		if e.Leaves || e.Unread != "" {
			undecided[e.Path] = len(c.unknown)
			u := unknown{e.Path, e.Unread, fault.TargetUnreadable, c.params.Exact}
			if e.Leaves {
				u.code, u.decides = fault.CheckRefused, true
			}
			c.unknown = append(c.unknown, u)
			continue
		}
		_, want := c.expected[e.Path]
		if e.Kind == check.Regular {
			c.files++
			if want {
				c.expected[e.Path] = true
				continue
			}
		} else {
			c.what[e.Path] = e.What
		}
		c.unexpected = append(c.unexpected, e.Path)
	}
	for name, there := range c.expected {
		if there {
			continue
		}
		if by := covered(name, undecided); by != "" {
			c.unknown[undecided[by]].decides = true
		} else {
			c.missing = append(c.missing, name)
		}
	}
	slices.Sort(c.missing)
}

// covered gives the name, or the folder that it lies in, which is undecided; ""
// when none is.
func covered(name string, undecided map[string]int) string {
	if len(undecided) == 0 {
		return ""
	}
	for ; name != "."; name = path.Dir(name) {
		if _, is := undecided[name]; is {
			return name
		}
	}
	return ""
}

// digest compares the bytes of one file. The error is one that ends the check.
func (c *comparison) digest(ctx context.Context, files check.Files, name string) error {
	got, _, err := files.Digest(ctx, string(c.params.Path)+"/"+name)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		var pe *check.PathError
		if !errors.As(err, &pe) {
			return err
		}
		u := unknown{name, pe.Reason, pe.Code, true}
		if u.code == "" { // gone by now; but it was there, so nothing was learned
			u.Why, u.code = "changed while the folder was examined", fault.TargetUnreadable
		}
		c.unknown = append(c.unknown, u)
		return nil
	}
	if want := c.params.ExpectedDigests[name]; got != want {
		c.different = append(c.different, difference{name, got, want})
	}
	return nil
}

// outcome decides. Something missing or different stays so whatever the
// unknown turns out to be; before an unknown, nothing else is decided.
func (c *comparison) outcome() check.Outcome {
	folder := check.Quote(string(c.params.Path))
	unexpected := c.unexpected
	if !c.params.Exact {
		unexpected = nil
	}
	deciding := slices.DeleteFunc(slices.Clone(c.unknown), func(u unknown) bool { return !u.decides })
	var parts []string
	part := func(what string, names []string) {
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s: %s", len(names), what, quoted(names)))
		}
	}
	part("missing", c.missing)
	part("unexpected", unexpected)
	part("different", c.differentNames())
	switch {
	case len(c.missing) == 0 && len(c.different) == 0 && len(deciding) > 0:
		u := deciding[0]
		more := ""
		if n := len(deciding) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more that could not be examined)", n)
		}
		return check.Unable(u.code, "", "%s holds %s, which %s%s", folder, check.Quote(u.Path), u.Why, more)
	case len(parts) > 0:
		note := ""
		if near := c.nearMisses(); len(near) > 0 {
			note = fmt.Sprintf("; %s equals %s only after Unicode normalisation", check.Quote(near[0].Found), check.Quote(near[0].Expected))
		}
		return check.Failed("%s does not hold the expected files: %s%s", folder, strings.Join(parts, "; "), note)
	case len(c.unexpected) > 0:
		return check.Passed("%s holds all %d expected files, and %d others", folder, len(c.expected), len(c.unexpected))
	case c.params.Exact:
		return check.Passed("%s holds exactly the %d expected files", folder, len(c.expected))
	}
	return check.Passed("%s holds all %d expected files", folder, len(c.expected))
}

func (c *comparison) differentNames() []string {
	var out []string
	for _, d := range c.different {
		out = append(out, d.Path)
	}
	return out
}

// nearMisses are the missing names that are there in another normalisation:
// macOS and input methods make them, and no screen shows the difference.
func (c *comparison) nearMisses() []nearMiss {
	if len(c.missing) == 0 {
		return nil
	}
	found := make(map[string]string, len(c.unexpected))
	for _, name := range c.unexpected {
		found[norm.NFC.String(name)] = name
	}
	var out []nearMiss
	for _, name := range c.missing {
		if other, ok := found[norm.NFC.String(name)]; ok {
			out = append(out, nearMiss{escaped(name), escaped(other), "equal only after Unicode normalisation: not the same name"})
		}
		if len(out) == maxNames {
			break
		}
	}
	return out
}

// escaped writes every character that is not ASCII as an escape: the two
// spellings of one letter look the same.
func escaped(name string) string { return fmt.Sprintf("%+q", name) }

func (c *comparison) seen() seen {
	s := seen{Files: c.files, Missing: shown(c.missing), Unexpected: shown(c.unexpected), Different: []difference{}, NearMisses: c.nearMisses(),
		Counts: counts{len(c.missing), len(c.unexpected), len(c.different), len(c.unknown)}}
	for _, d := range c.different[:min(len(c.different), maxNames)] {
		d.Path = check.Show(d.Path)
		s.Different = append(s.Different, d)
	}
	for _, u := range c.unknown[:min(len(c.unknown), maxNames)] {
		u.Path = check.Show(u.Path)
		s.Unknown = append(s.Unknown, u)
	}
	for _, name := range c.unexpected[:min(len(c.unexpected), maxNames)] {
		if what, ok := c.what[name]; ok {
			if s.NotFiles == nil {
				s.NotFiles = map[string]string{}
			}
			s.NotFiles[check.Show(name)] = what
		}
	}
	return s
}

// findings are one for each file that decided, in the order of the kinds.
func (c *comparison) findings() []record.Finding {
	var out []record.Finding
	add := func(name, format string, args ...any) {
		if len(out) < maxFindings {
			out = append(out, record.Finding{Message: fmt.Sprintf(format, args...), File: check.Path(string(c.params.Path) + "/" + name).File()})
		}
	}
	for _, name := range c.missing {
		what := ""
		if w, ok := c.what[name]; ok {
			what = ": it is " + w
		}
		add(name, "expected file %s is missing%s", check.Quote(name), what)
	}
	for _, d := range c.different {
		add(d.Path, "%s has the digest %s, not %s", check.Quote(d.Path), d.SHA256, d.Expected)
	}
	if c.params.Exact {
		for _, name := range c.unexpected {
			what := "a file"
			if w, ok := c.what[name]; ok {
				what = w
			}
			add(name, "%s (%s) is not expected", check.Quote(name), what)
		}
	}
	return out
}

// shown are the first names, fit to be read.
func shown(names []string) []string {
	out := []string{}
	for _, name := range names[:min(len(names), maxNames)] {
		out = append(out, check.Show(name))
	}
	return out
}

// quoted are the first few names for one line.
func quoted(names []string) string {
	var out []string
	for _, name := range names[:min(len(names), maxQuoted)] {
		out = append(out, check.Quote(name))
	}
	if n := len(names) - len(out); n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, ", ")
}
