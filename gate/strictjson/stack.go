package strictjson

// stack holds the children of arrays and objects that are not yet ended. It
// grows by chunks, so that it never copies what it holds: with a growing slice
// a list of a million elements would be moved and cleared several times over.
type stack[T any] struct {
	chunks [][]T
	n      int
}

// chunkSize is some tens of kilobytes of values.
const chunkSize = 512

func (s *stack[T]) push(x T) {
	i := s.n / chunkSize
	if i == len(s.chunks) {
		size := chunkSize
		if i == 0 {
			size = 8 // most documents are small
		}
		s.chunks = append(s.chunks, make([]T, 0, size))
	}
	s.chunks[i] = append(s.chunks[i][:s.n%chunkSize], x)
	s.n++
}

// popFrom removes everything from base upwards and gives it as a list of its own.
func (s *stack[T]) popFrom(base int) []T {
	if s.n == base {
		return nil
	}
	out := make([]T, 0, s.n-base)
	for i := base; i < s.n; i = (i/chunkSize + 1) * chunkSize {
		chunk := s.chunks[i/chunkSize]
		out = append(out, chunk[i%chunkSize:min(len(chunk), i%chunkSize+s.n-i)]...)
	}
	s.n = base
	return out
}
