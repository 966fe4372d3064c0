package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// reference writes the canonical form in another way than the product does: on
// encoding/json's decoder and maps, strings rune by rune, names by their code
// points, and floats by searching for the shortest decimal with exact
// fractions. The two share no line, so what both agree on is no slip of one.
func reference(src []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(src, []byte(bom))))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		return "", err
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", fmt.Errorf("trailing data: %v", err)
	}
	var b strings.Builder
	referenceValue(&b, x)
	return b.String(), nil
}

func referenceValue(b *strings.Builder, x any) {
	switch x := x.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, x)
	case json.Number:
		b.WriteString(referenceNumber(x.String()))
	case string:
		referenceString(b, x)
	case []any:
		sep := "["
		for _, item := range x {
			b.WriteString(sep)
			referenceValue(b, item)
			sep = ","
		}
		b.WriteString(strings.TrimPrefix(sep, ",") + "]")
	case map[string]any:
		var names [][]rune
		for name := range x {
			names = append(names, []rune(name))
		}
		slices.SortFunc(names, slices.Compare)
		sep := "{"
		for _, name := range names {
			b.WriteString(sep)
			referenceString(b, string(name))
			b.WriteString(":")
			referenceValue(b, x[string(name)])
			sep = ","
		}
		b.WriteString(strings.TrimPrefix(sep, ",") + "}")
	}
}

func referenceString(b *strings.Builder, s string) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, 8: `\b`, 9: `\t`, 10: `\n`, 12: `\f`, 13: `\r`}
	b.WriteString(`"`)
	for _, r := range s {
		if esc, ok := short[r]; ok {
			b.WriteString(esc)
		} else if r < 32 {
			fmt.Fprintf(b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteString(`"`)
}

func referenceNumber(lit string) string {
	if i, ok := new(big.Int).SetString(lit, 10); ok {
		return i.String()
	}
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil {
		return err.Error()
	}
	sign := ""
	if strings.HasPrefix(lit, "-") {
		sign = "-" // also of -0.0
	}
	if f == 0 {
		return sign + "0.0"
	}
	digits, point := shortest(new(big.Rat).Abs(new(big.Rat).SetFloat64(f)))
	switch {
	case point > 16 || point < -3:
		e := fmt.Sprintf("e%+03d", point-1)
		if len(digits) == 1 {
			return sign + digits + e
		}
		return sign + digits[:1] + "." + digits[1:] + e
	case point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		return sign + digits + strings.Repeat("0", point-len(digits)) + ".0"
	}
	return sign + digits[:point] + "." + digits[point:]
}

// shortest gives the decimal 0.digits × 10^point with the fewest digits that
// reads back as r, and of those the one nearest to it.
func shortest(r *big.Rat) (digits string, point int) {
	want, _ := r.Float64()
	power := func(n int) *big.Rat {
		p := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil))
		if n < 0 {
			p.Inv(p)
		}
		return p
	}
	// The logarithm may be off by one beside a power of ten.
	for point = int(math.Log10(want)) - 1; r.Cmp(power(point)) >= 0; point++ {
	}
	for n := 1; ; n++ {
		unit := power(point - n)
		scaled := new(big.Rat).Quo(r, unit)
		floor := new(big.Int).Quo(scaled.Num(), scaled.Denom())
		var best *big.Int
		var off *big.Rat
		for _, candidate := range []*big.Int{floor, new(big.Int).Add(floor, big.NewInt(1))} {
			value := new(big.Rat).Mul(new(big.Rat).SetInt(candidate), unit)
			if back, _ := value.Float64(); back != want {
				continue
			}
			distance := new(big.Rat).Sub(value, r)
			if distance.Abs(distance); best == nil || distance.Cmp(off) < 0 || distance.Cmp(off) == 0 && candidate.Bit(0) == 0 {
				best, off = candidate, distance
			}
		}
		if best != nil {
			digits = best.String()
			point += len(digits) - n // 99 may have become 100
			return strings.TrimRight(digits, "0"), point
		}
	}
}

// hasLoneSurrogate says whether an escape in the text is half of a pair:
// encoding/json replaces those in silence.
func hasLoneSurrogate(src string) bool {
	for i := 0; i < len(src); i++ {
		if src[i] != '\\' {
			continue
		}
		unit := func(at int) rune {
			if at+6 > len(src) || src[at] != '\\' || src[at+1] != 'u' {
				return 0
			}
			n, err := strconv.ParseUint(src[at+2:at+6], 16, 16)
			if err != nil {
				return 0
			}
			return rune(n)
		}
		if r := unit(i); utf16.IsSurrogate(r) {
			if utf16.DecodeRune(r, unit(i+6)) == '\ufffd' {
				return true
			}
			i += 11
			continue
		}
		i++ // the escaped character may be a backslash
	}
	return false
}
