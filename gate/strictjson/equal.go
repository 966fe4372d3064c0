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
		// Names are unique, so equal sorted lists are equal sets; a linear
		// search per member would let a large document stall the run.
		x, y := sorted(a.Members), sorted(b.Members)
		for i := range x {
			if x[i].Name != y[i].Name || !Equal(&x[i].Value, &y[i].Value) {
				return false
			}
		}
	}
	return true
}
