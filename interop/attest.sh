#!/usr/bin/env bash
# Our attestations against the tools that others verify and write them with: securesystemslib (DSSE),
# in-toto-attestation (statements), sigstore's models (bundles), and a PKCS#11 token (SoftHSM).
#
# Needs: .venv (make setup) and a package index. SoftHSM (apt: softhsm2) is used if it is there.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.interop/attest
if ! cmp -s requirements/attest.txt "$venv/.ready"; then
  test -x "$venv/bin/python" || .venv/bin/python -m venv "$venv"
  nice "$venv/bin/python" -m pip --disable-pip-version-check --quiet --quiet install \
    --require-hashes -r requirements/attest.txt
  cp requirements/attest.txt "$venv/.ready"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
affidavit() { PYTHONPATH="$PWD/src" .venv/bin/python -m affidavit "$@"; }

openssl genpkey -algorithm ed25519 -out "$work/key.pem"
chmod 600 "$work/key.pem"
openssl pkey -in "$work/key.pem" -pubout -out "$work/key.pub"
affidavit evidence seal samples/runs/support.jsonl -o "$work/run.tar.gz" --pack cicd-starter >/dev/null || true
affidavit attest "$work/run.tar.gz" --key "$work/key.pem" --sigstore "$work/run.sigstore.json" >/dev/null

echo "They verify ours, and write one of their own"
"$venv/bin/python" interop/attest_check.py "$work"

echo "We verify theirs"
affidavit verify "$work/theirs.json" --keys "$work/key.pub" --subject "$work/run.tar.gz" >/dev/null
if affidavit verify "$work/forged.json" --keys "$work/key.pub" --subject "$work/run.tar.gz" >/dev/null; then
  echo "a forged envelope of theirs was believed"
  exit 1
fi

module=$(ls /usr/lib/softhsm/libsofthsm2.so /usr/lib/*/softhsm/libsofthsm2.so 2>/dev/null | head -1 || true)
if [ -n "$module" ]; then
  echo "A key in a token signs a statement of any length"
  mkdir "$work/tokens"
  echo "directories.tokendir = $work/tokens" >"$work/softhsm2.conf"
  export SOFTHSM2_CONF="$work/softhsm2.conf" PKCS11_MODULE="$module" PKCS11_PIN=5678
  softhsm2-util --init-token --free --label release --so-pin 1234 --pin 5678 >/dev/null
  "$venv/bin/python" interop/attest_check.py "$work" --token
  affidavit attest "$work/run.tar.gz" --key "$work/token.toml" -o "$work/token.json" >/dev/null
  affidavit verify "$work/token.json" --keys "$work/token.pub" --subject "$work/run.tar.gz" >/dev/null
else
  echo "SoftHSM is not installed: keys in tokens were not tried"
fi
echo "Attestations of both sides hold"
