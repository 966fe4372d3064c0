package secret

import "strings"

// Kind says what a match is taken for. It stands in the replacement, so it
// holds nothing but lower-case letters and hyphens.
type Kind string

// The kinds. Those from Password on are told by their surroundings alone.
const (
	GitHub       Kind = "github-token"
	GitLab       Kind = "gitlab-token"
	AWSKeyID     Kind = "aws-access-key-id"
	AWSSecret    Kind = "aws-secret-key"
	Google       Kind = "google-token"
	Slack        Kind = "slack-token"
	SlackWebhook Kind = "slack-webhook"
	Stripe       Kind = "stripe-key"
	OpenAI       Kind = "openai-key"
	Anthropic    Kind = "anthropic-key"
	NPM          Kind = "npm-token"
	PyPI         Kind = "pypi-token"
	Docker       Kind = "docker-token"
	HuggingFace  Kind = "huggingface-token"
	SendGrid     Kind = "sendgrid-key"
	DigitalOcean Kind = "digitalocean-token"
	Vault        Kind = "vault-token"
	Age          Kind = "age-key"
	PrivateKey   Kind = "private-key"
	JWT          Kind = "jwt"
	Bearer       Kind = "bearer-token"
	Basic        Kind = "basic-credentials"
	URLUserinfo  Kind = "url-userinfo"
	Password     Kind = "password"
	Token        Kind = "token"
	Secret       Kind = "secret"
	Key          Kind = "key"
	Cookie       Kind = "cookie"
)

// contextual says that a kind is only what the surroundings call it; where such
// a match overlaps one that is recognised by its own shape, the shape names both.
func (k Kind) contextual() bool {
	switch k {
	case Password, Token, Secret, Key, URLUserinfo, Bearer, Basic, Cookie:
		return true
	}
	return false
}

// Words writes the kind for a sentence, in the plural unless n is 1:
// "github token", "aws secret keys".
func (k Kind) Words(n int) string {
	s := strings.ReplaceAll(string(k), "-", " ")
	if n == 1 || strings.HasSuffix(s, "s") || k == URLUserinfo {
		return s
	}
	return s + "s"
}

// opening begins every replacement.
const opening = "[redacted:"

// Replacement is what stands where a credential of the kind stood.
func (k Kind) Replacement() string { return opening + string(k) + "]" }
