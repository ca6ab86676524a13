#!/usr/bin/env bash
# Finds a Chromium for the browser tests, or installs one. Silent when there is one.
# ERNIE_CHAT_TEST_CHROMIUM names another.
set -euo pipefail
[ -n "${ERNIE_CHAT_TEST_CHROMIUM:-}" ] && exit 0
command -v chromium >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing Chromium and Chinese fonts for the browser tests ..."
  log=$(mktemp)
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update && apt-get install -y --no-install-recommends chromium fonts-noto-cjk; } \
    >"$log" 2>&1 || { tail -20 "$log"; exit 1; }
  exit 0
fi
[ -e .venv/chromium ] && exit 0
.venv/bin/playwright install chromium || {
  echo "The browser tests need Chromium. Install it (Debian: apt-get install chromium" \
    "fonts-noto-cjk) or set ERNIE_CHAT_TEST_CHROMIUM to one." >&2
  exit 1
}
touch .venv/chromium
