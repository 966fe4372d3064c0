package strictjson

// fewNames is up to how many a search through a list is faster than a map.
const fewNames = 16

// nameSet finds a name that occurs twice. An object with many members gets a
// map: a search through a list would take quadratic time.
type nameSet struct {
	few  [fewNames]string
	n    int
	many map[string]struct{}
}

// add says whether the name is new.
func (s *nameSet) add(name string) bool {
	for _, known := range s.few[:s.n] {
		if known == name {
			return false
		}
	}
	if s.n < fewNames {
		s.few[s.n] = name
		s.n++
		return true
	}
	if s.many == nil {
		s.many = map[string]struct{}{}
	}
	before := len(s.many)
	s.many[name] = struct{}{}
	return len(s.many) > before
}
