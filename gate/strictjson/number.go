package strictjson

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// isInteger says whether a JSON number literal is written as an integer:
// no point, no exponent.
func isInteger(lit string) bool { return !strings.ContainsAny(lit, ".eE") }

// appendNumber writes a literal in canonical form.
func appendNumber(dst []byte, lit string) []byte {
	if isInteger(lit) {
		if lit == "-0" {
			lit = "0"
		}
		return append(dst, lit...)
	}
	f, _ := strconv.ParseFloat(lit, 64) // the parser refused what overflows
	return appendFloat(dst, f)
}

// appendFloat writes a finite number as Python's repr does: the shortest
// digits that read back the same, positional from 1e-4 up to 1e16, else with
// an exponent of at least two digits, and always with a point or an exponent.
func appendFloat(dst []byte, f float64) []byte {
	if a := math.Abs(f); a != 0 && a < 1e-4 || a >= 1e16 {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if bytes.IndexByte(dst[from:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// CompareNumbers compares two JSON number literals by value: integers exactly
// at any size, other numbers as the binary64 number that they denote. It is
// negative, zero or positive as a is less than, equal to or greater than b.
// It never turns a long integer into a binary one: that takes time that grows
// with the square of its digits, and a judged file may hold millions of them.
func CompareNumbers(a, b string) int {
	switch {
	case a == b:
		return 0
	case isInteger(a) && isInteger(b):
		return compareIntegers(a, b)
	case len(a) > maxDigits && isInteger(a):
		return sign(a)
	case len(b) > maxDigits && isInteger(b):
		return -sign(b)
	}
	return exact(a).Cmp(exact(b))
}

// maxDigits is more than the 309 digits of the largest binary64 number and a
// sign: a longer integer lies beyond every one of them.
const maxDigits = 320

// compareIntegers compares by sign, then length, then digits: JSON allows no
// leading zero.
func compareIntegers(a, b string) int {
	x, y := sign(a), sign(b)
	if x != y || x == 0 {
		return cmp.Compare(x, y)
	}
	a, b = strings.TrimPrefix(a, "-"), strings.TrimPrefix(b, "-")
	if len(a) != len(b) {
		return x * cmp.Compare(len(a), len(b))
	}
	return x * strings.Compare(a, b)
}

func sign(integer string) int {
	switch {
	case integer == "0", integer == "-0":
		return 0
	case integer[0] == '-':
		return -1
	}
	return 1
}

// Exact gives the exact value of a JSON number literal, read as
// [CompareNumbers] reads it.
func Exact(lit string) *big.Rat { return exact(lit) }

func exact(lit string) *big.Rat {
	r := new(big.Rat)
	if isInteger(lit) {
		i, _ := new(big.Int).SetString(lit, 10)
		return r.SetInt(i)
	}
	f, _ := strconv.ParseFloat(lit, 64)
	return r.SetFloat64(f)
}

// Int64 reads a number that has an integral value: 5, 5.0 and 5e0 alike.
func (v *Value) Int64() (int64, bool) {
	if v.Kind != Number {
		return 0, false
	}
	if isInteger(v.Text) {
		i, err := strconv.ParseInt(v.Text, 10, 64)
		return i, err == nil
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	// The upper bound, 2^63, is itself no int64.
	if err != nil || f != math.Trunc(f) || f < math.MinInt64 || f >= -math.MinInt64 {
		return 0, false
	}
	return int64(f), true
}

// Float64 reads a number as binary64; an integer is rounded, and false says
// that it is too large.
func (v *Value) Float64() (float64, bool) {
	if v.Kind != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	return f, err == nil
}

// Float makes a number from a finite float, as the canonical form writes it.
func Float(f float64) Value {
	return Value{Kind: Number, Text: string(appendFloat(nil, f)), Pos: -1}
}
