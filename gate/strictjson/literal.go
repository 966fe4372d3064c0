package strictjson

// Literal is a number parameter that is kept as it was written, so that no
// digit is lost before it is compared.
type Literal string

// DecodeStrict reads a number.
func (l *Literal) DecodeStrict(n Node) {
	if n.Is(Number, "a number") {
		*l = Literal(n.Text)
	}
}

// JSONSchema describes a number.
func (Literal) JSONSchema() Value {
	return Obj(Member{Name: "type", Value: Str("number")})
}

// Value gives the literal as a number again.
func (l Literal) Value() Value { return Num(string(l)) }

// DecodeStrict reads a JSON Pointer.
func (p *Pointer) DecodeStrict(n Node) {
	if !n.Is(String, "a JSON Pointer") {
		return
	}
	at, err := ParsePointer(n.Text)
	if err != nil {
		n.Problemf(`Write "" for the whole document, or "/" before each step: "/orders/0/total".`, "%v", err)
	}
	*p = at
}

// JSONSchema describes a JSON Pointer.
func (Pointer) JSONSchema() Value {
	return Obj(Member{Name: "type", Value: Str("string")},
		Member{Name: "pattern", Value: Str("^(/([^~/]|~[01])*)*$")})
}
