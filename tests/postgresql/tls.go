package postgresql

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// RequireTLS gives the server a certificate for 127.0.0.1 and refuses connections that are not encrypted. It returns
// the file with the certificate, which signs itself.
func (s *Server) RequireTLS(t testing.TB) (root string) {
	t.Helper()
	has := httptest.NewTLSServer(nil)
	defer has.Close()
	private, err := x509.MarshalPKCS8PrivateKey(has.TLS.Certificates[0].PrivateKey)
	must(t, err)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: has.Certificate().Raw})
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
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
