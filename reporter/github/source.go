package github

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/verdictgate/verdictgate/gate/record"
	"github.com/verdictgate/verdictgate/gate/strictjson"
)

// places looks up where things stand. It remembers what it has read, for a thousand
// findings are mostly about few files.
type places struct {
	Workspace
	contractPath string // "" when the change's tree has no such file
	trusted      map[string]checkPlace
	shown        map[string]checkPlace // the same in the change's own copy
	pointers     map[string]*strictjson.Document
	modules      map[string]string
}

// checkPlace is a check in the text of a contract.
type checkPlace struct {
	line   int
	folder string // where its command ran; "" for the judged folder
}

func placesOf(f *Facts) *places {
	p := &places{Workspace: f.Workspace, trusted: checkPlaces(f.ContractText), pointers: map[string]*strictjson.Document{}, modules: map[string]string{}}
	// A contract's path counts from the repository, not from the judged folder.
	fromRoot := f.Workspace
	fromRoot.Prefix = ""
	p.contractPath = fromRoot.repositoryPath("", f.ContractPath)
	p.shown = p.trusted
	if text := p.read(p.contractPath); text != nil && !bytes.Equal(text, f.ContractText) {
		p.shown = checkPlaces(text)
	}
	return p
}

// checkPlaces finds the lines of the checks in a contract's text; none in one that
// cannot be read, as a change's own copy may be.
func checkPlaces(text []byte) map[string]checkPlace {
	out := map[string]checkPlace{}
	doc, err := strictjson.Parse(text, strictjson.ContractLimits)
	if err != nil {
		return out
	}
	checks := doc.Root.Get("checks")
	if checks == nil {
		return out
	}
	for i := range checks.Items {
		id := checks.Items[i].Get("id")
		if id == nil || id.Kind != strictjson.String {
			continue
		}
		at := checkPlace{line: doc.Position(id.Pos).Line}
		if params := checks.Items[i].Get("params"); params != nil {
			if cwd := params.Get("cwd"); cwd != nil && cwd.Kind == strictjson.String {
				at.folder = cwd.Text
			}
		}
		if _, twice := out[id.Text]; !twice {
			out[id.Text] = at
		}
	}
	return out
}

// ofCheck is the line of a check in the file that the reader sees; the first one where
// the change's copy has no such check.
func (p *places) ofCheck(id string) int { return max(p.shown[id].line, 1) }

// pointer is the place that a JSON pointer leads to, or the longest part of it that
// leads somewhere.
func (p *places) pointer(file, pointer string) (line, column int) {
	doc, known := p.pointers[file]
	if !known {
		if data := p.read(file); data != nil {
			if parsed, err := strictjson.Parse(data, strictjson.DocumentLimits); err == nil {
				doc = parsed
			}
		}
		p.pointers[file] = doc
	}
	if doc == nil {
		return 1, 0
	}
	at, err := strictjson.ParsePointer(pointer)
	if err != nil {
		return 1, 0
	}
	value, deepest, _ := at.Find(&doc.Root)
	if value == nil {
		if value, _, _ = deepest.Find(&doc.Root); value == nil {
			return 1, 0
		}
	}
	pos := doc.Position(value.Pos)
	return max(pos.Line, 1), pos.Column
}

// located is the file of the repository that a command meant.
func (p *places) located(folder string, l *location) string {
	if l.pkg != "" && !strings.Contains(l.path, "/") {
		// go test names a file without its folder.
		if inside, ok := strings.CutPrefix(l.pkg+"/", p.module(folder)+"/"); ok {
			if file := p.repositoryPath(path.Join(folder, inside), l.path); file != "" {
				return file
			}
		}
	}
	return p.repositoryPath(folder, l.path)
}

// module is the path of the Go module in a folder; "/" when there is none.
func (p *places) module(folder string) string {
	name, known := p.modules[folder]
	if known {
		return name
	}
	name = "/"
	for line := range strings.Lines(string(p.read(p.repositoryPath(folder, "go.mod")))) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "module" {
			name = strings.Trim(fields[1], `"`)
			break
		}
	}
	p.modules[folder] = name
	return name
}

// output is what a check's command printed, both streams: whole from a blob where
// there is one, else what the result shows.
func (p *places) output(r *record.Result) string {
	var all strings.Builder
	observed := &r.Observed
	for _, role := range []string{"stdout", "stderr"} {
		all.WriteString(p.stream(r, observed, role))
		all.WriteString("\n")
	}
	return strings.ToValidUTF8(all.String()[:min(all.Len(), 2*maxScanned)], "\uFFFD")
}

func (p *places) stream(r *record.Result, observed *strictjson.Value, role string) string {
	if text, ok := p.blob(r, role); ok {
		return text
	}
	if v := observed.Get(role); v != nil && v.Kind == strictjson.String {
		return v.Text[:min(len(v.Text), maxScanned)]
	}
	// A value that was too large for the evidence is a blob as a whole.
	if text, ok := p.blob(r, "observed"); ok {
		if doc, err := strictjson.Parse([]byte(text), strictjson.DocumentLimits); err == nil {
			if v := doc.Root.Get(role); v != nil && v.Kind == strictjson.String {
				return v.Text
			}
		}
	}
	return ""
}

// blob reads a piece of evidence of at most maxScanned bytes.
func (p *places) blob(r *record.Result, role string) (string, bool) {
	at := slices.IndexFunc(r.EvidenceRefs, func(ref record.Ref) bool { return ref.Role == role })
	if at < 0 || p.Blob == nil {
		return "", false
	}
	if r.EvidenceRefs[at].Bytes > 2*maxScanned {
		return "", false
	}
	data, err := p.Blob(r.EvidenceRefs[at])
	if err != nil {
		return "", false
	}
	return string(data[:min(len(data), maxScanned)]), true
}
