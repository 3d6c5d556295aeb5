package postgresql

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// RequireTLS gives the server a certificate for 127.0.0.1 and refuses connections that are not encrypted. It returns
// the file with the certificate, which signs itself.
func (s *Server) RequireTLS(t testing.TB) (root string) {
	t.Helper()
	certificate, key := newCertificate(t)
	for name, text := range map[string][]byte{"server.crt": certificate, "server.key": key,
		"pg_hba.conf": []byte("hostssl all all 127.0.0.1/32 trust\n")} {
		path := filepath.Join(s.data(), name)
		must(t, errors.Join(os.WriteFile(path, text, 0o600), os.Chown(path, UID(t), -1)))
	}
	SQL(t, s.URL("postgres"), "ALTER SYSTEM SET ssl = on")
	s.Reload(t)
	root = filepath.Join(t.TempDir(), "root.crt")
	must(t, os.WriteFile(root, certificate, 0o644))
	return root
}

// newCertificate returns a certificate for 127.0.0.1 that signs itself, and its key.
func newCertificate(t testing.TB) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes})
}
