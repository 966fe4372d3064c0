package strictjson

// Equal compares two values as checks do: integers exactly at any size, other
// numbers as binary64 (29 equals 29.0), a boolean never equals a number,
// strings by code points, objects regardless of the order of members, arrays
// in order.
func Equal(a, b *Value) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Bool:
		return a.Bool == b.Bool
	case Number:
		return CompareNumbers(a.Text, b.Text) == 0
	case String:
		return a.Text == b.Text
	case Array:
		if len(a.Items) != len(b.Items) {
			return false
		}
		for i := range a.Items {
			if !Equal(&a.Items[i], &b.Items[i]) {
				return false
			}
		}
	case Object:
		if len(a.Members) != len(b.Members) {
			return false
		}
		return equalMembers(a.Members, b.Members)
	}
	return true
}

func equalMembers(a, b []Member) bool {
	for i := range a {
		if a[i].Name != b[i].Name {
			return equalSorted(sort(a), sort(b))
		}
	}
	for i := range a {
		if !Equal(&a[i].Value, &b[i].Value) {
			return false
		}
	}
	return true
}

// equalSorted compares members whose order differs. Names are unique, so equal
// sorted lists are equal sets; a search per member would let a large document
// stall the run.
func equalSorted(a, b []*Member) bool {
	for i := range a {
		if a[i].Name != b[i].Name {
			return false
		}
	}
	for i := range a {
		if !Equal(&a[i].Value, &b[i].Value) {
			return false
		}
	}
	return true
}
